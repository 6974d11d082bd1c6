/**
 * What reading and listing through ToolHub cost beside the plain loop of Deno calls that does the same
 * without looking at anything: the whole call with its checks, in this process, in turn with the loop.
 */

import { createHash } from "node:crypto";
import { openHub } from "../../toolhub/open_hub.ts";
import { createHubTable } from "../../toolhub/table.ts";
import { interleave, timed } from "./measure.ts";

/** One measured number; `budget` is its upper limit. */
export interface BenchResult {
  readonly name: string;
  readonly unit: string;
  readonly value: number;
  readonly budget?: number;
}

const ENTRIES = 10_000;
/** Calls a timing of small work is made of. */
const CALLS = 200;

/** All cases of ToolHub. Takes some seconds. */
export async function benchToolhub(rounds = 15): Promise<BenchResult[]> {
  const root = await Deno.realPath(await Deno.makeTempDir({ prefix: "toolhub-bench-" }));
  try {
    return await measure(root, rounds);
  } finally {
    await Deno.remove(root, { recursive: true });
  }
}

async function measure(root: string, rounds: number): Promise<BenchResult[]> {
  const workspace = `${root}/workspace`;
  await Deno.mkdir(`${workspace}/src/deep`, { recursive: true });
  await Deno.mkdir(`${workspace}/many`);
  const small = "src/deep/small.ts", large = "src/deep/large.ts";
  await Deno.writeTextFile(`${workspace}/${small}`, "const value = 1;\n".repeat(240));
  await Deno.writeTextFile(`${workspace}/${large}`, "const value = 1;\n".repeat(15_000));
  for (let i = 0; i < ENTRIES; i++) {
    Deno.writeTextFileSync(`${workspace}/many/File_${(i * 7_919) % ENTRIES}.txt`, "x");
  }
  const hub = openHub({
    folders: { workspace, state: `${root}/state` },
    env: () => undefined,
    complain() {},
  });
  const table = createHubTable(hub, () => {});
  const call = async (name: string, path: string) => {
    const outcome = await table.call(name, { path }, {
      era: { kind: "modern" },
      agentId: "bench",
      clientVersion: null,
      signal: new AbortController().signal,
      progress() {},
    });
    if (outcome.kind !== "result" || outcome.isError) throw new Error(JSON.stringify(outcome));
  };
  const repeated = (times: number, work: () => Promise<void>) =>
    timed(async () => {
      for (let i = 0; i < times; i++) await work();
    });
  // Folders that were just written are looked at more than once.
  await new Promise((resolve) => setTimeout(resolve, 100));
  const ways = {
    smallPlain: () => repeated(CALLS, () => plainRead(`${workspace}/${small}`)),
    smallQuick: () => repeated(CALLS, () => quickRead(`${workspace}/${small}`)),
    small: () => repeated(CALLS, () => call("filesystem.read_file", small)),
    largePlain: () => repeated(20, () => plainRead(`${workspace}/${large}`)),
    largeQuick: () => repeated(20, () => quickRead(`${workspace}/${large}`)),
    large: () => repeated(20, () => call("filesystem.read_file", large)),
    listPlain: () => timed(() => plainList(`${workspace}/many`)),
    listQuick: () => timed(() => quickList(`${workspace}/many`)),
    list: () => timed(() => call("filesystem.list_directory", "many")),
  };
  await interleave(ways, 2);
  const ms = await interleave(ways, rounds);
  const rows = (
    what: string,
    times: number,
    ours: number,
    plain: number,
    quick: number,
  ): BenchResult[] => [
    { name: what, unit: "ms", value: ours / times },
    { name: `${what}, to the plain loop`, unit: "ratio", value: ours / plain, budget: 2 },
    { name: `${what}, to the loop of calls that do not wait`, unit: "ratio", value: ours / quick },
  ];
  return [
    ...rows("read_file, 4 KB", CALLS, ms.small, ms.smallPlain, ms.smallQuick),
    ...rows("read_file, 255 KB", 20, ms.large, ms.largePlain, ms.largeQuick),
    ...rows(`list_directory, ${ENTRIES} entries`, 1, ms.list, ms.listPlain, ms.listQuick),
  ];
}

/** What a tool without any check would do. */
async function plainRead(path: string): Promise<void> {
  const bytes = await Deno.readFile(path);
  await crypto.subtle.digest("SHA-256", bytes);
  new TextDecoder("utf-8", { fatal: true }).decode(bytes);
}

async function plainList(path: string): Promise<void> {
  const entries: { name: string; size: number }[] = [];
  for await (const { name } of Deno.readDir(path)) {
    entries.push({ name, size: (await Deno.lstat(`${path}/${name}`)).size });
  }
  entries.sort((a, b) => (a.name.toLowerCase() < b.name.toLowerCase() ? -1 : 1));
}

/** The same with calls that hold up everything else: quicker for one file after another. */
function quickRead(path: string): Promise<void> {
  const bytes = Deno.readFileSync(path);
  createHash("sha256").update(bytes).digest("hex");
  new TextDecoder("utf-8", { fatal: true }).decode(bytes);
  return Promise.resolve();
}

function quickList(path: string): Promise<void> {
  const entries: { name: string; size: number }[] = [];
  for (const { name } of Deno.readDirSync(path)) {
    entries.push({ name, size: Deno.lstatSync(`${path}/${name}`).size });
  }
  entries.sort((a, b) => (a.name.toLowerCase() < b.name.toLowerCase() ? -1 : 1));
  return Promise.resolve();
}

if (import.meta.main) {
  for (const { name, unit, value, budget } of await benchToolhub()) {
    const limit = budget === undefined ? "" : ` (budget ${budget})`;
    Deno.stdout.writeSync(
      new TextEncoder().encode(`${name}: ${value.toFixed(3)} ${unit}${limit}\n`),
    );
  }
}
