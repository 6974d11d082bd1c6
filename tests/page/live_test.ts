import assert from "node:assert/strict";
import type { Browser, Page } from "playwright-core";
import { House, startBrowser } from "./house.ts";
import { scene } from "./scenes.ts";

let browser: Browser;
Deno.test.beforeAll(async () => void (browser = await startBrowser()));
Deno.test.afterAll(() => browser.close());

/** A second window, signed in by the pairing code. */
async function secondWindow(house: House): Promise<Page> {
  const page = await (await browser.newContext()).newPage();
  await page.goto(house.origin);
  await page.getByLabel("Pairing code").fill(house.gateway.auth.code);
  await page.keyboard.press("Enter");
  await page.locator(".connection.live").waitFor();
  return page;
}

Deno.test("cards come and go by themselves in every window, and the title counts them", async () => {
  await using house = await House.open();
  const { page: one } = await house.window(browser);
  const two = await secondWindow(house);
  const made = await scene(house, "branch");
  const id = await house.propose("branch", made.repo, made.members);
  for (const page of [one, two]) {
    await page.locator(`a[data-id="${id}"]`).waitFor();
    assert.equal(await page.title(), "(1) Approvals");
  }
  await house.cancel(id);
  for (const page of [one, two]) {
    await page.getByRole("heading", { name: "Nothing waits for you" }).waitFor();
    assert.equal(await page.title(), "Approvals");
  }
});

Deno.test("the window that did not decide is told what the other one did", async () => {
  await using house = await House.open();
  const made = await scene(house, "branch");
  const id = await house.propose("branch", made.repo, made.members);
  const { page: one } = await house.window(browser);
  const two = await secondWindow(house);
  for (const page of [one, two]) await page.locator(`a[data-id="${id}"]`).click();
  await one.getByRole("button", { name: "Approve" }).click();
  await one.getByRole("heading", { name: "It was approved and carried out." }).waitFor();
  await two.getByText(/in another window or terminal/).first().waitFor();
  await two.getByRole("heading", { name: "It was approved and carried out." }).waitFor();
  assert.equal(await two.getByRole("button", { name: "Approve" }).count(), 0);
});

Deno.test("of two windows that decide at once exactly one wins, and the other says why it did not", async () => {
  await using house = await House.open();
  const made = await scene(house, "branch");
  const id = await house.propose("branch", made.repo, made.members);
  const { page: one } = await house.window(browser);
  const two = await secondWindow(house);
  for (const page of [one, two]) await page.locator(`a[data-id="${id}"]`).click();
  // The second window hears of nothing: it decides on what it still shows.
  await two.route("**/v1/human/proposals?state=all", (route) => route.abort());
  await one.getByRole("button", { name: "Reject …" }).click();
  await one.getByRole("button", { name: "Reject", exact: true }).click();
  await one.getByRole("heading", { name: "It was rejected. Nothing was changed." }).waitFor();
  await two.getByRole("button", { name: "Approve" }).click();
  await two.getByText(/The proposal is rejected/).first().waitFor();
  assert.equal((await house.status(id))["status"], "rejected");
  assert.equal(await made.done(), false);
});

Deno.test("a proposal that expires while somebody looks at it says so and can no longer be approved", async () => {
  await using house = await House.open();
  const made = await scene(house, "branch");
  const id = await house.propose("branch", made.repo, made.members);
  const { page } = await house.window(browser);
  await page.locator(`a[data-id="${id}"]`).click();
  await page.getByRole("button", { name: "Approve" }).waitFor();
  house.skewMs += 5 * 60_000 + 1_000;
  await page.getByText("Nobody decided in time.").first().waitFor();
  assert.equal(await page.getByRole("button", { name: "Approve" }).count(), 0);
  assert.equal((await house.status(id))["status"], "expired");
});

Deno.test("little time left is shown as urgent and comes first", async () => {
  await using house = await House.open();
  const made = await scene(house, "branch");
  const first = await house.propose("branch", made.repo, made.members);
  house.skewMs += 4 * 60_000 + 20_000;
  await house.propose("branch", made.repo, { ...made.members, name: "another" });
  const { page } = await house.window(browser);
  await page.locator(`a[data-id="${first}"] .time.soon`).waitFor();
  const order = await page.locator(".queue a[data-id]").evaluateAll((links) =>
    links.map((link) => link.getAttribute("data-id"))
  );
  assert.equal(order[0], first);
});

Deno.test("after a dropped stream the page connects again and catches up", async () => {
  await using house = await House.open();
  const page = await (await browser.newContext()).newPage();
  const events = "**/v1/human/events";
  // A stream that ends after its first event; then none at all for a while.
  let streams = 0;
  await page.route(events, (route) =>
    streams++ > 0 ? route.abort() : route.fulfill({
      contentType: "text/event-stream",
      body: 'data: {"type":"hello"}\n\n',
    }));
  await page.goto(house.gateway.approveUrl()!);
  await page.locator(".connection.lost").waitFor();
  const made = await scene(house, "branch");
  const id = await house.propose("branch", made.repo, made.members);
  assert.equal(await page.locator(`a[data-id="${id}"]`).count(), 0);
  await page.unroute(events);
  await page.locator(".connection.live").waitFor();
  await page.locator(`a[data-id="${id}"]`).waitFor();
});

Deno.test("many of the same from one agent are one entry, to be rejected together, never approved together", async () => {
  await using house = await House.open();
  const made = await scene(house, "branch");
  const ids: string[] = [];
  for (let i = 0; i < 8; i++) {
    ids.push(await house.propose("branch", made.repo, { ...made.members, name: `flood-${i}` }));
  }
  const { page } = await house.window(browser);
  const group = page.getByRole("button", { name: /8 × Create a branch/ });
  await group.waitFor();
  assert.equal(await page.locator("a[data-id]:visible").count(), 0);
  await group.click();
  assert.equal(await page.locator("a[data-id]:visible").count(), 8);
  assert.equal(await page.getByRole("button", { name: /approve all/i }).count(), 0);
  await page.getByRole("button", { name: "Reject all 8 …" }).click();
  await page.getByRole("button", { name: "Yes, reject all 8" }).click();
  await page.getByRole("heading", { name: "Nothing waits for you" }).waitFor();
  for (const id of ids) assert.equal((await house.status(id))["status"], "rejected");
});
