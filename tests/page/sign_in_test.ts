import assert from "node:assert/strict";
import type { Browser } from "playwright-core";
import { House, startBrowser, watch } from "./house.ts";

let browser: Browser;
Deno.test.beforeAll(async () => void (browser = await startBrowser()));
Deno.test.afterAll(() => browser.close());

Deno.test("the link signs in once, and its secret leaves the address bar and is in no cookie", async () => {
  await using house = await House.open();
  const link = house.gateway.approveUrl()!;
  const context = await browser.newContext();
  const page = await context.newPage();
  const faults = watch(page);
  await page.goto(link);
  await page.locator(".connection.live").waitFor();
  assert.equal(page.url(), `${house.origin}/`);
  assert.deepEqual(await context.cookies(), []);
  assert.equal(house.gateway.approveUrl(), null, "the link is used up");
  const kept = await page.evaluate(() => JSON.stringify({ ...sessionStorage, ...localStorage }));
  assert.ok(!kept.includes(link.split("#")[1]!), "the link's secret is not kept");

  const second = await (await browser.newContext()).newPage();
  await second.goto(link);
  await second.getByText("the link was used already").waitFor();
  assert.equal(await second.locator(".queue").count(), 0);
  assert.deepEqual(faults, []);
  await context.close();
});

Deno.test("a renewed link works, the one before it does not", async () => {
  await using house = await House.open();
  const old = house.gateway.approveUrl()!;
  house.gateway.auth.renewLink();
  const page = await (await browser.newContext()).newPage();
  await page.goto(old);
  await page.getByLabel("Pairing code").waitFor();
  house.skewMs += 60_000;
  await page.goto("about:blank");
  await page.goto(house.gateway.approveUrl()!);
  await page.locator(".connection.live").waitFor();
});

Deno.test("the pairing code signs in however it is typed; a wrong one is told and slows the next", async () => {
  await using house = await House.open();
  const page = await (await browser.newContext()).newPage();
  await page.goto(house.origin);
  const code = page.getByLabel("Pairing code");
  await code.fill("AAAA-AAAA");
  await page.getByRole("button", { name: "Sign in" }).click();
  await page.getByText("The pairing code is wrong.").waitFor();
  house.skewMs += 60_000;
  await code.fill(house.gateway.auth.code.toLowerCase().replace("-", " "));
  await page.keyboard.press("Enter");
  await page.locator(".connection.live").waitFor();
});

Deno.test("a window that is loaded again is still signed in; another window is not", async () => {
  await using house = await House.open();
  const { page, context } = await house.window(browser);
  await page.reload();
  await page.locator(".connection.live").waitFor();
  const other = await context.newPage();
  await other.goto(house.origin);
  await other.getByLabel("Pairing code").waitFor();
  await context.close();
});

Deno.test("signing out ends the session at the gateway too", async () => {
  await using house = await House.open();
  const { page, context } = await house.window(browser);
  const session = await page.evaluate(() => sessionStorage.getItem("fluxgit-session"));
  await page.getByRole("button", { name: "Sign out" }).click();
  await page.getByText("You signed out in this window.").waitFor();
  const after = await fetch(`${house.origin}/v1/human/proposals`, {
    headers: { authorization: `Bearer ${session}` },
  });
  await after.body?.cancel();
  assert.equal(after.status, 401);
  await context.close();
});

Deno.test("after the gateway restarts on its port the page says so, and takes a new code", async () => {
  await using house = await House.open();
  const { page, context } = await house.window(browser);
  await house.restart();
  await page.getByText("This window's session is of another run of the gateway").waitFor();
  await page.getByLabel("Pairing code").fill(house.gateway.auth.code);
  await page.keyboard.press("Enter");
  await page.locator(".connection.live").waitFor();
  await context.close();
});

Deno.test("without anything waiting the page says what to do", async () => {
  await using house = await House.open();
  const { page, context } = await house.window(browser);
  await page.getByRole("heading", { name: "Nothing waits for you" }).waitFor();
  await page.getByText("Agents propose with the operation.preview tools").waitFor();
  await context.close();
});
