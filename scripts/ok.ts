/**
 * `deno task ok [--no-tests]`: everything that must hold before a change goes in. Every check runs,
 * so that one run tells all there is to mend; the summary comes last.
 */

import { findFaults } from "./arrows.ts";
import { denoInherit, denoOutput, ROOT, sourceFiles } from "./lib/deno.ts";
import { say } from "./lib/terminal.ts";

interface Check {
  readonly name: string;
  /** What to do when it fails. */
  readonly mend: string;
  run(): Promise<boolean>;
}

const quiet = async (args: readonly string[]): Promise<boolean> => {
  const out = await denoOutput(args);
  if (out.code !== 0) say(`${out.stdout}${out.stderr}`.trim());
  return out.code === 0;
};

const CHECKS: readonly Check[] = [
  { name: "format", mend: "deno fmt", run: () => quiet(["fmt", "--check"]) },
  { name: "lint", mend: "deno lint", run: () => quiet(["lint"]) },
  {
    name: "arrows",
    mend: "see the plan of the rooms in scripts/arrows/rules.ts",
    async run() {
      const faults = await findFaults(ROOT).catch((error) => [String(error.message ?? error)]);
      for (const fault of faults) say(fault);
      return faults.length === 0;
    },
  },
  {
    name: "types",
    mend: "deno check FILE",
    async run() {
      const files = await sourceFiles();
      // Names such as `name` and `status` are globals of a browser: nothing else may see those types.
      const ofPage = (file: string) => /^(?:gateway|tests)\/page\//.test(file);
      const check = (some: readonly string[]) =>
        quiet(["check", "--unstable-worker-options", ...some]);
      const rest = await check(files.filter((file) => !ofPage(file)));
      return await check(files.filter(ofPage)) && rest;
    },
  },
  {
    name: "generated files",
    mend: "deno task generate",
    run: () => quiet(["run", "-q", "-A", "--no-remote", "scripts/generate.ts", "--check"]),
  },
  {
    name: "tests",
    mend: "deno task test --filter TEXT",
    // Types were checked just before.
    run: async () => await denoInherit(["task", "-q", "test", "--no-check"]) === 0,
  },
];

async function main(): Promise<number> {
  const rows: string[] = [];
  let failed = 0;
  for (const check of CHECKS) {
    if (check.name === "tests" && Deno.args.includes("--no-tests")) continue;
    const start = performance.now();
    const good = await check.run();
    const seconds = ((performance.now() - start) / 1000).toFixed(1);
    const verdict = good ? "ok    " : "FAILED";
    say(`${verdict} ${check.name} (${seconds} s)`);
    rows.push(
      `  ${verdict} ${check.name.padEnd(16)}${good ? `${seconds} s` : `mend: ${check.mend}`}`,
    );
    if (!good) failed++;
  }
  say(`\n${rows.join("\n")}\n`);
  return failed === 0 ? 0 : 1;
}

if (import.meta.main) Deno.exit(await main());
