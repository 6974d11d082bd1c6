import assert from "node:assert/strict";
import { pathComponents } from "../../toolhub/workspace/path.ts";
import { listDirectory } from "../../toolhub/workspace/list.ts";
import { Lab } from "./lab.ts";

const READ = "filesystem.read_file";
const LIST = "filesystem.list_directory";

async function sha256(bytes: Uint8Array): Promise<string> {
  return new Uint8Array(await crypto.subtle.digest("SHA-256", bytes as BufferSource)).toHex();
}

Deno.test("a file is read with size and hash of its bytes and LF line ends", async () => {
  await using lab = await Lab.create();
  await using tools = await lab.hub();
  const bytes = new TextEncoder().encode("\ufeffone\r\ntwo\rthree\n");
  lab.write("src/a.txt", bytes);
  assert.deepEqual(await tools.call(READ, { path: "./src//a.txt" }), {
    path: "src/a.txt",
    size: bytes.length,
    sha256: await sha256(bytes),
    content: "\ufeffone\ntwo\nthree\n",
  });
});

Deno.test("the limit of a file is exact, and what is no text is refused", async () => {
  await using lab = await Lab.create();
  await using tools = await lab.hub();
  lab.write("most", "x".repeat(262_144));
  lab.write("more", "x".repeat(262_145));
  lab.write("bytes", new Uint8Array([0x61, 0xff]));
  assert.equal((await tools.call(READ, { path: "most" })).size, 262_144);
  assert.match(await tools.error(READ, { path: "more" }), /too large.*262145.*262144/);
  assert.match(await tools.error(READ, { path: "bytes" }), /not valid UTF-8/);
  assert.match(await tools.error(READ, { path: "none" }), /^Error executing tool .*File not found/);
  assert.match(await tools.error(READ, { path: "most/below" }), /File not found/);
  assert.match(await tools.error(READ, { path: "." }), /Not a file/);
});

Deno.test("a path that is rooted anywhere, goes up, or holds NUL is refused by every tool", async () => {
  await using lab = await Lab.create();
  await using tools = await lab.hub();
  lab.write("in.txt", "x");
  const rooted = [
    ...["/etc/passwd", "//server/share", "C:\\x", "C:/x", "C:x", "C:", "\\\\server\\share", "\\x"],
    `${lab.workspace}/in.txt`,
  ];
  for (const path of rooted) {
    assert.match(await tools.error(READ, { path }), /escapes workspace/, path);
    assert.match(await tools.error(LIST, { path }), /escapes workspace/, path);
    assert.match(
      await tools.error("filesystem.write_file", { path, content: "" }),
      /Absolute/,
      path,
    );
    assert.match(await tools.error("git.diff", { path }), /Absolute|not a Git/, path);
  }
  for (const path of ["..", "../x", "a/../../x", "a/../in.txt", "a\\..\\x"]) {
    for (
      const [tool, more] of [[READ, {}], [LIST, {}], ["filesystem.write_file", { content: "" }]]
    ) {
      assert.match(
        await tools.error(tool as string, { path, ...(more as object) }),
        /escapes workspace/,
        path,
      );
    }
  }
  assert.match(await tools.error(READ, { path: "a\0b" }), /Malformed/);
  // Names of other systems are ordinary ones here.
  lab.write("~", "tilde");
  lab.write("NUL", "nul");
  assert.equal((await tools.call(READ, { path: "~" })).content, "tilde");
  assert.equal((await tools.call(READ, { path: "NUL" })).content, "nul");
});

Deno.test("on Windows device names, data streams and trailing dots are refused in every component", () => {
  for (
    const path of ["NUL", "a/con.txt", "com1 .log", "LPT9.", "aux", "a:stream", "dir/f.txt:s"]
      .concat("a./b", "x ", "COM¹")
  ) {
    assert.throws(
      () => pathComponents(path, "read", true),
      /device|stream|ends in a dot|escapes/,
      path,
    );
  }
  assert.deepEqual(pathComponents("console\\nul1.txt", "read", true), ["console", "nul1.txt"]);
});

Deno.test("links that stay inside are followed for reading, links that lead out are refused", async () => {
  await using lab = await Lab.create();
  await using tools = await lab.hub();
  lab.write("real/a.txt", "inside");
  Deno.symlinkSync("real", `${lab.workspace}/dir`);
  Deno.symlinkSync(`${lab.workspace}/real/a.txt`, `${lab.workspace}/file`);
  Deno.symlinkSync(lab.outside, `${lab.workspace}/out`);
  Deno.symlinkSync(`${lab.outside}/secret.txt`, `${lab.workspace}/leak`);
  Deno.symlinkSync(`${lab.outside}/none`, `${lab.workspace}/dangling`);
  Deno.symlinkSync("loop", `${lab.workspace}/loop`);
  // The control: the links do lead there.
  assert.equal(Deno.readTextFileSync(`${lab.workspace}/leak`), "SECRET\n");
  assert.equal((await tools.call(READ, { path: "dir/a.txt" })).path, "real/a.txt");
  assert.equal((await tools.call(READ, { path: "file" })).content, "inside");
  for (const path of ["leak", "out/secret.txt", "out/none", "out", "dangling", "loop"]) {
    const text = await tools.error(READ, { path });
    assert.match(text, /escapes workspace/, path);
    assert(!text.includes(lab.outside), text);
  }
  assert.match(await tools.error(LIST, { path: "out" }), /escapes workspace/);
  const listed = await tools.call(LIST, {});
  assert.deepEqual(
    listed.entries.map(({ name, kind, size }: { name: string; kind: string; size: unknown }) => [
      name,
      kind,
      size,
    ]),
    ["dangling", "dir", "file", "leak", "loop", "out"].map((name) => [name, "symlink", null])
      .concat([["real", "directory", null]]),
  );
});

Deno.test("pipes and devices are not opened, and files with further names only by setting", async () => {
  await using lab = await Lab.create();
  await using tools = await lab.hub();
  const made = await new Deno.Command("mkfifo", { args: [`${lab.workspace}/pipe`] }).output();
  assert.equal(made.code, 0);
  assert.match(await tools.error(READ, { path: "pipe" }), /Not a file/);
  Deno.linkSync(`${lab.outside}/secret.txt`, `${lab.workspace}/hard`);
  // The control: the content is the one outside.
  assert.equal(Deno.readTextFileSync(`${lab.workspace}/hard`), "SECRET\n");
  assert.match(await tools.error(READ, { path: "hard" }), /2 names \(hard links\)/);
  await using open = await lab.hub({ env: { TOOLHUB_ALLOW_HARD_LINKS: "1" } });
  assert.equal((await open.call(READ, { path: "hard" })).content, "SECRET\n");
});

Deno.test("listing sorts by lower-cased name, shows hidden names, and stops at its limit", async () => {
  await using lab = await Lab.create();
  await using tools = await lab.hub();
  for (const name of ["b", "A", ".h", "C"]) lab.write(name, "12");
  lab.write("sub/deep", "");
  const { path, entries } = await tools.call(LIST);
  assert.equal(path, ".");
  assert.deepEqual(entries.map((entry: { name: string }) => entry.name), [
    ".h",
    "A",
    "b",
    "C",
    "sub",
  ]);
  assert.deepEqual(entries[1], { name: "A", kind: "file", size: 2 });
  assert.deepEqual(entries[4], { name: "sub", kind: "directory", size: null });
  assert.equal((await listDirectory(lab.workspace, ".", { maxEntries: 5 })).entries.length, 5);
  await assert.rejects(listDirectory(lab.workspace, ".", { maxEntries: 4 }), /too many entries/);
  assert.match(await tools.error(LIST, { path: "none" }), /Directory not found/);
  assert.match(await tools.error(LIST, { path: "A" }), /Not a directory/);
});

Deno.test("a link slipped in between check and open is never read through", async () => {
  await using lab = await Lab.create();
  lab.write("dir/secret.txt", "inside");
  const dir = `${lab.workspace}/dir`, aside = `${lab.workspace}/aside`;
  let opened = 0;
  const swapFolder = () => {
    if (opened++ > 0) return;
    Deno.renameSync(dir, aside);
    Deno.symlinkSync(lab.outside, dir);
  };
  await using tools = await lab.hub({ hooks: { beforeOpen: swapFolder } });
  assert.match(await tools.error(READ, { path: "dir/secret.txt" }), /escapes workspace/);
  // The control: at that moment the path did lead to the secret.
  assert.equal(Deno.readTextFileSync(`${dir}/secret.txt`), "SECRET\n");
  Deno.removeSync(dir);
  Deno.renameSync(aside, dir);
  let files = 0;
  const swapFile = () => {
    if (files++ > 0) return;
    Deno.renameSync(`${dir}/secret.txt`, `${dir}/kept`);
    Deno.symlinkSync(`${lab.outside}/secret.txt`, `${dir}/secret.txt`);
  };
  await using other = await lab.hub({ hooks: { beforeOpen: swapFile } });
  assert.match(await other.error(READ, { path: "dir/secret.txt" }), /escapes workspace/);
});

Deno.test("a file swapped for a link only while it is opened is not read", async () => {
  await using lab = await Lab.create();
  const path = lab.write("dir/a.txt", "inside");
  let tries = 0, leaked = "";
  await using tools = await lab.hub({
    hooks: {
      beforeOpen() {
        if (tries++ > 0) return;
        Deno.renameSync(path, `${lab.workspace}/dir/kept`);
        Deno.symlinkSync(`${lab.outside}/secret.txt`, path);
      },
      afterOpen() {
        if (leaked !== "") return;
        leaked = Deno.readTextFileSync(path);
        Deno.removeSync(path);
        Deno.renameSync(`${lab.workspace}/dir/kept`, path);
      },
    },
  });
  assert.equal((await tools.call(READ, { path: "dir/a.txt" })).content, "inside");
  // The control: what was opened at first was the secret.
  assert.equal(leaked, "SECRET\n");
  assert.equal(tries, 2);
});

Deno.test("a file swapped for a pipe does not hold up the program", async () => {
  await using lab = await Lab.create();
  const path = lab.write("a.txt", "inside");
  let tries = 0;
  const swap = () => {
    if (tries++ > 0) return;
    Deno.removeSync(path);
    assert(new Deno.Command("mkfifo", { args: [path] }).outputSync().success);
  };
  await using tools = await lab.hub({ hooks: { beforeOpen: swap } });
  assert.match(await tools.error(READ, { path: "a.txt" }), /Not a file/);
});

Deno.test("a folder swapped while it is listed gives no list of what lies outside", async () => {
  await using lab = await Lab.create();
  lab.write("dir/a", "");
  let swaps = 0;
  const swap = () => {
    if (swaps++ > 0) return;
    Deno.renameSync(`${lab.workspace}/dir`, `${lab.workspace}/aside`);
    Deno.symlinkSync(lab.outside, `${lab.workspace}/dir`);
  };
  await using tools = await lab.hub({ hooks: { beforeOpen: swap } });
  assert.match(await tools.error(LIST, { path: "dir" }), /escapes workspace/);
});

Deno.test("a swap that is undone before the second look is noticed, too", async () => {
  await using lab = await Lab.create();
  lab.write("top/dir/secret.txt", "inside");
  const dir = `${lab.workspace}/top/dir`, aside = `${lab.workspace}/aside`;
  let swaps = 0;
  let leaked = "";
  const swapAndBack = () => {
    if (swaps++ > 0) return;
    Deno.renameSync(dir, aside);
    Deno.symlinkSync(lab.outside, dir);
    leaked = Deno.readTextFileSync(`${dir}/secret.txt`);
    Deno.removeSync(dir);
    Deno.renameSync(aside, dir);
  };
  await using tools = await lab.hub({ hooks: { beforeOpen: swapAndBack } });
  assert.equal((await tools.call(READ, { path: "top/dir/secret.txt" })).content, "inside");
  assert.equal(leaked, "SECRET\n");
  assert(swaps > 1, "the first try was thrown away");
});

Deno.test("a folder that another process swaps all the time never leaks what lies outside", async () => {
  await using lab = await Lab.create();
  lab.write("dir/secret.txt", "inside");
  const script = `${lab.root}/flip.ts`;
  Deno.writeTextFileSync(
    script,
    `const [dir, outside] = Deno.args;
     for (;;) {
       Deno.renameSync(dir, dir + ".aside"); Deno.symlinkSync(outside, dir);
       for (let i = 0; i < 2000; i++);
       Deno.removeSync(dir); Deno.renameSync(dir + ".aside", dir);
     }`,
  );
  const flipper = new Deno.Command(Deno.execPath(), {
    args: ["run", "-q", "-A", "--no-config", script, `${lab.workspace}/dir`, lab.outside],
    stdout: "null",
    stderr: "null",
  }).spawn();
  try {
    await using tools = await lab.hub();
    // The control: reading by name alone leaks.
    let leaks = 0;
    const end = performance.now() + 20_000;
    while (leaks === 0 && performance.now() < end) {
      try {
        if (Deno.readTextFileSync(`${lab.workspace}/dir/secret.txt`) === "SECRET\n") leaks++;
      } catch { /* between two renames */ }
    }
    assert.equal(leaks, 1, "the swapping was seen");
    for (let i = 0; i < 500; i++) {
      const text = await tools.call(READ, { path: "dir/secret.txt" }).then(
        (payload) => payload.content,
        () => "refused",
      );
      assert.notEqual(text, "SECRET\n");
    }
  } finally {
    flipper.kill("SIGKILL");
    await flipper.status;
  }
});
