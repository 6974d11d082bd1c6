import assert from "node:assert/strict";
import { permissionFlags, readPermissionSet } from "../../scripts/lib/profile.ts";

Deno.test("a permission set becomes the flags that mean the same", () => {
  assert.deepEqual(
    permissionFlags({ read: true, write: false, run: ["git"], env: ["HOME", "ProgramFiles(x86)"] }),
    ["--allow-read", "--allow-run=git", "--allow-env=HOME,ProgramFiles(x86)"],
  );
  assert.deepEqual(permissionFlags({ net: [] }), []);
});

Deno.test("an unknown kind and a name that would split in two are refused", () => {
  assert.throws(() => permissionFlags({ reed: true }), /reed/);
  assert.throws(() => permissionFlags({ env: ["A,B"] }), /A,B/);
});

Deno.test("the strict set runs git alone and reaches this machine alone", async () => {
  const strict = await readPermissionSet("strict");
  assert.deepEqual(strict["run"], ["git"]);
  assert.deepEqual(strict["net"], ["127.0.0.1"]);
  assert(Array.isArray(strict["env"]) && !strict["env"].some((name) => /^(?:LD_|GIT_)/.test(name)));
  assert.equal("ffi" in strict || "sys" in strict || "import" in strict, false);
});

Deno.test("the presence set differs from the strict one only in what it may run", async () => {
  const [strict, presence] = await Promise.all(["strict", "presence"].map(readPermissionSet));
  assert.deepEqual({ ...presence, run: [] }, { ...strict, run: [] });
  assert.deepEqual(presence!["run"], ["git", "ps", "lsof", "ls"]);
});
