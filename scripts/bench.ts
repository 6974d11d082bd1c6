/**
 * `deno task bench [--json] [--only NAME] [--quick]`: time, tokens and memory as ratios to something
 * measured in the same run. Exit code 1 when a budget is missed. `--quick` shows in a minute that all
 * of it works: small repositories, few rounds, and only budgets that no busy machine can change fail.
 *
 * The compiled program is measured too when `dist/fluxgit-sidecar` and `dist/empty` are there:
 * `deno task compile --empty dist/empty`.
 */

import { parseArgs } from "node:util";
import { gates, json, judge, legend, type Measurement, table } from "./bench/result.ts";
import { type Bench, fleet, memory, reads, type Section, start, tokens } from "./bench/sections.ts";
import { ROOT } from "./lib/deno.ts";
import { print, say } from "./lib/terminal.ts";

const SECTIONS: Record<string, Section> = { start, reads, tokens, memory, fleet };

async function main(): Promise<number> {
  const { values } = parseArgs({
    args: Deno.args,
    options: {
      json: { type: "boolean" },
      quick: { type: "boolean" },
      only: { type: "string", multiple: true },
    },
  });
  const sections = await withRooms(SECTIONS);
  // The rooms measure at full size: the quick form is for every change and leaves them out.
  const usual = Object.keys(values.quick ? SECTIONS : sections);
  const names = values.only ?? usual;
  const unknown = names.find((name) => !Object.hasOwn(sections, name));
  if (unknown !== undefined) {
    say(`no benchmark is named ${unknown}; known: ${Object.keys(sections).join(", ")}`);
    return 2;
  }
  const quick = values.quick === true;
  const compiled = await compiledPrograms();
  const rows: Measurement[] = [];
  for (const name of names) {
    say(`measuring ${name} …`);
    const folder = await Deno.realPath(await Deno.makeTempDir({ prefix: "fluxgit-bench-" }));
    try {
      await Deno.mkdir(`${folder}/run`);
      rows.push(...await sections[name]!({ folder, runDir: `${folder}/run`, quick, compiled }));
    } finally {
      await Deno.remove(folder, { recursive: true });
    }
  }
  const gate = quick ? "tokens" : "all";
  const missed = rows.filter((row) => gates(row, gate) && judge(row) === "miss");
  print(values.json === true ? json(rows, machine(quick)) : `\n${table(rows)}\n\n${legend(rows)}`);
  if (compiled === null && names.includes("start")) {
    say("compiled start not measured: deno task compile --empty dist/empty");
  }
  if (quick) say("quick run: only token budgets decide; times and memory are shown.");
  for (const row of missed) say(`missed: ${row.name}`);
  return missed.length === 0 ? 0 : 1;
}

/** A number with its upper limit, as rooms measure themselves. */
interface RoomResult {
  readonly name: string;
  readonly unit: string;
  readonly value: number;
  readonly budget?: number;
}

/** Rooms that bring a benchmark of their own: `scripts/bench/<name>.ts` with a function of that name. */
const ROOMS: Readonly<Record<string, string>> = {
  audit: "benchAudit",
  bridge: "benchBridge",
  restore: "benchRestore",
  presence: "benchPresence",
  page: "benchPage",
  toolhub: "benchToolhub",
};

/** The rooms' benchmarks, loaded when they are run. One that cannot run here says so and gives no row. */
async function withRooms(sections: Record<string, Section>): Promise<Record<string, Section>> {
  const all = { ...sections };
  for (const [name, entry] of Object.entries(ROOMS)) {
    const file = new URL(`./bench/${name}.ts`, import.meta.url);
    if (!await Deno.stat(file).then(() => true, () => false)) continue;
    all[name] = async () => {
      const module = await import(file.href) as Record<string, () => Promise<RoomResult[]>>;
      return (await module[entry]!()).map(({ name, unit, value, budget }) => ({
        name,
        unit,
        ours: value,
        base: null,
        budget: budget === undefined ? null : { kind: "most", value: budget },
      }));
    };
  }
  return all;
}

async function compiledPrograms(): Promise<Bench["compiled"]> {
  const programs = { program: `${ROOT}/dist/fluxgit-sidecar`, empty: `${ROOT}/dist/empty` };
  for (const path of Object.values(programs)) {
    if (!await Deno.stat(path).then(() => true, () => false)) return null;
  }
  return programs;
}

function machine(quick: boolean): Record<string, unknown> {
  return {
    deno: Deno.version.deno,
    system: `${Deno.build.os} ${Deno.build.arch}`,
    cores: navigator.hardwareConcurrency,
    quick,
  };
}

if (import.meta.main) Deno.exit(await main());
