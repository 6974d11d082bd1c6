import assert from "node:assert/strict";
import { permissionFlags, readPermissionSet } from "../../scripts/lib/profile.ts";
import { Lab, program } from "./lab.ts";

/** What a script may do under the permissions of one of the programs. */
async function allowed(set: "toolhub" | "toolhub-admin"): Promise<Record<string, string>> {
  const script = await Deno.makeTempFile({ suffix: ".ts" });
  await Deno.writeTextFile(
    script,
    `const outcome = {};
     const trying = async (name, work) => {
       try { await work(); outcome[name] = "yes"; } catch (error) { outcome[name] = error.name; }
     };
     await trying("run", () => new Deno.Command("true").output());
     await trying("listen", () => Deno.listen({ port: 0, hostname: "127.0.0.1" }).close());
     await trying("connect", () => Deno.connect({ port: 9, hostname: "127.0.0.1" }));
     await trying("resolve", () => Deno.resolveDns("example.org", "A"));
     await trying("env", () => Deno.env.get("SOME_SECRET"));
     await trying("ffi", () => Deno.dlopen("libc.so.6", {}));
     await trying("import", () => import("https://deno.land/x/none.ts"));
     console.log(JSON.stringify(outcome));`,
  );
  try {
    const flags = permissionFlags(await readPermissionSet(set));
    const out = await new Deno.Command(Deno.execPath(), {
      args: ["run", "-q", "--no-config", "--no-remote", "--no-prompt", ...flags, script],
    }).output();
    return JSON.parse(new TextDecoder().decode(out.stdout));
  } finally {
    await Deno.remove(script);
  }
}

Deno.test("the server may run programs but reach no network; the administrator's program neither", async () => {
  const none = { listen: "NotCapable", connect: "NotCapable", resolve: "NotCapable" };
  const server = await allowed("toolhub");
  const admin = await allowed("toolhub-admin");
  for (const outcome of [server, admin]) {
    const { listen, connect, resolve, env, ffi } = outcome;
    assert.deepEqual({ listen, connect, resolve }, none);
    assert.deepEqual([env, ffi], ["NotCapable", "NotCapable"]);
    assert.notEqual(outcome["import"], "yes");
  }
  assert.equal(server["run"], "yes");
  assert.equal(admin["run"], "NotCapable");
});

for (const mask of ["000", "077", "777"]) {
  Deno.test(`files of the state are private under the mask ${mask}`, async () => {
    await using lab = await Lab.create();
    const { command, args } = await program("mcp-toolhub-admin");
    const line = [command, ...args, "list"].map((word) => `'${word}'`).join(" ");
    const out = await new Deno.Command("/bin/sh", {
      args: ["-c", `umask ${mask}; exec ${line}`],
      clearEnv: true,
      env: lab.env(),
    }).output();
    assert.equal(out.code, 0, new TextDecoder().decode(out.stderr));
    await using tools = await lab.hub();
    await tools.call("filesystem.write_file", { path: "a", content: "" });
    assert.equal(Deno.statSync(lab.state).mode! & 0o777, 0o700);
    for (const { name } of Deno.readDirSync(lab.state)) {
      assert.equal(Deno.statSync(`${lab.state}/${name}`).mode! & 0o777, 0o600, name);
    }
  });
}
