import axe from "axe-core";
import assert from "node:assert/strict";
import type { Browser, Page } from "playwright-core";
import { House, startBrowser } from "./house.ts";
import { scene, SCENES } from "./scenes.ts";

let browser: Browser;
Deno.test.beforeAll(async () => void (browser = await startBrowser()));
Deno.test.afterAll(() => browser.close());

/** What axe finds wrong with the page as it is, by rule and place. */
async function faultsOf(page: Page, where: string): Promise<string[]> {
  await page.evaluate(axe.source);
  const { violations } = await page.evaluate(() =>
    // deno-lint-ignore no-explicit-any
    (globalThis as any).axe.run(document, {
      runOnly: ["wcag2a", "wcag2aa", "wcag21a", "wcag21aa", "wcag22aa", "best-practice"],
    })
  ) as axe.AxeResults;
  return violations.flatMap((one) =>
    one.nodes.map((node) => `${where}: ${one.id}: ${node.target.join(" ")}: ${node.failureSummary}`)
  );
}

for (const colorScheme of ["light", "dark"] as const) {
  Deno.test(`axe finds nothing wrong, ${colorScheme}: door, queue, every card, outcome, history, ledger, help`, async () => {
    await using house = await House.open();
    const found: string[] = [];
    const door = await (await browser.newContext({ colorScheme, bypassCSP: true })).newPage();
    await door.goto(house.origin);
    found.push(...await faultsOf(door, "door"));
    const { page } = await house.window(browser, { colorScheme, bypassCSP: true });
    found.push(...await faultsOf(page, "empty queue"));
    const ids: [string, string][] = [];
    for (const type of SCENES) {
      const made = await scene(house, type);
      ids.push([
        type,
        await house.propose(type, made.repo, made.members, { agentId: `agent-${type}` }),
      ]);
    }
    for (const [type, id] of ids) {
      await page.goto(`${house.origin}/#/p/${id}`);
      await page.locator(`a[data-id="${id}"][aria-current]`).waitFor();
      await page.locator(".coverage li, .coverage p:nth-of-type(2)").first().waitFor();
      await page.locator(".decision").waitFor();
      found.push(...await faultsOf(page, type));
    }
    await page.getByRole("button", { name: "Reject …" }).click();
    found.push(...await faultsOf(page, "rejecting"));
    const branch = ids.find(([type]) => type === "branch")![1];
    await page.goto(`${house.origin}/#/p/${branch}`);
    await page.locator(`a[data-id="${branch}"][aria-current]`).waitFor();
    await page.getByText("feature/louder").first().waitFor();
    await page.getByRole("button", { name: "Approve" }).click();
    await page.locator("#outcome-title").waitFor();
    found.push(...await faultsOf(page, "outcome"));
    await page.getByRole("button", { name: "Undo …" }).click();
    await page.locator(".restore-preview").waitFor();
    await page.locator("summary").first().click();
    found.push(...await faultsOf(page, "history"));
    await page.goto(`${house.origin}/#/ledger`);
    await page.locator(".facts").waitFor();
    found.push(...await faultsOf(page, "ledger"));
    await page.getByRole("button", { name: "Keys" }).click();
    found.push(...await faultsOf(page, "help"));
    assert.deepEqual(found, []);
  });
}

Deno.test("axe finds nothing wrong on a narrow screen, and nothing needs scrolling sideways", async () => {
  await using house = await House.open();
  const made = await scene(house, "merge");
  const id = await house.propose("merge", made.repo, made.members);
  const { page } = await house.window(browser, {
    viewport: { width: 320, height: 640 },
    bypassCSP: true,
  });
  await page.locator(`a[data-id="${id}"]`).waitFor();
  const found = await faultsOf(page, "queue");
  await page.locator(`a[data-id="${id}"]`).click();
  await page.locator(".diff-file").first().waitFor();
  found.push(...await faultsOf(page, "card"));
  assert.deepEqual(found, []);
  const wide = await page.evaluate(() => document.documentElement.scrollWidth);
  assert.ok(wide <= 320, `${wide} pixels wide`);
  await page.getByRole("link", { name: "Queue" }).last().click();
  await page.locator(`a[data-id="${id}"]`).waitFor();
});
