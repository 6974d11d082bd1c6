import assert from "node:assert/strict";
import type { InteractiveIo } from "../../cli/approvals.ts";
import { run } from "../../cli/restore.ts";
import { GatewayLab } from "../gateway/harness.ts";
import { fullRepository, Lab } from "./lab.ts";

/** Runs the command with given lines of input; gives what it wrote. */
async function command(
  runDir: string,
  args: string[],
  input: string[] = [],
): Promise<{ code: number; out: string; err: string }> {
  let out = "", err = "";
  const io: InteractiveIo = {
    stdout: (text) => void (out += text),
    stderr: (text) => void (err += text),
    env: (name) => (name === "FLUXGIT_RUN_DIR" ? runDir : undefined),
    interactive: false,
    readLine: () => Promise.resolve(input.shift() ?? null),
  };
  return { code: await run(args, io), out, err };
}

Deno.test("restore list and show read the store without a gateway", async () => {
  await using lab = await Lab.create();
  const path = await fullRepository(lab);
  const args = ["--repo", path];
  const none = await command(lab.runDir, ["list", ...args]);
  assert.deepEqual([none.code, none.out], [0, ""]);
  assert.match(none.err, /no restore points of/);
  const point = await lab.point(path, { operation: "discard", agentId: "evil\u001b[2Jagent" });
  await lab.finish(path, point);
  const list = await command(lab.runDir, ["list", ...args]);
  assert.equal(list.code, 0);
  assert.match(list.out, new RegExp(`^${point.id}  2026-.*Z  discard +undo +main `));
  const inside = await command(lab.runDir, ["list", "--repo", `${path}/dir`]);
  assert.equal(inside.out, list.out);
  const show = await command(lab.runDir, ["show", point.id, ...args]);
  assert.equal(show.code, 0);
  assert.match(show.out, /2 ignored files and folders: build\/, x\.log/);
  assert.match(show.out, /says it is evil\\u\{1b\}\[2Jagent \(self-declared/);
  assert.match(show.out, /restore undo/);
  const json = JSON.parse((await command(lab.runDir, ["list", "--json", ...args])).out);
  assert.deepEqual(json.points.map((one: { id: string }) => one.id), [point.id]);
});

Deno.test("wrong use is told apart from what cannot be done", async () => {
  await using lab = await Lab.create();
  const path = await fullRepository(lab);
  for (
    const args of [
      ["forget"],
      ["show"],
      ["show", "../x"],
      ["apply"],
      ["undo", "0mubbs8a0-08t1cx5i"],
      ["list", "--repo"],
      ["undo", "--json"],
      ["list", "--code-stdin"],
    ]
  ) {
    const { code, out, err } = await command(lab.runDir, args);
    assert.deepEqual([code, out], [2, ""], args.join(" "));
    assert.match(err, /^fluxgit-sidecar: .*\nUsage: /);
  }
  assert.equal((await command(lab.runDir, [])).code, 0);
  const gone = await command(lab.runDir, ["show", "0mubbs8a0-08t1cx5i", "--repo", path]);
  assert.equal(gone.code, 1);
  assert.match(gone.err, /there is no restore point/);
  const nowhere = await command(lab.runDir, ["list", "--repo", `${lab.box.root}/nothing`]);
  assert.equal(nowhere.code, 1);
  const noGateway = await command(lab.runDir, ["undo", "--repo", path, "--code-stdin"], ["x"]);
  assert.equal(noGateway.code, 1);
  assert.match(noGateway.err, /no gateway runs/);
});

Deno.test("undo, redo, apply and a deleted branch's tip go through the gateway, with its code", async () => {
  await using lab = await GatewayLab.create();
  const { box, runDir, gateway } = lab;
  const path = await box.repo();
  const start = await box.commit(path, "Base", { f: "f\n" });
  await box.git(path, "branch", "merged");
  const end = await box.commit(path, "Second", { f: "g\n" });
  await lab.done(path, "reset", { targetRef: start, mode: "hard" });
  const head = async () => (await box.git(path, "rev-parse", "HEAD")).trim();
  assert.equal(await head(), start);
  const { code } = gateway.auth;
  const ask = (args: string[], given = code) =>
    command(runDir, [...args, "--repo", path, "--code-stdin"], [given]);
  const wrong = await ask(["undo"], "WRONGONE");
  assert.equal(wrong.code, 1);
  assert.equal(await head(), start);
  const undone = await ask(["undo"]);
  assert.equal(undone.code, 0, undone.err);
  assert.match(undone.err, /This will undo reset/);
  assert.match(undone.err, /ref refs\/heads\/main: [0-9a-f]{12} -> [0-9a-f]{12}/);
  assert.match(undone.out, /done and compared/);
  assert.equal(await head(), end);
  assert.equal((await ask(["redo"])).code, 0);
  assert.equal(await head(), start);
  const again = await ask(["redo"]);
  assert.equal(again.code, 1);
  assert.match(again.err, /nothing to redo/);
  const { points } = JSON.parse(
    (await command(runDir, ["list", "--json", "--repo", path])).out,
  );
  assert.equal((await ask(["apply", points[0].id])).code, 0);
  assert.equal(await head(), end);
  // The tip of a deleted branch.
  await lab.done(path, "branchDelete", { targets: [{ repoPath: path, branches: ["merged"] }] });
  assert.equal((await box.tryGit(path, ["rev-parse", "-q", "--verify", "merged"])).code, 1);
  const listed = JSON.parse((await command(runDir, ["list", "--json", "--repo", path])).out);
  const [tip] = listed.branchTips;
  assert.equal(tip.ref, "refs/heads/merged");
  const made = await ask(["apply", tip.id]);
  assert.equal(made.code, 0, made.err);
  assert.match(made.err, /ref refs\/heads\/merged: \(none\) -> /);
  assert.equal((await box.git(path, "rev-parse", "merged")).trim(), start);
});
