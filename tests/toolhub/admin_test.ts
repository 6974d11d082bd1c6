import assert from "node:assert/strict";
import { Lab } from "./lab.ts";

Deno.test("the list is empty at first, then shows every request, oldest first", async () => {
  await using lab = await Lab.create();
  const empty = await lab.admin(["list"]);
  assert.equal(empty.code, 0);
  assert.match(empty.stdout, /no approval requests/);
  await using tools = await lab.hub();
  const first = await tools.call("filesystem.write_file", { path: "a\u202e", content: "zq\n" });
  const second = await tools.call("shell.run", { program: "true" });
  const { stdout } = await lab.admin(["list"]);
  const records = stdout.split("\n\n");
  assert(records[0]!.startsWith(first.request_id + "\n"));
  assert(records[1]!.startsWith(second.request_id + "\n"));
  assert.match(records[0]!, /^ {2}status: {7}PENDING$/m);
  assert.match(records[0]!, /^ {2}mutation: {5}file_write path="a\\u202e"$/m);
  assert.match(records[0]!, /^ {2}content: {6}3 chars sha256=[0-9a-f]{64}$/m);
  assert.match(records[0]!, /^ {2}expected: {5}sha256=None$/m);
  assert.match(records[0]!, /^ {2}parents: {6}false$/m);
  assert.match(records[0]!, /^ {2}created_at: {3}\d{4}-.*\+00:00$/m);
  assert.match(records[0]!, /^ {2}decided_at: {3}-$/m);
  assert(!stdout.includes("zq"));
});

Deno.test("every argument stands apart and escaped before the word is asked for", async () => {
  await using lab = await Lab.create();
  await using tools = await lab.hub();
  lab.write("job.sh", "echo hi\n");
  const args = ["", " a b ", '"q"', "\\", "line\nbreak", "\x1b[2K\x07", "ü\u202e", "job.sh"];
  const { request_id: id } = await tools.call("shell.run", { program: "sh", args });
  const { code, stdout } = await lab.admin(["approve", id], "APPROVE\n");
  assert.equal(code, 0);
  // deno-lint-ignore no-control-regex
  assert(/^[\x0a\x20-\x7e]*$/.test(stdout), "nothing but plain ASCII reaches the terminal");
  const before = stdout.slice(0, stdout.indexOf("Type APPROVE"));
  assert(before.startsWith("Approval candidate:\n"));
  const shown = [
    '""',
    '" a b "',
    '"\\"q\\""',
    '"\\\\"',
    '"line\\nbreak"',
    '"\\u001b[2K\\u0007"',
    '"\\u00fc\\u202e"',
    '"job.sh"',
  ];
  for (const [at, text] of shown.entries()) {
    assert(before.includes(`\n  args[${at}]:              ${text}\n`), `args[${at}]`);
  }
  assert.match(before, /^ {2}cwd: {18}"\."$/m);
  assert.match(before, /^ {2}argument_count: {7}8$/m);
  assert.match(before, /^ {2}identity_scope: {7}primary executable only/m);
  assert.match(before, /^ {2}requested_program: {4}"sh"$/m);
  assert.match(before, /^ {2}resolved_executable: +"\/.+"$/m);
  assert.match(before, /^ {2}executable_sha256: +[0-9a-f]{64}$/m);
  assert.match(before, /^ {2}executable_size: +\d+ bytes$/m);
  assert.match(before, /^ {2}file of args\[7\]: +".*job\.sh" sha256=[0-9a-f]{64} 8 bytes$/m);
  assert(before.includes(`  workspace:    ${JSON.stringify(lab.workspace)}\n`));
  assert(stdout.includes(`Approved ${id}.\n`));
});

Deno.test("only exactly APPROVE approves", async () => {
  await using lab = await Lab.create();
  await using tools = await lab.hub();
  const { request_id: id } = await tools.call("shell.run", { program: "true" });
  for (const word of ["", "\n", "approve\n", " APPROVE\n", "APPROVE \n", "yes\n", "APPROVE!\n"]) {
    const { code, stderr } = await lab.admin(["approve", id], word);
    assert.equal(code, 1, JSON.stringify(word));
    assert.match(stderr, /^error: cancelled/);
    assert.equal(lab.stored()[id].status, "PENDING");
  }
  assert.equal((await lab.admin(["approve", id], "APPROVE\r\n")).code, 0);
  const again = await lab.admin(["approve", id], "APPROVE\n");
  assert.equal(again.code, 1);
  assert.match(again.stderr, /the request is APPROVED/);
  assert(!again.stdout.includes("Type APPROVE"));
  const reject = await lab.admin(["reject", id]);
  assert.deepEqual([reject.code, reject.stderr], [1, "error: the request is APPROVED\n"]);
  const unknown = await lab.admin(["approve", "req_none\x1b"], "APPROVE\n");
  assert.deepEqual(
    [unknown.code, unknown.stderr],
    [1, 'error: unknown approval request "req_none\\u001b"\n'],
  );
});

Deno.test("a program or script that changed, or a damaged snapshot, never reaches the prompt", async () => {
  await using lab = await Lab.create();
  await using tools = await lab.hub();
  const tool = lab.write("tool", "#!/bin/sh\n");
  Deno.chmodSync(tool, 0o755);
  lab.write("job.sh", "echo hi\n");
  const changed = await tools.call("shell.run", { program: "./tool" });
  const script = await tools.call("shell.run", { program: "sh", args: ["job.sh"] });
  const damaged = await tools.call("shell.run", { program: "true" });
  const missing = await tools.call("shell.run", { program: "true" });
  lab.write("tool", "#!/bin/sh\necho evil\n");
  lab.write("job.sh", "echo evil\n");
  const path = `${lab.state}/approvals.json`;
  const store = JSON.parse(Deno.readTextFileSync(path));
  store.requests[damaged.request_id].payload.executable_snapshot = { size: -1 };
  delete store.requests[missing.request_id].payload.executable_snapshot;
  Deno.writeTextFileSync(path, JSON.stringify(store));
  for (const { request_id: id } of [changed, script, damaged, missing]) {
    const { code, stdout, stderr } = await lab.admin(["approve", id], "APPROVE\n");
    assert.equal(code, 1);
    assert.match(stderr, /^error: Invalid executable snapshot/);
    assert(!stdout.includes("Type APPROVE"));
    assert.equal(lab.stored()[id].status, "PENDING");
  }
  const { stdout } = await lab.admin(["show", damaged.request_id]);
  assert.match(stdout, /executable_snapshot: {2}INVALID/);
});

Deno.test("show prints the whole text of a file request, escaped, and the outcome of a used one", async () => {
  await using lab = await Lab.create();
  await using tools = await lab.hub();
  const { request_id: id } = await tools.call("filesystem.write_file", {
    path: "a",
    content: "one\n\x1b]52;c;x\x07two\u200b\n",
  });
  const { stdout } = await lab.admin(["show", id]);
  assert(stdout.includes("  | one\n  | \\u001b]52;c;x\\u0007two\\u200b\n"), stdout);
  await lab.approve(id);
  await tools.call("filesystem.write_file_approved", { request_id: id });
  assert.match((await lab.admin(["show", id])).stdout, /outcome: +execute_approved, success=true/);
  const pruned = await lab.admin(["prune", "--older-than-days", "0", "--apply"]);
  assert.equal(pruned.stdout, "Removed 1 ended requests; 0 are kept.\n");
});
