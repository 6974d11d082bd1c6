import assert from "node:assert/strict";
import { ROOT } from "../../scripts/lib/deno.ts";
import { Lab } from "./lab.ts";

/** Runs a resuming tool in a process that stops for ever between consuming and executing. */
async function killedInBetween(lab: Lab, tool: string, id: string): Promise<void> {
  const child = new Deno.Command(Deno.execPath(), {
    args: [
      ...["run", "-q", "-A", "--config", `${ROOT}/deno.json`],
      ...[`${ROOT}/tests/toolhub/stopped_execution.ts`, tool, id],
    ],
    env: lab.env(),
    stdout: "piped",
    stderr: "inherit",
  }).spawn();
  const reader = child.stdout.getReader();
  const { value } = await reader.read();
  assert.equal(new TextDecoder().decode(value), "consumed\n");
  child.kill("SIGKILL");
  await child.status;
  await reader.cancel();
}

Deno.test("a server killed between consuming and executing has done nothing, says so, and never does it", async () => {
  await using lab = await Lab.create();
  await using server = await lab.server();
  await server.initialize();
  const write = await server.payload("filesystem.write_file", { path: "a", content: "x" });
  const shell = await server.payload("shell.run", { program: "touch", args: ["mark"] });
  for (
    const [id, tool] of [
      [write.request_id, "filesystem.write_file_approved"],
      [shell.request_id, "shell.run_approved"],
    ]
  ) {
    await lab.approve(id);
    await killedInBetween(lab, tool, id);
    assert.equal(lab.stored()[id].status, "CONSUMED");
    for (let again = 0; again < 2; again++) {
      const answer = await server.payload(tool, { request_id: id });
      assert.equal(answer.executed, false);
      assert.equal(answer.approval_status, "CONSUMED");
      assert.match(answer.message, /No outcome is among the recent audit events/);
    }
    assert.match((await lab.admin(["show", id])).stdout, /outcome: +none among/);
  }
  assert.deepEqual([...Deno.readDirSync(lab.workspace)], []);
});

Deno.test("a server killed while a write is going on leaves the old file or the new one", async () => {
  await using lab = await Lab.create();
  lab.write("a", "old");
  const content = "new".repeat(80_000);
  for (let round = 0; round < 3; round++) {
    const server = await lab.server();
    await server.initialize();
    const { request_id: id } = await server.payload("filesystem.write_file", {
      path: "a",
      content,
    });
    await lab.approve(id);
    server.request("tools/call", {
      name: "filesystem.write_file_approved",
      arguments: { request_id: id },
    }).catch(() => {});
    await new Promise((resolve) => setTimeout(resolve, round * 3));
    server.child.kill("SIGKILL");
    await server.ended();
    const text = Deno.readTextFileSync(`${lab.workspace}/a`);
    assert(text === "old" || text === content);
    // The store and the log are whole, and the next server goes on.
    await using next = await lab.server();
    await next.initialize();
    const { status } = lab.stored()[id];
    const answer = await next.payload("filesystem.write_file_approved", { request_id: id });
    assert.equal(answer.executed, status === "APPROVED");
    lab.write("a", "old");
  }
});
