import assert from "node:assert/strict";
import { Sandbox } from "../fixtures/sandbox.ts";
import { BINARY, Host, serverCommand, serverEnv } from "./host.ts";

/** Runs the program with arguments and no input. */
async function run(box: Sandbox, args: string[], env: Record<string, string> = {}) {
  const { command, args: before } = serverCommand();
  const out = await new Deno.Command(command, {
    args: [...before, ...args],
    clearEnv: true,
    env: { ...serverEnv(box), ...env },
    stdin: "null",
  }).output();
  const text = new TextDecoder();
  return { code: out.code, stdout: text.decode(out.stdout), stderr: text.decode(out.stderr) };
}

Deno.test("--version prints one line on standard output, --help only on standard error", async () => {
  await using box = await Sandbox.create();
  const version = await run(box, ["--version"]);
  assert.match(version.stdout, /^fluxgit-sidecar \d+\.\d+\.\d+\n$/);
  assert.equal(version.code, 0);
  const help = await run(box, ["--help"]);
  assert.equal(help.stdout, "");
  assert.match(help.stderr, /serve/);
  assert.equal(help.code, 0);
});

Deno.test("an unknown command is refused with its name, usage and exit code 2", async () => {
  await using box = await Sandbox.create();
  const refused = await run(box, ["sreve"]);
  assert.equal(refused.code, 2);
  assert.equal(refused.stdout, "");
  assert.match(refused.stderr, /^fluxgit-sidecar: .*"sreve"/);
});

Deno.test("a signing key that cannot be read stops the start", async () => {
  await using box = await Sandbox.create();
  const refused = await run(box, [], { FLUXGIT_MCP_AUDIT_SIGN_KEY: `${box.root}/key.pem` });
  assert.equal(refused.code, 1);
  assert.equal(refused.stdout, "");
  assert.match(refused.stderr, /^fluxgit-sidecar: .*key\.pem/);
});

Deno.test("an unknown toolset stops the start with its name", async () => {
  await using box = await Sandbox.create();
  const refused = await run(box, [], { FLUXGIT_MCP_TOOLSETS: "reed" });
  assert.equal(refused.code, 1);
  assert.match(refused.stderr, /^fluxgit-sidecar: .*"reed"/);
});

Deno.test("the handshake answers the version asked for, and the newest of its era otherwise", async () => {
  await using box = await Sandbox.create();
  await using host = new Host({ env: serverEnv(box) });
  for (const version of ["2024-11-05", "2025-03-26", "2025-06-18", "2025-11-25"]) {
    assert.equal((await host.initialize(version)).protocolVersion, version);
  }
  assert.equal((await host.initialize("1999-01-01")).protocolVersion, "2025-11-25");
  assert.deepEqual((await host.request("ping")).result, {});
});

Deno.test({
  name: "the compiled program keeps no code cache, which anybody could replace",
  ignore: BINARY === null,
  async fn() {
    await using box = await Sandbox.create();
    await Deno.mkdir(`${box.root}/tmp`);
    for (let i = 0; i < 2; i++) {
      await using host = new Host({ env: { ...serverEnv(box), TMPDIR: `${box.root}/tmp` } });
      await host.initialize();
      await host.request("tools/list");
    }
    const left: string[] = [];
    for await (const { name } of Deno.readDir(`${box.root}/tmp`)) left.push(name);
    assert.deepEqual(left, []);
  },
});
