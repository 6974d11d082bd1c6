import assert from "node:assert/strict";
import type { Browser } from "playwright-core";
import { House, startBrowser } from "./house.ts";
import { scene } from "./scenes.ts";

let browser: Browser;
Deno.test.beforeAll(async () => void (browser = await startBrowser()));
Deno.test.afterAll(() => browser.close());

Deno.test("a merge is undone and done again, each after a preview with its diff", async () => {
  await using house = await House.open();
  const made = await scene(house, "merge");
  const id = await house.propose("merge", made.repo, made.members);
  const { page, context } = await house.window(browser);
  const before = (await house.sandbox.git(made.repo, "rev-parse", "main")).trim();
  await page.locator(`a[data-id="${id}"]`).click();
  await page.getByRole("button", { name: "Approve" }).click();
  await page.locator("#outcome-title").waitFor();
  await page.getByRole("button", { name: "Undo …" }).click();
  await page.getByRole("heading", { name: "Undo: Merge" }).waitFor();
  await page.locator(".restore-preview tr.del", { hasText: "polite = false" }).waitFor();
  assert.equal(await made.done(), true, "a preview changes nothing");
  await page.getByRole("button", { name: "Undo", exact: true }).click();
  await page.locator("main").getByText("Done, and compared with the restore point: it is the same.")
    .first()
    .waitFor();
  assert.equal((await house.sandbox.git(made.repo, "rev-parse", "main")).trim(), before);
  await page.getByRole("button", { name: "Show the history" }).click();
  await page.locator(".entry-undone", { hasText: "Merge" }).waitFor();
  await page.getByRole("button", { name: "Redo", exact: true }).click();
  await page.locator(".restore-preview tr.add", { hasText: "polite = false" }).waitFor();
  await page.locator(".restore-preview").getByRole("button", { name: "Redo" }).click();
  await page.locator("main").getByText("Done, and compared with the restore point: it is the same.")
    .first()
    .waitFor();
  assert.equal(await made.done(), true);
  await context.close();
});

Deno.test("an undo whose preview is out of date is not carried out: it is shown again", async () => {
  await using house = await House.open();
  const made = await scene(house, "discard");
  const id = await house.propose("discard", made.repo, made.members);
  const { page, context } = await house.window(browser);
  await page.locator(`a[data-id="${id}"]`).click();
  await page.locator("#words").fill((await page.locator(".typed strong").textContent())!);
  await page.getByRole("button", { name: "Approve" }).click();
  await page.getByRole("button", { name: "Undo …" }).click();
  await page.locator(".restore-preview .facts").waitFor();
  await house.sandbox.write(made.repo, { "new.txt": "made meanwhile\n" });
  await page.getByRole("button", { name: "Undo", exact: true }).click();
  await page.getByText("The repository changed since: look at it again.").waitFor();
  assert.equal(await Deno.stat(`${made.repo}/notes/idea.txt`).then(() => true, () => false), false);
  await page.getByRole("button", { name: "Undo", exact: true }).click();
  await page.locator("main").getByText("Done, and compared with the restore point").first()
    .waitFor();
  assert.match(await Deno.readTextFile(`${made.repo}/notes/idea.txt`), /An idea/);
  assert.match(await Deno.readTextFile(`${made.repo}/new.txt`), /meanwhile/);
  await context.close();
});

Deno.test("a deleted branch comes back from the history", async () => {
  await using house = await House.open();
  const made = await scene(house, "branchDelete");
  const id = await house.propose("branchDelete", made.repo, made.members);
  const { page, context } = await house.window(browser);
  await page.locator(`a[data-id="${id}"]`).click();
  await page.getByRole("button", { name: "Approve" }).click();
  await page.locator("#outcome-title").waitFor();
  await page.getByRole("link", { name: "History" }).click();
  const tip = page.locator(".branch-tips li", { hasText: "done-1" });
  await tip.getByRole("button", { name: "Preview bringing it back" }).click();
  await page.locator(".restore-preview", { hasText: "done-1" }).waitFor();
  await page.getByRole("button", { name: "Go back" }).click();
  await page.locator("main").getByText("Done, and compared").waitFor();
  const branches = await house.sandbox.git(made.repo, "branch", "--format=%(refname:short)");
  assert.ok(branches.includes("done-1") && !branches.includes("done-2"));
  await context.close();
});

Deno.test("an interrupted execution is shown as such and ends by a person's word", async () => {
  await using house = await House.open();
  const made = await scene(house, "commit");
  // A hook that never ends: the gateway is stopped in the middle of it, as by a crash.
  const id = await house.propose("commit", made.repo, made.members);
  await house.interrupt(id);
  const { page, context } = await house.window(browser);
  await page.getByRole("heading", { name: "Interrupted: needs your word" }).waitFor();
  await page.locator(`a[data-id="${id}"]`).click();
  await page.getByText("never run again by itself").waitFor();
  assert.equal(await page.getByRole("button", { name: "Approve" }).count(), 0);
  await page.getByRole("button", { name: "It was not" }).click();
  await page.locator("#outcome-title").waitFor();
  assert.equal((await house.status(id))["status"], "failed");
  assert.equal(await made.done(), false);
  await context.close();
});

Deno.test("the ledger's head is shown once decisions are written", async () => {
  await using house = await House.open();
  const made = await scene(house, "branch");
  const id = await house.propose("branch", made.repo, made.members);
  const { page, context } = await house.window(browser);
  await page.locator(`a[data-id="${id}"]`).click();
  await page.getByRole("button", { name: "Approve" }).click();
  await page.locator("#outcome-title").waitFor();
  await page.getByRole("link", { name: "Ledger" }).click();
  await page.getByText("The ledger is written.").waitFor();
  await page.getByText(/sha256:[0-9a-f]{64}/).first().waitFor();
  const ledger = await Deno.readTextFile(`${house.runDir}/audit/mcp.jsonl`);
  const head = (await page.locator("main").textContent())!.match(/sha256:[0-9a-f]{64}/)![0];
  assert.ok(ledger.includes(head), "it is the ledger's own");
  await context.close();
});
