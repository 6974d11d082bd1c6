import assert from "node:assert/strict";
import { Sandbox } from "../fixtures/sandbox.ts";
import { Host, serverCommand, serverEnv } from "./host.ts";
import { storySandbox } from "./tool_calls.ts";

/** Runs a command of the program. */
async function run(box: Sandbox, args: string[]) {
  const { command, args: before } = serverCommand();
  const out = await new Deno.Command(command, {
    args: [...before, ...args],
    clearEnv: true,
    env: serverEnv(box),
    stdin: "null",
  }).output();
  const text = new TextDecoder();
  return { code: out.code, stdout: text.decode(out.stdout), stderr: text.decode(out.stderr) };
}

Deno.test("calls of a session stand in a ledger that holds, and a changed byte is found", async () => {
  const { box, repo } = await storySandbox();
  await using _box = box;
  const host = new Host({ env: serverEnv(box) });
  await host.initialize();
  for (let i = 0; i < 3; i++) await host.payload("repo.status", { repoPath: repo });
  await host.request("tools/call", { name: "repo.status", arguments: { repoPath: "relative" } });
  await host[Symbol.asyncDispose]();
  assert.equal(host.stderr, "");
  const ledger = `${box.root}/run/audit/mcp.jsonl`;
  const text = await Deno.readTextFile(ledger);
  assert(!text.includes(repo) && !text.includes("relative"), "arguments are not in the ledger");
  const good = await run(box, ["verify-audit", ledger]);
  assert.equal(good.code, 0, good.stderr);
  const calls = text.split("\n").filter((line) => line.includes('"repo.status"'));
  assert.equal(calls.length, 4);
  await Deno.writeTextFile(ledger, text.replace("repo.status", "repo.statuz"));
  const bad = await run(box, ["verify-audit", ledger]);
  assert.equal(bad.code, 3);
});

Deno.test("a session signed with a key made by the program verifies with that key", async () => {
  const { box, repo } = await storySandbox();
  await using _box = box;
  const made = await run(box, ["audit", "keygen", `${box.root}/keys`]);
  assert.equal(made.code, 0, made.stderr);
  const names: string[] = [];
  for await (const { name } of Deno.readDir(`${box.root}/keys`)) names.push(name);
  const [publicKey] = names.filter((name) => /pub/.test(name));
  const [secretKey] = names.filter((name) => !/pub/.test(name));
  assert(publicKey && secretKey, names.join(", "));
  const env = {
    ...serverEnv(box),
    FLUXGIT_MCP_AUDIT_SIGN_KEY: `${box.root}/keys/${secretKey}`,
  };
  const host = new Host({ env });
  await host.initialize();
  await host.payload("repo.status", { repoPath: repo });
  await host[Symbol.asyncDispose]();
  assert.equal(host.stderr, "");
  const ledger = `${box.root}/run/audit/mcp.jsonl`;
  const key = `${box.root}/keys/${publicKey}`;
  const good = await run(box, ["verify-audit", ledger, "--pubkey", key, "--require-signed"]);
  assert.equal(good.code, 0, good.stderr);
});
