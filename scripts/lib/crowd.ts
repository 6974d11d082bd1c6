import type { Page } from "playwright-core";

/**
 * Adds proposals to what the gateway answers: more than its own ceiling admits, as many as a list may
 * ever hold.
 */
export async function crowd(page: Page, many: number): Promise<void> {
  await page.route("**/v1/human/proposals?state=all", async (route) => {
    const response = await route.fetch();
    const answer = await response.json();
    const now = Date.now();
    for (let i = 0; i < many; i++) {
      answer.proposals.push({
        previewId: `crowd-${i}`,
        operationType: ["merge", "commit", "push", "branch"][i % 4],
        status: "pending",
        agentId: `agent-${i}`,
        repoPath: `/home/someone/projects/repository-${i % 50}`,
        repoId: `repository-${i % 50}`,
        reason: `Reason number ${i}, which is a sentence of a usual length for an agent`,
        createdAtMs: now - i * 100,
        expiresAtMs: now + 280_000,
        endedAtMs: null,
        timeLeftMs: 280_000,
        ageMs: i * 100,
        risk: "medium",
        headline: `merge feature/number-${i} into main`,
        running: false,
      });
    }
    answer.total = answer.proposals.length;
    await route.fulfill({ response, json: answer });
  });
}

/** Fifty long files, all with one word on every line; two of these differ by 5 MB. */
export function longFiles(word: string): Record<string, string> {
  const lines = Array.from(
    { length: 1_200 },
    (_, i) => `${word} line ${i} with some more words in it`,
  );
  const text = lines.join("\n") + "\n";
  return Object.fromEntries(Array.from({ length: 50 }, (_, i) => [`part_${i}.txt`, text]));
}
