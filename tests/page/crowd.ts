import type { Page } from "playwright-core";
import type { House } from "./house.ts";

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

/** A commit whose diff has 5 MB: fifty files that are rewritten. */
export async function longDiff(
  house: House,
): Promise<{ repo: string; members: Record<string, unknown> }> {
  const repo = await house.sandbox.repo("long");
  const text = (word: string) =>
    Array.from({ length: 1_000 }, (_, i) => `${word} line ${i} with some more words in it`).join(
      "\n",
    ) + "\n";
  const all = (word: string) =>
    Object.fromEntries(Array.from({ length: 50 }, (_, i) => [`part_${i}.txt`, text(word)]));
  await house.sandbox.commit(repo, "Long files", all("old"));
  await house.sandbox.write(repo, all("new and longer"));
  return { repo, members: { message: "Rewrite them all", stageAll: true } };
}
