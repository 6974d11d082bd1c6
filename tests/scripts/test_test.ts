import assert from "node:assert/strict";
import { closingLine, readTally } from "../../scripts/lib/tally.ts";
import { testArguments } from "../../scripts/test.ts";

Deno.test("the summary of a test run is read with colours, steps and ignored tests", () => {
  assert.deepEqual(
    readTally("a ... ok\n\n\x1b[0m\x1b[32mok\x1b[0m | 11 passed | 0 failed (45ms)\n"),
    {
      passed: 11,
      failed: 0,
      skipped: 0,
    },
  );
  assert.deepEqual(
    readTally("FAILED | 3 passed (2 steps) | 1 failed (1 step) | 4 ignored (1s)\n"),
    { passed: 3, failed: 1, skipped: 4 },
  );
});

Deno.test("a run that tells nothing has no summary, and a test cannot forge one inside a line", () => {
  assert.equal(readTally("error: Module not found\n"), null);
  assert.equal(readTally("printed ok | 1 passed | 0 failed\n"), null);
});

Deno.test("the closing line is the plain form that any CI reads", () => {
  assert.equal(closingLine({ passed: 3, failed: 0, skipped: 0 }), "3 passed, 0 failed");
  assert.equal(closingLine({ passed: 3, failed: 1, skipped: 2 }), "3 passed, 1 failed, 2 skipped");
});

Deno.test("sanitizers are asked for where Deno has them switched off", () => {
  assert(testArguments([], "2.9.6").includes("--sanitize-ops"));
  assert(!testArguments([], "2.6.10").includes("--sanitize-ops"));
});

Deno.test("tests of the page run only when they are named", () => {
  assert(testArguments([], "2.9.6").includes("--ignore=tests/page/"));
  assert(!testArguments(["tests/page/"], "2.9.6").includes("--ignore=tests/page/"));
});
