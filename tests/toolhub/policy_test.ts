import assert from "node:assert/strict";
import { classify, type RuntimeFacts } from "../../toolhub/shell/policy.ts";
import { Lab } from "./lab.ts";

const FACTS: RuntimeFacts = {
  windows: false,
  runtimePath: "/opt/deno/bin/deno",
  realPath: (path) => path === "/usr/bin/deno-link" ? "/opt/deno/bin/deno" : path,
};

function risk(program: string, args: string[] = [], facts = FACTS): string {
  return classify(program, args, facts).risk;
}

Deno.test("only the version of the running Deno is low, in exactly that form", () => {
  assert.equal(risk("deno", ["--version"]), "LOW");
  assert.equal(risk("/opt/deno/bin/deno", ["--version"]), "LOW");
  assert.equal(risk("/usr/bin/deno-link", ["--version"]), "LOW");
  for (
    const [program, args] of [
      ["deno", []],
      ["deno", ["-V"]],
      ["deno", ["--version", "x"]],
      ["deno", ["eval", "1"]],
      ["Deno", ["--version"]],
      ["./deno", ["--version"]],
      ["bin/deno", ["--version"]],
      ["/tmp/deno", ["--version"]],
      ["python", ["--version"]],
      ["node", ["--version"]],
    ] as [string, string[]][]
  ) assert.notEqual(risk(program, args), "LOW", `${program} ${args}`);
  const built = { ...FACTS, runtimePath: null };
  assert.equal(risk("/opt/deno/bin/deno", ["--version"], built), "HIGH");
  assert.equal(risk("DENO.EXE", ["--version"], { ...FACTS, windows: true }), "LOW");
});

Deno.test("every row of the policy has its level and its reason", () => {
  const rows: [program: string, args: string[], level: string, reason: RegExp][] = [
    ["bash", [], "HIGH", /Shell interpreters/],
    ["/bin/sh", ["-c", "x"], "HIGH", /Shell interpreters/],
    ["C:\\Windows\\cmd.exe", [], "HIGH", /Shell interpreters/],
    ["pwsh", [], "HIGH", /Shell interpreters/],
    ["rm", ["-rf", "."], "HIGH", /rm/],
    ["py", ["-3"], "HIGH", /selects another Python interpreter/],
    ["run.BAT", [], "HIGH", /command interpreter/],
    ["python.cmd", [], "HIGH", /command interpreter/],
    ["pytest", ["../x"], "HIGH", /outside the workspace/],
    ["pytest", ["/etc"], "HIGH", /outside the workspace/],
    ["pytest", [" C:\\x "], "HIGH", /outside the workspace/],
    ["git", ["status"], "HIGH", /Generic Git/],
    ["git", ["--version"], "HIGH", /Generic Git/],
    ["python3", ["-C", "x"], "HIGH", /inline code/],
    ["python3", ["x.py"], "MEDIUM", /Python/],
    ["python", ["--version"], "MEDIUM", /Python/],
    ["pytest", ["-q", "tests"], "MEDIUM", /Tests/],
    ["pytest", ["--rootdir=/x"], "MEDIUM", /Tests/],
    ["make", [], "HIGH", /no policy/],
    ["", [], "HIGH", /no policy/],
  ];
  for (const [program, args, level, reason] of rows) {
    const verdict = classify(program, args, FACTS);
    assert.equal(verdict.risk, level, program);
    assert.match(verdict.reason, reason);
    assert.equal(verdict.profile, null);
  }
  assert.equal(risk("BASH"), "HIGH");
  assert.match(classify("BASH", [], FACTS).reason, /no policy/);
  assert.match(classify("BASH", [], { ...FACTS, windows: true }).reason, /Shell interpreters/);
});

Deno.test("the low answer starts no process and asks nobody", async () => {
  await using lab = await Lab.create();
  // A planted program of that name, first in PATH, would leave a mark.
  lab.write("bin/deno", `#!/bin/sh\ntouch '${lab.root}/mark'\n`);
  Deno.chmodSync(`${lab.workspace}/bin/deno`, 0o755);
  await using server = await lab.server({ PATH: `${lab.workspace}/bin` });
  await server.initialize();
  const answer = await server.payload("shell.run", { program: "deno", args: ["--version"] });
  assert.equal(answer.risk, "LOW");
  assert.equal(answer.executed, true);
  assert.equal(answer.returncode, 0);
  assert.equal(answer.request_id, null);
  assert.match(answer.stdout, /^deno \d+\.\d+\.\d+\nv8 .+\ntypescript .+\n$/);
  assert.throws(() => Deno.statSync(`${lab.root}/mark`), Deno.errors.NotFound);
  assert.throws(() => lab.stored(), Deno.errors.NotFound);
});
