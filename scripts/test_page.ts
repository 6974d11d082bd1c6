/**
 * `deno task test:page [--pictures] [ARGUMENTS]`: the approval page in a real browser. Arguments go to
 * `deno test`. `--pictures` also writes the pictures that the guides show to `docs/pictures`.
 */

import { browserPath } from "./lib/browser.ts";
import { ROOT } from "./lib/deno.ts";
import { closingLine, readTally } from "./lib/tally.ts";
import { print, writeWhole } from "./lib/terminal.ts";

/** Runs the tests one file at a time: each drives a browser of its own. */
async function main(): Promise<number> {
  if (browserPath() === null) {
    print("The tests of the page need Chromium: apt-get install --no-install-recommends chromium");
    print("Another place of it: FLUXGIT_TEST_BROWSER=/path/to/chromium");
    print(closingLine({ passed: 0, failed: 1, skipped: 0 }));
    return 1;
  }
  const pictures = Deno.args.includes("--pictures");
  const given = Deno.args.filter((argument) => argument !== "--pictures");
  const child = new Deno.Command(Deno.execPath(), {
    args: [
      "test",
      "-A",
      "--unstable-worker-options",
      ...(given.some((argument) => argument.startsWith("tests/"))
        ? given
        : ["tests/page/", ...given]),
    ],
    cwd: ROOT,
    env: pictures ? { FLUXGIT_TEST_PICTURES: `${ROOT}/docs/pictures` } : {},
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
  const tally = readTally(tail) ?? { passed: 0, failed: 1, skipped: 0 };
  print(closingLine(tally));
  return code !== 0 ? code : tally.passed > 0 && tally.failed === 0 ? 0 : 1;
}

if (import.meta.main) Deno.exit(await main());
