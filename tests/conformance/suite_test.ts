/** The official conformance suites against the protocol room, through the HTTP bridge. */

import assert from "node:assert/strict";
import { startBridge } from "./bridge.ts";

const here = (name: string) => new URL(name, import.meta.url).pathname;

/** One check as a suite writes it down. */
interface Check {
  id: string;
  status: "SUCCESS" | "FAILURE" | "WARNING" | "SKIPPED" | "INFO";
  errorMessage?: string;
}

/** A suite takes about four seconds. */
const DEADLINE_MS = 60_000;

/** Runs a suite and gives its checks by scenario; the exit code already knows the baseline. */
async function runSuite(version: string, baseline: string, args: string[]) {
  const bridge = startBridge();
  const folder = await Deno.makeTempDir();
  const run = async () => {
    const child = new Deno.Command(Deno.execPath(), {
      // Its own lock file: the suites are no part of the program, nor of its other tests. It holds
      // get-intrinsic at 1.3.0 on purpose: 1.3.1 brings packages whose `require` form is an ES module,
      // and while it loads those Deno 2.9.6 stops for good now and then.
      args: [
        ...["run", "-q", "-A", "--no-config", `--lock=${here("deno.lock")}`, "--frozen"],
        ...[`npm:@modelcontextprotocol/conformance@${version}`, "server", "--url", bridge.url],
        ...["--expected-failures", here(baseline), "--output-dir", folder, ...args],
      ],
      cwd: folder,
      stdin: "null",
      stdout: "piped",
      stderr: "piped",
    }).spawn();
    let hung = false;
    const timer = setTimeout(() => {
      hung = true;
      child.kill("SIGKILL");
    }, DEADLINE_MS);
    const output = await child.output();
    clearTimeout(timer);
    return { ...output, hung };
  };
  try {
    const ended = await run();
    assert(!ended.hung, `the suite did not end within ${DEADLINE_MS} ms`);
    const text = new TextDecoder().decode(ended.stdout) + new TextDecoder().decode(ended.stderr);
    assert.equal(ended.code, 0, text.slice(text.indexOf("=== SUMMARY")));
    return await readChecks(folder);
  } finally {
    await bridge.close();
    await Deno.remove(folder, { recursive: true });
  }
}

async function readChecks(folder: string): Promise<Map<string, Check[]>> {
  const checks = new Map<string, Check[]>();
  for await (const { name } of Deno.readDir(folder)) {
    const scenario = /^server-(.+)-\d{4}-\d\d-\d\dT/.exec(name)?.[1];
    if (scenario === undefined) continue;
    checks.set(scenario, JSON.parse(await Deno.readTextFile(`${folder}/${name}/checks.json`)));
  }
  return checks;
}

/** Every check of the scenario ended well, and there were exactly so many. */
function assertPassed(checks: Map<string, Check[]>, expected: Record<string, number>): void {
  const passed: Record<string, number> = {};
  for (const scenario of Object.keys(expected)) {
    const list = checks.get(scenario) ?? [];
    for (const { id, status, errorMessage } of list) {
      if (status === "SKIPPED" && NOT_APPLICABLE.includes(id)) continue;
      assert(
        status === "SUCCESS" || status === "INFO",
        `${scenario} ${id}: ${status} ${errorMessage}`,
      );
    }
    passed[scenario] = list.filter(({ status }) => status === "SUCCESS").length;
  }
  assert.deepEqual(passed, expected);
}

/** The set of tools is fixed and there are no prompts, so no change of a list can be told. */
const NOT_APPLICABLE = [
  "sep-2575-server-sends-prompts-list-changed-on-subscription",
  "sep-2575-server-sends-tools-list-changed-on-subscription",
];

const contents = (each: number) =>
  Object.fromEntries(
    [
      "simple-text",
      "image",
      "audio",
      "embedded-resource",
      "mixed-content",
      "error",
      "with-progress",
    ]
      .map((name) => [`tools-call-${name}`, each]),
  );

Deno.test("suite 0.1.16 passes but for the features of the baseline", async () => {
  const checks = await runSuite("0.1.16", "baseline_2025-11-25.yml", ["--suite", "all"]);
  assertPassed(checks, {
    "server-initialize": 1,
    "ping": 1,
    "tools-list": 1,
    ...contents(1),
    "json-schema-2020-12": 4,
    "dns-rebinding-protection": 2,
  });
});

// From here on each scenario has one more check: all messages have the form of the revision's schema.

Deno.test("suite 0.2.0-alpha.12 passes at 2025-11-25 but for the features of the baseline", async () => {
  const args = ["--suite", "all", "--spec-version", "2025-11-25"];
  const checks = await runSuite("0.2.0-alpha.12", "baseline_2025-11-25.yml", args);
  assertPassed(checks, {
    "server-initialize": 2,
    "ping": 2,
    "tools-list": 3,
    ...contents(2),
    "json-schema-2020-12": 8,
  });
});

Deno.test("suite 0.2.0-alpha.12 passes what 2026-07-28 requires but for the features of the baseline", async () => {
  const args = ["--requirements", "2026-07-28"];
  const checks = await runSuite("0.2.0-alpha.12", "baseline_2026-07-28.yml", args);
  assertPassed(checks, {
    "server-stateless": 28,
    "tools-list": 4,
    ...contents(2),
    "json-schema-2020-12": 8,
    "input-required-result-unsupported-methods": 2,
    "input-required-result-validate-input": 3,
  });
});

Deno.test("every line of a baseline names the feature that is missing", async () => {
  for (const name of ["baseline_2025-11-25.yml", "baseline_2026-07-28.yml"]) {
    const lines = (await Deno.readTextFile(here(name))).trimEnd().split("\n");
    const entries = lines.slice(lines.indexOf("server:") + 1);
    assert(entries.length > 0);
    for (const entry of entries) {
      assert.match(
        entry,
        /^ {2}- [a-z0-9-]+(:[a-z0-9-]+)? # no (logging|completions|sampling|elicitation|roots|resources|prompts|input requests|HTTP transport)/,
      );
    }
  }
});
