import assert from "node:assert/strict";
import type { Browser, Page } from "playwright-core";
import { House, startBrowser } from "./house.ts";
import { scene, SCENES } from "./scenes.ts";

let browser: Browser;
Deno.test.beforeAll(async () => void (browser = await startBrowser()));
Deno.test.afterAll(() => browser.close());

/** Does all that a card asks for before it can be approved. */
async function approve(page: Page): Promise<void> {
  for (const box of await page.locator("input[data-step]").all()) await box.check();
  const typed = page.locator("#words");
  if (await typed.count() > 0) {
    await typed.fill((await page.locator(".typed strong").textContent())!);
  }
  await page.getByRole("button", { name: "Approve" }).click();
}

for (const type of SCENES) {
  Deno.test(`${type}: its card is approved on the page and really carried out`, async () => {
    await using house = await House.open();
    const made = await scene(house, type);
    const id = await house.propose(type, made.repo, made.members, { reason: made.reason });
    const { page, context, faults } = await house.window(browser);
    await page.locator(`a[data-id="${id}"]`).click();
    await page.getByText(made.reason).first().waitFor();
    await page.locator(".coverage", { hasText: "A restore point is made first" }).waitFor();
    assert.equal(await made.done(), false, "nothing was done before");
    await approve(page);
    await page.getByRole("heading", { name: "It was approved and carried out." }).waitFor();
    assert.equal(await made.done(), true);
    assert.equal((await house.status(id))["status"], "completed");
    assert.deepEqual(faults, []);
    await context.close();
  });

  Deno.test(`${type}: its card is rejected with a reason and nothing happens`, async () => {
    await using house = await House.open();
    const made = await scene(house, type);
    const id = await house.propose(type, made.repo, made.members);
    const { page, context } = await house.window(browser);
    await page.locator(`a[data-id="${id}"]`).click();
    await page.getByRole("button", { name: "Reject …" }).click();
    await page.getByLabel(/^Why\?/).fill("Not on a Friday.");
    await page.getByRole("button", { name: "Reject", exact: true }).click();
    await page.getByRole("heading", { name: "It was rejected. Nothing was changed." }).waitFor();
    const status = await house.status(id);
    assert.equal(status["status"], "rejected");
    assert.equal(status["rejectionReason"], "Not on a Friday.");
    assert.equal(await made.done(), false);
    await context.close();
  });
}

Deno.test("a card that asks for typed words is not approved without them", async () => {
  await using house = await House.open();
  const made = await scene(house, "reset");
  const id = await house.propose("reset", made.repo, made.members);
  const { page, context } = await house.window(browser);
  await page.locator(`a[data-id="${id}"]`).click();
  await page.locator("#words").fill("reset something");
  await page.getByRole("button", { name: "Approve" }).click();
  await page.getByText("Type exactly: reset main").waitFor();
  assert.equal((await house.status(id))["status"], "pending");
  assert.equal(await made.done(), false);
  await context.close();
});

Deno.test("a plan is not approved while the box of a destructive step is open", async () => {
  await using house = await House.open();
  const made = await scene(house, "plan");
  const id = await house.propose("plan", made.repo, made.members);
  const { page, context } = await house.window(browser);
  await page.locator(`a[data-id="${id}"]`).click();
  const box = page.locator("input[data-step]").first();
  await box.waitFor();
  await page.getByRole("button", { name: "Approve" }).click();
  await page.getByText("Tick the box of each step that destroys something.").waitFor();
  assert.equal((await house.status(id))["status"], "pending");
  await context.close();
});

Deno.test("the card of a discard shows what is lost, untracked content one click away", async () => {
  await using house = await House.open();
  const made = await scene(house, "discard");
  const id = await house.propose("discard", made.repo, made.members);
  const { page, context } = await house.window(browser);
  await page.locator(`a[data-id="${id}"]`).click();
  await page.getByRole("button", { name: "Show content" }).click();
  await page.getByText("An idea that nobody wrote down elsewhere.").waitFor();
  // The diff reads as it will be: what the working copy added goes away.
  const gone = page.locator("tr.del", { hasText: "polite = false" });
  await gone.waitFor();
  await context.close();
});

Deno.test("words that changed within a line are marked, unified and split", async () => {
  await using house = await House.open();
  const made = await scene(house, "commit");
  const id = await house.propose("commit", made.repo, made.members);
  const { page, context } = await house.window(browser);
  await page.locator(`a[data-id="${id}"]`).click();
  await page.locator("table.unified tr.add mark", { hasText: ", polite = false" }).waitFor();
  await page.getByRole("button", { name: "Split" }).click();
  await page.locator("table.split td.add mark", { hasText: ", polite = false" }).waitFor();
  await context.close();
});

Deno.test("moving a patch's switch computes the card again and what is approved is what is shown", async () => {
  await using house = await House.open();
  const made = await scene(house, "patch");
  const id = await house.propose("patch", made.repo, made.members);
  const { page, context } = await house.window(browser);
  await page.locator(`a[data-id="${id}"]`).click();
  await page.getByLabel("Stage the changes as well").check();
  await page.getByText("The card was computed again for your choice.").first().waitFor();
  await page.getByRole("button", { name: "Approve" }).click();
  await page.getByRole("heading", { name: "It was approved and carried out." }).waitFor();
  const staged = await house.sandbox.git(made.repo, "diff", "--cached", "--name-only");
  assert.equal(staged.trim(), "src/greet.ts");
  await context.close();
});

Deno.test("a card whose repository changed is not approved: it is shown again and asks again", async () => {
  await using house = await House.open();
  const made = await scene(house, "merge");
  const id = await house.propose("merge", made.repo, made.members);
  const { page, context } = await house.window(browser);
  await page.locator(`a[data-id="${id}"]`).click();
  await page.getByRole("button", { name: "Approve" }).waitFor();
  await house.sandbox.commit(made.repo, "Something in between", { "between.txt": "x\n" });
  await page.getByRole("button", { name: "Approve" }).click();
  await page.getByText(/card changed/i).first().waitFor();
  assert.equal((await house.status(id))["status"], "pending", "nothing was approved");
  await page.getByRole("button", { name: "Approve" }).click();
  await page.getByRole("heading", { name: "It was approved and carried out." }).waitFor();
  await context.close();
});
