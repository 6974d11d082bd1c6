/**
 * `deno task test [ARGUMENTS]`: all tests but those of the page, several files at once. Arguments
 * go to `deno test`: files, `--filter TEXT`, `--coverage=DIR` …
 */

import { denoAtLeast, ROOT } from "./lib/deno.ts";
import { closingLine, readTally } from "./lib/tally.ts";
import { print, writeWhole } from "./lib/terminal.ts";

const PAGE_TESTS = "tests/page";

/** Arguments of `deno` for a test run. Exported for tests. */
export function testArguments(given: readonly string[], version = Deno.version.deno): string[] {
  return [
    "test",
    "-A",
    "--parallel",
    "--unstable-worker-options",
    // Before 2.9 the sanitizers are always on and the flags are refused.
    ...(denoAtLeast(2, 9, version) ? ["--sanitize-ops", "--sanitize-resources"] : []),
    ...(given.some((argument) => argument.startsWith(PAGE_TESTS))
      ? []
      : [`--ignore=${PAGE_TESTS}/`]),
    ...given,
  ];
}

/** Runs the tests, shows their output as it comes, ends with the closing line. */
async function main(): Promise<number> {
  const child = new Deno.Command(Deno.execPath(), {
    args: testArguments(Deno.args),
    cwd: ROOT,
    stdin: "null",
    stdout: "piped",
    stderr: "inherit",
  }).spawn();
  const decoder = new TextDecoder();
  let tail = "";
  for await (const chunk of child.stdout) {
    writeWhole(Deno.stdout, chunk);
    tail = (tail + decoder.decode(chunk, { stream: true })).slice(-65_536);
  }
  const { code } = await child.status;
  const tally = readTally(tail);
  const ran = tally ?? { passed: 0, failed: 1, skipped: 0 };
  const pages = await Deno.stat(`${ROOT}/${PAGE_TESTS}`).then(() => true, () => false);
  if (pages) print(`Tests of the page (${PAGE_TESTS}) need a browser: deno task test:page`);
  if (tally === null) print("The test run ended without a summary.");
  else if (ran.passed + ran.failed === 0) print("No test ran.");
  print(closingLine(ran));
  return code !== 0 ? code : ran.passed > 0 && ran.failed === 0 ? 0 : 1;
}

if (import.meta.main) Deno.exit(await main());
