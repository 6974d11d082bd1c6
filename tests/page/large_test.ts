import assert from "node:assert/strict";
import type { Browser } from "playwright-core";
import { crowd, longFiles } from "../../scripts/lib/crowd.ts";
import { House, startBrowser } from "./house.ts";

let browser: Browser;
Deno.test.beforeAll(async () => void (browser = await startBrowser()));
Deno.test.afterAll(() => browser.close());

Deno.test("with 500 proposals in the list the page stays usable", async () => {
  await using house = await House.open();
  const repo = await house.sandbox.repo();
  await house.sandbox.commit(repo, "First", { "a.txt": "one\n" });
  const id = await house.propose("branch", repo, { name: "wanted" });
  const { page, context } = await house.window(browser, {}, (page) => crowd(page, 499));
  await page.getByText("Waiting for you (500)").waitFor();
  const entries = await page.locator(".queue a[data-id]").count();
  assert.equal(entries, 500);
  const open = await page.evaluate(async (id) => {
    const start = performance.now();
    document.querySelector<HTMLElement>(`a[data-id="${id}"]`)!.click();
    while (!document.querySelector(".decision")) await new Promise((done) => setTimeout(done, 5));
    return performance.now() - start;
  }, id);
  assert.ok(open < 10_000, `${open} ms to open a card`);
  await context.close();
});

Deno.test("a diff of 5 MB is shown in part, whole at a click, and only what is open is in the document", async () => {
  await using house = await House.open();
  const repo = await house.sandbox.repo("long");
  await house.sandbox.commit(repo, "Long files", longFiles("old"));
  await house.sandbox.write(repo, longFiles("new and longer"));
  const diff = await house.sandbox.git(repo, "diff");
  assert.ok(diff.length > 5_000_000, `${diff.length} characters`);
  const id = await house.propose("commit", repo, { message: "Rewrite them", stageAll: true });
  const { page, context } = await house.window(browser);
  await page.locator(`a[data-id="${id}"]`).click();
  await page.getByText("The changes are longer than is shown here.").waitFor();
  await page.getByRole("button", { name: "Show all of them" }).click();
  await page.locator('.diff-file[data-path="part_49.txt"]').waitFor({ state: "attached" });
  const before = await page.evaluate(() => document.querySelectorAll("*").length);
  assert.ok(before < 20_000, `${before} elements`);
  // A long file opens a piece at a time.
  await page.locator('.diff-file[data-path="part_49.txt"] .diff-file-name').click();
  await page.locator('.diff-file[data-path="part_49.txt"] tr').first().waitFor();
  const rows = await page.locator('.diff-file[data-path="part_49.txt"] tbody tr').count();
  assert.ok(rows <= 500, `${rows} rows`);
  await context.close();
});
