/**
 * The approval page in a real browser: when a person first sees something, with a long queue and with
 * a long diff. Only where a browser is installed; absolute numbers, for comparison over time.
 */

import type { Browser, Page } from "playwright-core";
import { type Gateway, startGateway } from "../../gateway/server/gateway.ts";
import { PAGE_ASSETS } from "../../gateway/server/generated/page_assets.ts";
import { restoreRoom } from "../../gateway/server/restore_room.ts";
import { browserPath, startBrowser } from "../lib/browser.ts";
import { crowd, longFiles } from "../lib/crowd.ts";
import { Builder } from "../lib/git.ts";

/** One measured number; `budget` is its upper limit. */
export interface BenchResult {
  readonly name: string;
  readonly unit: string;
  readonly value: number;
  readonly budget?: number;
}

/** All cases of the page; none without a browser. Takes about half a minute. */
export async function benchPage(): Promise<BenchResult[]> {
  if (browserPath() === null) return [];
  const folder = await Deno.realPath(await Deno.makeTempDir({ prefix: "page-bench-" }));
  const gateway = await startGateway({
    runDir: `${folder}/run`,
    port: 0,
    attended: true,
    policy: null,
    ledger: null,
    restore: restoreRoom,
    log: () => {},
  });
  const browser = await startBrowser();
  try {
    return await measure(gateway, browser, await longRepository(`${folder}/repo`));
  } finally {
    await browser.close();
    await gateway.stop();
    await Deno.remove(folder, { recursive: true });
  }
}

async function measure(gateway: Gateway, browser: Browser, repo: string): Promise<BenchResult[]> {
  const bytes = Object.values(PAGE_ASSETS).reduce(
    (sum, { text }) => sum + new TextEncoder().encode(text).length,
    0,
  );
  const id = await propose(gateway.address, repo);
  const enter = async (page: Page) => {
    gateway.auth.renewLink();
    await page.goto(gateway.approveUrl()!);
    await page.locator(".connection.live").waitFor();
  };
  const crowded = await browser.newPage();
  await crowd(crowded, 499);
  await enter(crowded);
  await crowded.getByText("Waiting for you (500)").waitFor();
  const listed = await paint(crowded);
  await crowded.close();
  const page = await browser.newPage({ viewport: { width: 1320, height: 860 } });
  await enter(page);
  const card = await timed(async () => {
    await page.goto(`http://${gateway.address}/#/p/${id}`);
    await page.locator(".diff-file").first().waitFor();
  });
  const whole = await timed(async () => {
    await page.getByRole("button", { name: "Show all of them" }).click();
    await page.locator('.diff-file[data-path="part_49.txt"]').waitFor({ state: "attached" });
  });
  const heap = await memory(page);
  return [
    { name: "page, all files together", unit: "kB", value: bytes / 1_000, budget: 150 },
    { name: "page, first paint with 500 proposals", unit: "ms", value: listed },
    { name: "page, card with a 5 MB diff, its first part", unit: "ms", value: card },
    { name: "page, the whole 5 MB diff at a click", unit: "ms", value: whole },
    { name: "page, memory with the whole diff", unit: "MB", value: heap },
  ];
}

/** A repository in which a commit would rewrite fifty long files. */
async function longRepository(path: string): Promise<string> {
  const git = new Builder(1_788_000_000);
  await Deno.mkdir(path);
  await git.git(path, "init", "-q", "-b", "main");
  await git.write(path, longFiles("old"));
  await git.git(path, "add", "-A");
  await git.git(path, "commit", "-q", "-m", "Long files");
  await git.write(path, longFiles("new and longer"));
  return path;
}

async function propose(address: string, repoPath: string): Promise<string> {
  const previewId = crypto.randomUUID();
  const response = await fetch(`http://${address}/v1/mcp/operation/preview/commit`, {
    method: "POST",
    headers: { "content-type": "application/json" },
    body: JSON.stringify({
      previewId,
      agentId: "bench",
      idempotencyKey: `commit:call:${previewId}`,
      operationType: "commit",
      repoPath,
      reason: "Rewrite them",
      requestedAt: new Date().toISOString(),
      message: "Rewrite them",
      stageAll: true,
    }),
  });
  if (!response.ok) throw new Error(`proposing: ${response.status} ${await response.text()}`);
  return (await response.json()).previewId;
}

/** First contentful paint. Milliseconds from the start of loading. */
async function paint(page: Page): Promise<number> {
  return await page.evaluate(() =>
    performance.getEntriesByType("paint").find((entry) => entry.name === "first-contentful-paint")
      ?.startTime ?? NaN
  );
}

/** Heap after a collection. Megabytes. */
async function memory(page: Page): Promise<number> {
  const session = await page.context().newCDPSession(page);
  await session.send("HeapProfiler.collectGarbage");
  const { usedSize } = await session.send("Runtime.getHeapUsage");
  return usedSize / 1_000_000;
}

async function timed(work: () => Promise<void>): Promise<number> {
  const start = performance.now();
  await work();
  return performance.now() - start;
}

if (import.meta.main) {
  for (const { name, unit, value } of await benchPage()) {
    Deno.stdout.writeSync(new TextEncoder().encode(`${name}: ${value.toFixed(1)} ${unit}\n`));
  }
}
