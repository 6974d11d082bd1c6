import assert from "node:assert/strict";
import type { Browser, Page } from "playwright-core";
import { type Frame, movingPicture } from "./apng.ts";
import { House, startBrowser } from "./house.ts";
import { scene, SCENES } from "./scenes.ts";

/**
 * Pictures for the guides. Kept only when `deno task test:page --pictures` names a folder; otherwise
 * they are made and thrown away, so that this way never breaks unseen.
 */
const KEEP = Deno.env.get("FLUXGIT_TEST_PICTURES");
const AGENTS = ["claude-code", "codex-cli", "cursor", "gemini-cli"];

let browser: Browser;
Deno.test.beforeAll(async () => void (browser = await startBrowser()));
Deno.test.afterAll(() => browser.close());

async function keep(name: string, bytes: Uint8Array): Promise<void> {
  assert.ok(bytes.length > 5_000, "there is something to see");
  assert.ok(bytes.length < 1_500_000, "small enough for a guide");
  if (!KEEP) return;
  await Deno.mkdir(KEEP, { recursive: true });
  await Deno.writeFile(`${KEEP}/${name}.png`, bytes);
}

async function open(page: Page, origin: string, id: string): Promise<void> {
  await page.goto(`${origin}/#/p/${id}`);
  await page.locator(`a[data-id="${id}"][aria-current]`).waitFor();
  await page.locator(".coverage li, .coverage p:nth-of-type(2)").first().waitFor();
  await page.locator(".decision").waitFor();
  // Icons of the queue's headlines come from the gateway's first look at each proposal.
  await page.waitForTimeout(600);
}

/** A picture without the random part of temporary folders. */
async function shoot(page: Page): Promise<Uint8Array> {
  await page.evaluate(() => {
    for (const one of document.querySelectorAll(".ident, option")) {
      if (one.childElementCount > 0) continue;
      one.textContent = one.textContent!.replace(
        /\/\S*fluxgit-test-[0-9a-z]+/g,
        "/home/you/projects",
      );
    }
  });
  return await page.screenshot();
}

Deno.test("a picture of each card, light and dark, wide and narrow", async () => {
  await using house = await House.open();
  const ids = new Map<string, string>();
  for (const [i, type] of SCENES.entries()) {
    const made = await scene(house, type, type === "merge" ? "greeter" : `greeter-${type}`);
    const agentId = AGENTS[i % AGENTS.length]!;
    ids.set(
      type,
      await house.propose(type, made.repo, made.members, { reason: made.reason, agentId }),
    );
  }
  const { page, context } = await house.window(browser, { viewport: { width: 1320, height: 860 } });
  for (const [type, id] of ids) {
    await open(page, house.origin, id);
    await keep(`card-${type}`, await shoot(page));
  }
  await page.emulateMedia({ colorScheme: "dark" });
  await open(page, house.origin, ids.get("discard")!);
  await keep("dark", await shoot(page));
  await page.emulateMedia({ colorScheme: "light" });
  await page.setViewportSize({ width: 390, height: 844 });
  await page.goto(`${house.origin}/#/queue`);
  await page.waitForTimeout(300);
  await keep("narrow-queue", await shoot(page));
  await page.goto(`${house.origin}/#/p/${ids.get("merge")}`);
  await page.locator(".diff-file").first().waitFor();
  await keep("narrow-card", await shoot(page));
  await context.close();
});

Deno.test("a moving picture: proposed, approved, done, undone", async () => {
  await using house = await House.open();
  const made = await scene(house, "merge", "greeter");
  const { page, context } = await house.window(browser, { viewport: { width: 1080, height: 680 } });
  const frames: Frame[] = [];
  const frame = async (ms: number) => void frames.push({ png: await shoot(page), ms });
  await page.getByRole("heading", { name: "Nothing waits for you" }).waitFor();
  await frame(1_400);
  const id = await house.propose("merge", made.repo, made.members, {
    reason: made.reason,
    agentId: "claude-code",
  });
  await page.locator(`a[data-id="${id}"]`).waitFor();
  await page.waitForTimeout(900);
  await frame(1_600);
  await open(page, house.origin, id);
  await frame(2_200);
  await page.locator(".pane").evaluate((pane) => pane.scrollTo(0, 560));
  await frame(2_200);
  await page.getByRole("button", { name: "Approve" }).click();
  await page.locator("#outcome-title").waitFor();
  await frame(2_400);
  await page.getByRole("button", { name: "Undo …" }).click();
  await page.locator(".restore-preview .diff-file").first().waitFor();
  await frame(2_400);
  await page.getByRole("button", { name: "Undo", exact: true }).click();
  await page.locator("main").getByText("Done, and compared").waitFor();
  await frame(2_400);
  await page.getByRole("button", { name: "Show the history" }).click();
  await page.locator(".timeline .entry").nth(1).waitFor();
  await page.locator("summary").first().click();
  await keep("history", await shoot(page));
  assert.equal(await made.done(), false, "it was really undone");
  await keep("propose-approve-undo", movingPicture(frames));
  await context.close();
});
