import assert from "node:assert/strict";
import type { Browser } from "playwright-core";
import { House, startBrowser } from "./house.ts";
import { scene } from "./scenes.ts";

let browser: Browser;
Deno.test.beforeAll(async () => void (browser = await startBrowser()));
Deno.test.afterAll(() => browser.close());

Deno.test("everything can be done with the keyboard alone: sign in, read, approve, undo, sign out", async () => {
  await using house = await House.open();
  const made = await scene(house, "reset");
  const page = await (await browser.newContext()).newPage();
  await page.goto(house.origin);
  const { keyboard } = page;
  // The field has the focus.
  await page.getByLabel("Pairing code").waitFor();
  await keyboard.type(house.gateway.auth.code);
  await keyboard.press("Enter");
  await page.locator(".connection.live").waitFor();
  const id = await house.propose("reset", made.repo, made.members);
  await page.locator(`a[data-id="${id}"]`).waitFor();
  await keyboard.press("j");
  await page.locator("#card-title:focus").waitFor();
  // The words first, then Enter.
  await page.locator(".decision .approve:enabled").waitFor();
  await keyboard.press("a");
  await page.locator("#words:focus").waitFor();
  await keyboard.type("reset main");
  await keyboard.press("Enter");
  await page.locator("#outcome-title:focus").waitFor();
  assert.equal(await made.done(), true);
  await keyboard.press("Tab");
  assert.equal(await page.evaluate(() => document.activeElement?.textContent), "Undo …");
  await keyboard.press("Enter");
  await page.locator(".restore-preview h3:focus").waitFor();
  for (let i = 0; i < 30; i++) {
    await keyboard.press("Tab");
    if (await page.evaluate(() => document.activeElement?.textContent) === "Undo") break;
  }
  await keyboard.press("Enter");
  await page.locator("main").getByText("Done, and compared with the restore point: it is the same.")
    .first()
    .waitFor();
  assert.equal(await made.done(), false);
});

Deno.test("rejecting with the keyboard alone", async () => {
  await using house = await House.open();
  const made = await scene(house, "branch");
  const id = await house.propose("branch", made.repo, made.members);
  const { page } = await house.window(browser);
  await page.locator(`a[data-id="${id}"]`).waitFor();
  await page.keyboard.press("j");
  await page.locator("#card-title:focus").waitFor();
  await page.keyboard.press("r");
  await page.locator("#reason:focus").waitFor();
  await page.keyboard.type("Not now, and r or a here are letters.");
  await page.keyboard.press("Control+Enter");
  await page.locator("#outcome-title:focus").waitFor();
  assert.equal(
    (await house.status(id))["rejectionReason"],
    "Not now, and r or a here are letters.",
  );
});

Deno.test("single keys can be switched off", async () => {
  await using house = await House.open();
  const made = await scene(house, "branch");
  const id = await house.propose("branch", made.repo, made.members);
  const { page } = await house.window(browser);
  await page.locator(`a[data-id="${id}"]`).waitFor();
  await page.keyboard.press("?");
  await page.getByLabel("Single keys do these things").uncheck();
  await page.keyboard.press("Escape");
  await page.keyboard.press("j");
  await page.waitForTimeout(300);
  assert.equal(await page.locator("#card-title").count(), 0);
});

Deno.test("the focus stays in the queue when cards come and go", async () => {
  await using house = await House.open();
  const made = await scene(house, "branch");
  const id = await house.propose("branch", made.repo, made.members);
  const { page } = await house.window(browser);
  await page.locator(`a[data-id="${id}"]`).focus();
  const other = await house.propose("branch", made.repo, { ...made.members, name: "other" });
  await page.locator(`a[data-id="${other}"]`).waitFor();
  const focused = await page.evaluate(() => document.activeElement?.getAttribute("data-id"));
  assert.equal(focused, id);
});

Deno.test("people who ask for less motion get none", async () => {
  await using house = await House.open();
  const { page } = await house.window(browser, { reducedMotion: "reduce" });
  const moving = await page.evaluate(() =>
    [...document.querySelectorAll("*")].filter((one) =>
      getComputedStyle(one).animationName !== "none"
    ).length
  );
  assert.equal(moving, 0);
});
