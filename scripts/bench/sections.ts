/** The measurements, each on its own; `scripts/bench.ts` runs them in order. */

import { plainGit } from "../lib/git.ts";
import { interleave, median, timed } from "./measure.ts";
import { manyCommits, manyFiles, manyRepositories, tenCommits } from "./repositories.ts";
import type { Measurement } from "./result.ts";
import { FROM_SOURCE, residentBytes, Server, type Start } from "./server.ts";
import { countTokens, listTokens } from "./tokens.ts";

/** What every section is given. */
export interface Bench {
  /** An empty folder of its own. */
  readonly folder: string;
  /** A run directory for the sidecars. */
  readonly runDir: string;
  /** Fewer rounds and smaller repositories: shows that all works, proves no time. */
  readonly quick: boolean;
  /** The compiled sidecar and an empty compiled program, when they are there. */
  readonly compiled: { readonly program: string; readonly empty: string } | null;
}

export type Section = (bench: Bench) => Promise<Measurement[]>;

/** Milliseconds from the start of a process to its end. */
async function wholeLife({ command, args }: Start): Promise<number> {
  return await timed(async () => {
    const child = new Deno.Command(command, {
      args: [...args],
      stdin: "null",
      stdout: "null",
    }).spawn();
    await child.status;
  });
}

/** Milliseconds from the start of a sidecar to the answer of a first request. */
async function firstAnswer(
  start: Start,
  bench: Bench,
  method?: string,
  params?: unknown,
): Promise<number> {
  const began = performance.now();
  const server = new Server(start, bench.runDir);
  await server.open(method, params);
  const ms = performance.now() - began;
  await server.close();
  return ms;
}

/** Process start to the first list and the first call, from source and compiled. */
export const start: Section = async (bench) => {
  const script = `${bench.folder}/empty.ts`;
  await Deno.writeTextFile(script, "");
  const repo = await tenCommits(`${bench.folder}/repo`, 12, false);
  const call = { name: "repo.status", arguments: { repoPath: repo } };
  const forms: { name: string; empty: Start; sidecar: Start; max: number }[] = [{
    name: "source",
    // With the same flags and settings: what differs is the program alone.
    empty: { ...FROM_SOURCE, args: [...FROM_SOURCE.args.slice(0, -1), script] },
    sidecar: FROM_SOURCE,
    max: 1.6,
  }];
  if (bench.compiled !== null) {
    const { program, empty } = bench.compiled;
    forms.push({
      name: "compiled",
      empty: { command: empty, args: [] },
      sidecar: { command: program, args: [] },
      max: 1.3,
    });
  }
  const rows: Measurement[] = [];
  for (const form of forms) {
    const ways = {
      empty: () => wholeLife(form.empty),
      plain: () => wholeLife({ command: Deno.execPath(), args: ["run", "-q", script] }),
      list: () => firstAnswer(form.sidecar, bench),
      call: () => firstAnswer(form.sidecar, bench, "tools/call", call),
    };
    await interleave(ways, 2); // fills the caches
    const ms = await interleave(ways, bench.quick ? 5 : 31);
    const base = { name: `empty program, ${form.name}`, value: ms.empty };
    rows.push(
      {
        name: `start to tools/list, ${form.name}`,
        unit: "ms",
        ours: ms.list,
        base,
        budget: { kind: "ratio", max: form.max },
      },
      {
        name: `start to first call, ${form.name}`,
        unit: "ms",
        ours: ms.call,
        base,
        budget: { kind: "plus", value: 45 },
      },
    );
    if (form.name === "source") {
      rows.push({
        name: "the same against deno run alone",
        unit: "ms",
        ours: ms.list,
        base: { name: "deno run, no flags, empty script", value: ms.plain },
        budget: null,
      });
    }
  }
  return rows;
};

/** repo.status and repo.brief, warm and cold, against `git status`. */
export const reads: Section = async (bench) => {
  const commits = bench.quick ? 1_000 : 5_000, files = bench.quick ? 10_000 : 100_000;
  const repositories = [
    {
      name: `${commits} commits`,
      path: await manyCommits(`${bench.folder}/commits`, commits),
      rounds: bench.quick ? 9 : 61,
    },
    {
      name: `${files} files`,
      path: await manyFiles(`${bench.folder}/files`, files),
      rounds: bench.quick ? 5 : 21,
    },
  ];
  const rows: Measurement[] = [];
  for (const { name, path, rounds } of repositories) {
    const args = { repoPath: path };
    const cold: Record<string, number[]> = { "repo.status": [], "repo.brief": [] };
    for (let i = 0; i < (bench.quick ? 1 : 3); i++) {
      for (const [tool, times] of Object.entries(cold)) {
        const server = new Server(FROM_SOURCE, bench.runDir);
        await server.open();
        times.push(await timed(() => server.call(tool, args)));
        await server.close();
      }
    }
    const server = new Server(FROM_SOURCE, bench.runDir);
    await server.open();
    const ways = {
      git: async () => (await plainGit(path, ["status"])).ms,
      status: () => timed(() => server.call("repo.status", args)),
      brief: () => timed(() => server.call("repo.brief", args)),
    };
    await interleave(ways, 3);
    const ms = await interleave(ways, rounds);
    await server.close();
    const base = { name: "git status", value: ms.git };
    const row = (tool: string, ours: number, budget: Measurement["budget"]): Measurement => ({
      name: `${tool}, ${name}`,
      unit: "ms",
      ours,
      base,
      budget,
    });
    rows.push(
      row("repo.status", ms.status, { kind: "ratio", max: 1.15, orPlus: 3 }),
      row("repo.brief", ms.brief, { kind: "ratio", max: 1.3, orPlus: 6 }),
      row("repo.status cold", median(cold["repo.status"]!), null),
      row("repo.brief cold", median(cold["repo.brief"]!), null),
    );
  }
  return rows;
};

/** Tokens of the list of tools and of briefings. */
export const tokens: Section = async (bench) => {
  const clean = await tenCommits(`${bench.folder}/clean`, 12, false);
  const dirty = await tenCommits(`${bench.folder}/dirty`, 100, true);
  const server = new Server(FROM_SOURCE, bench.runDir);
  // The newest handshake revision: titles and output schemas are part of its list.
  const { tools } = await server.open();
  const count = async (repo: string) =>
    countTokens(await server.call("repo.brief", { repoPath: repo }));
  const row = (name: string, ours: number, most: number | null): Measurement => ({
    name,
    unit: "tokens",
    ours,
    base: null,
    budget: most === null ? null : { kind: "most", value: most },
  });
  const rows = [
    row(`tools/list, ${tools.length} tools`, listTokens(tools), 6_000),
    row("tools/list with output schemas", countTokens(JSON.stringify(tools)), null),
    row("repo.brief, clean", await count(clean), 350),
    row("repo.brief, 100 changes", await count(dirty), 700),
  ];
  await server.close();
  return rows;
};

/** Resident memory after many calls, against a Deno script that only waits. */
export const memory: Section = async (bench) => {
  const script = `${bench.folder}/wait.ts`;
  await Deno.writeTextFile(script, "await Deno.stdin.read(new Uint8Array(1));\n");
  const waiting = new Deno.Command(Deno.execPath(), {
    args: ["run", "-q", "--no-remote", script],
    stdin: "piped",
  }).spawn();
  const repo = await tenCommits(`${bench.folder}/repo`, 100, true);
  const server = new Server(FROM_SOURCE, bench.runDir);
  await server.open();
  const some = bench.quick ? 100 : 1_000;
  const calls = async (count: number) => {
    for (let i = 0; i < count; i++) {
      await server.call(i % 2 === 0 ? "repo.status" : "repo.brief", { repoPath: repo });
    }
    return (await residentBytes(server.child.pid) ?? 0) / 1_048_576;
  };
  const first = await calls(some);
  const last = await calls(2 * some);
  const empty = (await residentBytes(waiting.pid) ?? 0) / 1_048_576;
  await server.close();
  await waiting.stdin.close();
  await waiting.status;
  // Without `ps` nothing is known; a row of zeros would pass for a measurement.
  if (empty === 0 || first === 0 || last === 0) return [];
  return [
    {
      name: `memory after ${some} calls`,
      unit: "MB",
      ours: first,
      base: { name: "waiting Deno script", value: empty },
      budget: { kind: "ratio", max: 4 },
    },
    {
      name: `memory after ${3 * some} calls`,
      unit: "MB",
      ours: last,
      base: { name: `after ${some} calls`, value: first },
      budget: { kind: "ratio", max: 1.1 },
    },
  ];
};

/** fleet.radar against plain `git status` over the same repositories, as many at once as cores. */
export const fleet: Section = async (bench) => {
  const count = bench.quick ? 20 : 200;
  const repoPaths = await manyRepositories(`${bench.folder}/fleet`, count);
  const server = new Server(FROM_SOURCE, bench.runDir);
  await server.open();
  const plain = async () => {
    const left = [...repoPaths];
    const walk = async () => {
      for (let repo = left.pop(); repo !== undefined; repo = left.pop()) {
        await plainGit(repo, ["status"]);
      }
    };
    await Promise.all(Array.from({ length: navigator.hardwareConcurrency }, walk));
  };
  const ways = {
    git: () => timed(plain),
    radar: () => timed(() => server.call("fleet.radar", { repoPaths })),
  };
  await interleave(ways, 1);
  const ms = await interleave(ways, bench.quick ? 3 : 9);
  await server.close();
  return [{
    name: `fleet.radar, ${count} repositories`,
    unit: "ms",
    ours: ms.radar,
    base: { name: "git status, as many at once", value: ms.git },
    budget: { kind: "ratio", max: 1.3 },
  }];
};
