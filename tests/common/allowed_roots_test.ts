import assert from "node:assert/strict";
import {
  canonicalRepositoryPath,
  isAbsolutePath,
  isInside,
  type PathPlatform,
  readAllowedRoots,
} from "../../common/allowed_roots.ts";
import { CodedError } from "../../common/errors.ts";

/** Windows with two drives; `C:\code\link` leads to `D:\secret`, and `C:\PROGRA~1` is a short name. */
const WINDOWS: PathPlatform = {
  windows: true,
  realPath(path) {
    const key = path.replaceAll("/", "\\").replace(/\\+$/, "").replace(/[. ]+$/, "").toLowerCase()
      .replace(/^\\\\\?\\/, "");
    const known: Record<string, string> = {
      "c:": "C:\\",
      "c:\\code": "C:\\code",
      "c:\\code\\shop": "C:\\code\\shop",
      "c:\\code2": "C:\\code2",
      "c:\\code\\link": "D:\\secret",
      "c:\\progra~1": "C:\\Program Files",
      "c:\\program files": "C:\\Program Files",
      "d:\\secret": "D:\\secret",
      "f:\\x": "F:\\x",
      "\\\\host\\share\\repo": "\\\\host\\share\\repo",
    };
    if (known[key] === undefined) throw new Deno.errors.NotFound(path);
    return known[key];
  },
};

/** Unix where `/code/link` leads to `/secret`. */
const UNIX: PathPlatform = {
  windows: false,
  realPath(path) {
    const parts: string[] = [];
    for (const part of path.split("/")) {
      if (part === "..") parts.pop();
      else if (part !== "" && part !== ".") parts.push(part);
    }
    const plain = ("/" + parts.join("/")).replace(/^\/code\/link(?=\/|$)/, "/secret");
    if (!["/", "/code", "/code/shop", "/code2", "/secret"].includes(plain)) {
      throw new Deno.errors.NotFound(path);
    }
    return plain;
  },
};

async function outcome(path: string, roots: string | undefined, platform: PathPlatform) {
  try {
    return await canonicalRepositoryPath(
      path,
      readAllowedRoots(roots, platform),
      "arguments.repoPath",
      platform,
    );
  } catch (error) {
    assert(error instanceof CodedError);
    return error.code;
  }
}

Deno.test("a Windows root is the same in both cases and both slashes", async () => {
  for (const root of ["F:\\x", "f:\\x", "F:/x", "f:/x/"]) {
    for (const path of ["f:\\x", "F:\\X", "f:/x", "F:\\x\\"]) {
      assert.equal(await outcome(path, root, WINDOWS), "F:\\x", `${root} ${path}`);
    }
  }
});

Deno.test("Windows drive paths and UNC paths are absolute; relative, home, drive-relative and Unix paths are not", async () => {
  for (const path of ["C:\\code\\shop", "C:/code/shop", "c:/code\\shop"]) {
    assert.equal(await outcome(path, undefined, WINDOWS), "C:\\code\\shop", path);
  }
  assert.equal(
    await outcome("\\\\host\\share\\repo", undefined, WINDOWS),
    "\\\\host\\share\\repo",
  );
  for (
    const path of ["\\repo", "C:repo", "C:", "/c/code", "~", "~\\x", ".", "..\\x", "repo", "", " "]
  ) {
    assert.equal(await outcome(path, undefined, WINDOWS), -32602, JSON.stringify(path));
  }
});

Deno.test("Unix paths are absolute from the root only", async () => {
  assert.equal(await outcome("/code/shop/", undefined, UNIX), "/code/shop");
  for (const path of ["~", "~/x", ".", "../x", "code", "C:\\code", "C:/code", "", "  ", "/a\0b"]) {
    assert.equal(await outcome(path, undefined, UNIX), -32602, JSON.stringify(path));
  }
  assert.equal(isAbsolutePath("\\\\host\\share", false), false);
});

Deno.test("nothing gets out of a root: not by dots, links, other spellings, short names or a longer name", async () => {
  const windows = [
    "D:\\secret",
    "C:\\code\\..\\code2",
    "C:\\code\\link",
    "C:/code/link/",
    "C:\\code2",
    "\\\\?\\D:\\secret",
    "C:\\PROGRA~1",
    "D:\\secret.",
    "D:\\secret ",
    "\\\\host\\share\\repo",
    "C:\\",
  ];
  for (const path of windows) {
    assert.equal(await outcome(path, "C:\\code", WINDOWS), -32011, path);
  }
  for (const path of ["/secret", "/code/../secret", "/code/link", "/code2", "/", "/code/../none"]) {
    assert.equal(await outcome(path, "/code", UNIX), -32011, path);
  }
  assert.equal(await outcome("C:\\code\\shop", "C:\\code", WINDOWS), "C:\\code\\shop");
  assert.equal(await outcome("/code/./shop", "/code", UNIX), "/code/shop");
});

Deno.test("a missing path outside the roots gets the same refusal as an existing one", async () => {
  const ask = async (path: string) => {
    try {
      await canonicalRepositoryPath(path, readAllowedRoots("/code", UNIX), "at", UNIX);
    } catch (error) {
      assert(error instanceof CodedError);
      return [error.code, error.message, Object.keys(error.data ?? {})];
    }
    assert.fail();
  };
  assert.deepEqual(await ask("/secret"), await ask("/not-there"));
  assert.equal(await outcome("/code/not-there", "/code", UNIX), -32602);
});

Deno.test("a root may be a link, a drive or the whole disk", async () => {
  assert.equal(await outcome("/secret", "/code/link", UNIX), "/secret");
  assert.equal(await outcome("/code/shop", "/", UNIX), "/code/shop");
  assert.equal(await outcome("C:\\code\\shop", "C:\\", WINDOWS), "C:\\code\\shop");
  assert.equal(await outcome("D:\\secret", "C:\\", WINDOWS), -32011);
});

Deno.test("roots are listed as PATH is; one bad entry is an error that says which", () => {
  assert.deepEqual(readAllowedRoots("/code:/secret", UNIX)?.canonical, ["/code", "/secret"]);
  assert.deepEqual(readAllowedRoots("C:\\code;d:/secret", WINDOWS)?.canonical, [
    "C:\\code",
    "D:\\secret",
  ]);
  assert.equal(readAllowedRoots(undefined, UNIX), null);
  const bad: [string, PathPlatform, string | undefined][] = [
    ["", UNIX, undefined],
    ["  ", UNIX, undefined],
    ["/code:", UNIX, undefined],
    [":/code", UNIX, undefined],
    ["/code:rel", UNIX, "rel"],
    ["/code:/none", UNIX, "/none"],
    ["C:\\code;\\x", WINDOWS, "\\x"],
    ["C:\\code;E:\\none", WINDOWS, "E:\\none"],
  ];
  for (const [value, platform, root] of bad) {
    assert.throws(
      () => readAllowedRoots(value, platform),
      (error: unknown) =>
        error instanceof CodedError && error.code === -32010 && error.data?.["root"] === root &&
        error.data?.["environmentVariable"] === "FLUXGIT_MCP_ALLOWED_ROOTS",
      JSON.stringify(value),
    );
  }
});

Deno.test("containment is by whole components", () => {
  assert.equal(isInside("/a/b", ["/a/b"], false), true);
  assert.equal(isInside("/a/b/c", ["/a/b/"], false), true);
  assert.equal(isInside("/a/bc", ["/a/b"], false), false);
  assert.equal(isInside("/a", ["/a/b"], false), false);
  assert.equal(isInside("/A/b", ["/a"], false), false);
  assert.equal(isInside("C:\\A\\b", ["c:/a"], true), true);
  assert.equal(isInside("/x", [], false), false);
});
