import assert from "node:assert/strict";
import { verifyLedger } from "../../audit/mod.ts";
import { redactArguments, redactText, sanitize } from "../../toolhub/audit/redact.ts";
import { Lab } from "./lab.ts";

Deno.test("values of sensitive names are masked in texts, arguments and members", () => {
  assert.deepEqual(
    redactArguments(["--password", "hunter2", "--token=abc123", "--version"]),
    ["--password", "***", "--token=***", "--version"],
  );
  assert.deepEqual(
    redactArguments(["-pwd=x y", "API_KEY=1;2", "--auth", "-v", "plain=1", "--secret", "--x"]),
    ["-pwd=***", "API_KEY=***", "--auth", "-v", "plain=1", "--secret", "--x"],
  );
  assert.equal(
    redactText('run my_Token = abc, db.password="x" api-key=k;next other=1'),
    "run my_Token=***, db.password=*** api-key=***;next other=1",
  );
  assert.equal(
    redactText(`A_TOKEN='a b' plain="c d" secret="never closed`),
    `A_TOKEN=*** plain="c d" secret=***`,
  );
  assert.equal(redactText("Authorization: Bearer abc.def"), "Authorization: ***");
  assert.deepEqual(sanitize({ token: "abc", n: 1, ok: true, none: null }), {
    token: "***",
    n: 1,
    ok: true,
    none: null,
  });
});

Deno.test("everything in an event is bounded", () => {
  assert.equal(sanitize("x".repeat(205)), "x".repeat(200) + "...[+5 chars]");
  assert.equal(sanitize("x".repeat(20_000)), "x".repeat(200) + "...[+19800 chars]");
  // A mask is shorter than what it hides; nothing from further behind moves up.
  assert.equal(sanitize(`token=${"s".repeat(20_000)}`), "token=***...[+11814 chars]");
  const many = Array.from({ length: 25 }, (_, i) => String(i));
  assert.deepEqual((sanitize(many) as string[]).slice(19), ["19", "...[5 more args]"]);
  const mixed = Array.from({ length: 25 }, (_, i) => i);
  assert.deepEqual((sanitize(mixed) as unknown[]).at(-1), "...[5 more items]");
  const wide = Object.fromEntries(many.map((name) => [`k${name}`, 1]));
  assert.equal((sanitize(wide) as Record<string, unknown>)["..."], "[5 more keys]");
  let deep: unknown = "bottom";
  for (let i = 0; i < 8; i++) deep = { deep };
  assert(JSON.stringify(sanitize(deep)).includes('"..."'));
  assert.equal(Object.keys(sanitize({ ["k".repeat(300)]: 1 }) as object)[0]!.length, 100);
  // No pattern takes long on a hostile text.
  sanitize("a=".repeat(100_000) + "password".repeat(10_000));
});

Deno.test("the log holds neither content nor patches nor output nor folders outside", async () => {
  await using lab = await Lab.create();
  await using tools = await lab.hub();
  lab.write("f", "old\n");
  const write = await tools.approved("filesystem.write_file", {
    path: "a",
    content: "SENTINEL-CONTENT",
  });
  await tools.call("filesystem.write_file_approved", { request_id: write });
  const patch = await tools.approved("filesystem.apply_patch", {
    path: "f",
    patch: "--- f\n+++ f\n@@ -1 +1 @@\n-old\n+SENTINEL-PATCH\n",
  });
  await tools.call("filesystem.apply_patch_approved", { request_id: patch });
  Deno.writeTextFileSync(`${lab.outside}/tool`, "#!/bin/sh\necho SENTINEL-$((40 + 2))\n", {
    mode: 0o755,
  });
  const shell = await tools.approved("shell.run", {
    program: `${lab.outside}/tool`,
    args: ["--password", "SENTINEL-SECRET"],
  });
  const done = await tools.call("shell.run_approved", { request_id: shell });
  assert.equal(done.stdout, "SENTINEL-42\n");
  await tools.error("shell.run", { program: `${lab.outside}/missing` });
  const text = Deno.readTextFileSync(`${lab.state}/audit.jsonl`);
  assert(!text.includes("SENTINEL"));
  assert(!text.includes(lab.outside));
  assert(!text.includes(lab.workspace));
  const events = lab.audit();
  assert.deepEqual(events.map((one) => [one.tool, one.action, one.executed, one.success]), [
    ["filesystem.write_file", "approval_request", false, true],
    ["filesystem.write_file_approved", "execute_approved", true, true],
    ["filesystem.apply_patch", "approval_request", false, true],
    ["filesystem.apply_patch_approved", "execute_approved", true, true],
    ["shell.run", "approval_request", false, true],
    ["shell.run_approved", "execute_approved", true, true],
    ["shell.run", "failure", false, false],
  ]);
  assert.equal(events[0].trace_id, events[1].trace_id);
  assert.equal(events[4].trace_id, events[5].trace_id);
  assert.deepEqual(Object.keys(events[5]), [
    ...["trace_id", "timestamp", "tool", "action", "risk", "approval_status", "request_id"],
    ...["executed", "success", "duration_ms", "returncode", "arguments", "cwd", "stdout_chars"],
    ...["stderr_chars", "extra"],
  ]);
  assert.match(events[0].timestamp, /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(?:\.\d{6})?\+00:00$/);
  assert.deepEqual(events[0].arguments, {
    path: "a",
    content_chars: 16,
    expected_hash: null,
    create_parents: false,
  });
  const { scope, identity_scope: identity } = events[4].extra.command_policy.approval_executable;
  assert.deepEqual([scope, identity], ["external", "primary_executable_only"]);
});

Deno.test("an executable of the workspace is told by its relative path", async () => {
  await using lab = await Lab.create();
  await using tools = await lab.hub();
  Deno.chmodSync(lab.write("bin/tool", "#!/bin/sh\n"), 0o755);
  await tools.call("shell.run", { program: "./bin/tool" });
  const policy = lab.audit()[0].extra.command_policy;
  assert.equal(policy.approval_executable.workspace_path, "bin/tool");
  assert.equal(policy.executable.scope, "workspace");
  await tools.call("shell.run", { program: `${lab.workspace}/bin/tool` });
  assert.deepEqual(lab.audit().map((event) => event.arguments.program), ["./bin/tool", "bin/tool"]);
});

Deno.test("the newest events come oldest first, at most a hundred, damaged lines passed over", async () => {
  await using lab = await Lab.create();
  await using tools = await lab.hub();
  assert.deepEqual(await tools.call("toolhub.audit_recent"), { count: 0, events: [] });
  const lines = Array.from({ length: 120 }, (_, n) => JSON.stringify({ n, pad: "ä".repeat(200) }));
  Deno.writeTextFileSync(`${lab.state}/audit.jsonl`, lines.join("\n") + "\n");
  const numbers = async (limit: unknown) =>
    (await tools.call("toolhub.audit_recent", { limit })).events.map(({ n }: { n: number }) => n);
  assert.deepEqual(await numbers(5), [115, 116, 117, 118, 119]);
  assert.equal((await numbers(1_000)).length, 100);
  assert.equal((await numbers(-4)).length, 1);
  Deno.writeTextFileSync(`${lab.state}/audit.jsonl`, "[1]\n\nnot json\n\xff\n", { append: true });
  assert.deepEqual(await numbers(4), [119]);
});

Deno.test("a log that cannot be written changes no answer and is told on standard error", async () => {
  await using lab = await Lab.create();
  await using server = await lab.server();
  await server.initialize();
  await Deno.mkdir(`${lab.state}/audit.jsonl`);
  const asked = await server.payload("filesystem.write_file", { path: "a", content: "x" });
  assert.equal(asked.approval_status, "PENDING");
  await server.closeInput();
  await server.ended();
  assert.match(server.stderr, /^mcp-toolhub: an audit event was not recorded/m);
});

Deno.test("every line is in the hash-chained ledger, decisions too, and a changed one shows", async () => {
  await using lab = await Lab.create();
  {
    await using tools = await lab.hub();
    for (let i = 0; i < 3; i++) {
      const { request_id: id } = await tools.call("filesystem.write_file", {
        path: `f${i}`,
        content: "x",
      });
      if (i === 0) await lab.approve(id);
      if (i === 1) assert.equal((await lab.admin(["reject", id])).code, 0);
      await tools.call("filesystem.write_file_approved", { request_id: id });
    }
  }
  const path = `${lab.state}/audit-ledger.jsonl`;
  const events = lab.audit();
  const decisions = events.filter(({ tool }) => tool === "mcp-toolhub-admin");
  assert.deepEqual(decisions.map(({ action }) => action), ["approve", "reject"]);
  assert.deepEqual(decisions[0].extra, { channel: "pipe" });
  const report = await verifyLedger(path);
  assert(report.ok);
  assert.equal(report.chained, events.length);
  const hashes = Deno.readTextFileSync(path).trimEnd().split("\n").map((line) =>
    JSON.parse(line).event_sha256
  );
  const lines = Deno.readTextFileSync(`${lab.state}/audit.jsonl`).trimEnd().split("\n");
  for (const line of lines) {
    const bytes = new TextEncoder().encode(line) as BufferSource;
    const hash = new Uint8Array(await crypto.subtle.digest("SHA-256", bytes)).toHex();
    assert(hashes.includes(hash));
  }
  const text = Deno.readTextFileSync(path);
  Deno.writeTextFileSync(path, text.replace("approval_request", "approval_Request"));
  assert.equal((await verifyLedger(path)).ok, false);
});
