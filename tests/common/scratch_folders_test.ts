import assert from "node:assert/strict";
import { ScratchFolders } from "../../common/writer/scratch_folders.ts";

async function runDir(): Promise<string> {
  return await Deno.realPath(await Deno.makeTempDir({ prefix: "fluxgit-test-" }));
}

Deno.test("a throw-away folder is private, below tmp of the run directory, and gone when removed", async () => {
  const dir = await runDir();
  const folders = new ScratchFolders(dir, 42);
  const made = folders.make();
  assert.match(made, /\/tmp\/42-[0-9a-f-]{36}$/);
  assert.equal(made.startsWith(dir), true);
  if (Deno.build.os !== "windows") assert.equal((await Deno.stat(made)).mode! & 0o777, 0o700);
  await Deno.writeTextFile(`${made}/x`, "1");
  folders.remove(made);
  await assert.rejects(Deno.stat(made), Deno.errors.NotFound);
  await Deno.remove(dir, { recursive: true });
});

Deno.test("only folders made here are removed, and each only once", async () => {
  const dir = await runDir();
  const folders = new ScratchFolders(dir, 1);
  const other = `${dir}/keep`;
  await Deno.mkdir(other);
  assert.throws(() => folders.remove(other), /was not made here/);
  const made = folders.make();
  folders.remove(made);
  assert.throws(() => folders.remove(made), /was not made here/);
  assert.equal((await Deno.stat(other)).isDirectory, true);
  await Deno.remove(dir, { recursive: true });
});

Deno.test("folders that a killed process left are swept after a day; anything else is left alone", async () => {
  const dir = await runDir();
  await Deno.mkdir(`${dir}/tmp`);
  const old = `${dir}/tmp/7-${crypto.randomUUID()}`,
    young = `${dir}/tmp/8-${crypto.randomUUID()}`,
    odd = `${dir}/tmp/notes`;
  for (const path of [old, young, odd]) await Deno.mkdir(path);
  const twoDaysAgo = Date.now() / 1_000 - 2 * 86_400;
  await Deno.utime(old, twoDaysAgo, twoDaysAgo);
  await Deno.utime(odd, twoDaysAgo, twoDaysAgo);
  new ScratchFolders(dir, 1).make();
  await assert.rejects(Deno.stat(old), Deno.errors.NotFound);
  assert.equal((await Deno.stat(young)).isDirectory, true);
  assert.equal((await Deno.stat(odd)).isDirectory, true);
  await Deno.remove(dir, { recursive: true });
});

Deno.test("a link in the place of tmp is refused before anything is written through it", {
  ignore: Deno.build.os === "windows",
}, async () => {
  const dir = await runDir();
  const elsewhere = await runDir();
  await Deno.symlink(elsewhere, `${dir}/tmp`);
  assert.throws(() => new ScratchFolders(dir, 1).make(), /is not a directory/);
  assert.deepEqual([...Deno.readDirSync(elsewhere)], []);
  await Deno.remove(dir, { recursive: true });
  await Deno.remove(elsewhere, { recursive: true });
});
