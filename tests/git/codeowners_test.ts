import fc from "fast-check";
import assert from "node:assert/strict";
import {
  compilePattern,
  matchFolderRule,
  matchRule,
  parseCodeowners,
} from "../../git/codeowners.ts";

/** Owners of a path under the lines of a CODEOWNERS file; null when no rule matches. */
function ownersOf(lines: string, path: string): readonly string[] | null {
  const { rules } = parseCodeowners(lines)!;
  return rules[matchRule(rules, path.split("/"))]?.owners ?? null;
}

function matches(pattern: string, path: string): boolean {
  const match = compilePattern(pattern);
  assert(match, pattern);
  return match(path.split("/"));
}

Deno.test("a pattern matches what GitHub's documentation says it matches", () => {
  const table: [pattern: string, yes: string[], no: string[]][] = [
    ["*", ["a", "a/b", "a/b/c.js"], []],
    ["*.js", ["a.js", "x/y/a.js", "lib.js/inner.txt"], ["a.jsx", "js", "a.js.map"]],
    ["/build/logs/", ["build/logs/x", "build/logs/a/b"], ["build/logs", "x/build/logs/y"]],
    [
      "docs/*",
      ["docs/getting-started.md"],
      ["docs/build-app/troubleshooting.md", "x/docs/a.md", "docs"],
    ],
    ["apps/", ["apps/a", "deep/apps/b/c"], ["apps", "my-apps/a"]],
    ["/docs/", ["docs/a", "docs/b/c"], ["docs", "x/docs/a"]],
    ["/scripts/", ["scripts/run"], ["my/scripts/run"]],
    ["**/logs", ["logs", "logs/a", "build/logs/b", "deeply/nested/logs/c/d"], ["logs2", "xlogs/a"]],
    ["/apps/github", ["apps/github", "apps/github/x"], ["apps/github2", "x/apps/github"]],
    ["config/", ["config/a", "x/y/config/b"], ["config", "reconfig/a"]],
    ["/foo/bar", ["foo/bar", "foo/bar/baz/qux"], ["foo/barn", "foo", "x/foo/bar"]],
    ["foo/bar", ["foo/bar", "foo/bar/x"], ["x/foo/bar"]],
    ["/backend/", ["backend/a"], ["api-backend/a", "api/backend/a"]],
    ["backend/", ["backend/a", "api/backend/a"], ["api-backend/a"]],
    ["/*", ["README"], ["docs/README"]],
    ["/**", ["README", "docs/README"], []],
    ["**", ["README", "docs/README"], []],
    ["/", [], ["a", "a/b"]],
    ["a/**/b", ["a/b", "a/x/b", "a/x/y/b/z"], ["a/xb", "x/a/b"]],
    ["a/**", ["a/b", "a/b/c"], ["a", "x/a/b"]],
    ["**/*.go", ["a.go", "x/a.go"], ["a.c"]],
    ["/src/**/test/*", ["src/test/a", "src/x/y/test/a"], ["src/test/a/b", "src/x/test"]],
    ["file?.txt", ["file1.txt", "d/fileX.txt"], ["file.txt", "file12.txt"]],
    ["*a*b*c*", ["abc", "xaybzc", "d/aXbXc"], ["acb", "ab"]],
    ["*ab", ["ab", "aab", "abab"], ["aba"]],
    ["/app/[slug]/page.tsx", ["app/[slug]/page.tsx"], ["app/s/page.tsx"]],
    ["/a\\*b", ["a*b"], ["axb"]],
  ];
  for (const [pattern, yes, no] of table) {
    for (const path of yes) assert.equal(matches(pattern, path), true, `${pattern} ~ ${path}`);
    for (const path of no) assert.equal(matches(pattern, path), false, `${pattern} !~ ${path}`);
  }
});

Deno.test("the last matching line wins, and a line without owners takes them away", () => {
  const lines = `
# a comment
*            @everyone
/apps/       @octocat   # said for all of them
/apps/github
*.md         docs@example.org @org/writers`;
  assert.deepEqual(ownersOf(lines, "x"), ["@everyone"]);
  assert.deepEqual(ownersOf(lines, "apps/web/a.ts"), ["@octocat"]);
  assert.deepEqual(ownersOf(lines, "apps/github/a.ts"), []);
  assert.deepEqual(ownersOf(lines, "apps/github/a.md"), ["docs@example.org", "@org/writers"]);
  assert.equal(ownersOf("/a @x", "b"), null);
});

Deno.test("escaped spaces, comments behind owners, line ends and a byte order mark are read as GitHub reads them", () => {
  const { rules, skippedLines } = parseCodeowners(
    "\uFEFF/AI\\ Fair/ @x\r\n  /b @y#note\r\n/c#d @z\r\n",
  )!;
  assert.equal(skippedLines, 0);
  assert.deepEqual(rules.map(({ pattern, owners }) => [pattern, owners]), [
    ["/AI Fair/", ["@x"]],
    ["/b", ["@y"]],
    ["/c#d", ["@z"]],
  ]);
  assert.equal(matchRule(rules, ["AI Fair", "a.txt"]), 0);
  assert.equal(matchRule(rules, ["AI", "Fair", "a.txt"]), -1);
});

Deno.test("lines that GitHub does not allow are skipped and counted", () => {
  const { rules, skippedLines } = parseCodeowners(
    ["!/a @x", "\\#b @x", "/c someone", "/d @x @", "/e*** @x", "/f @x"].join("\n"),
  )!;
  assert.deepEqual(rules.map((rule) => rule.pattern), ["/f"]);
  assert.equal(skippedLines, 5);
});

Deno.test("the rule of a folder is one that holds for everything in it", () => {
  const { rules } = parseCodeowners(
    ["* @all", "/docs/ @docs", "/docs/* @flat", "*.md @md", "/docs/api @api"].join("\n"),
  )!;
  const owners = (...folder: string[]) => rules[matchFolderRule(rules, folder)]?.owners;
  assert.deepEqual(owners("docs"), ["@docs"]);
  assert.deepEqual(owners("docs", "api"), ["@api"]);
  assert.deepEqual(owners("docs", "api", "deep"), ["@api"]);
  assert.deepEqual(owners("src"), ["@all"]);
  assert.deepEqual(owners(), ["@all"]);
});

/** The same rules written as a regular expression, for short inputs: a second opinion. */
function asRegExp(pattern: string): RegExp {
  const rooted = pattern.startsWith("/");
  let body = rooted ? pattern.slice(1) : pattern;
  const below = /(?:^|\/)(?:\*\*)?$/.test(body) && body !== "";
  const flat = /(?:^|\/)\*$/.test(body) && !body.endsWith("**");
  if (below) body = body.replace(/\/?(?:\*\*)?$/, "");
  const anywhere = !rooted && !body.includes("/") &&
    !(below && pattern.includes("/") && pattern.indexOf("/") < pattern.length - 1);
  const parts = body.split("/").map((part) =>
    part === "**"
      ? "**"
      : part.replace(/[.[\]]/g, "\\$&").replaceAll("*", "[^/]*").replaceAll("?", "[^/]")
  );
  let source = anywhere && body !== "**" ? "(?:.*/)?" : "";
  parts.forEach((part, i) => {
    const last = i === parts.length - 1;
    if (part === "**") source += last ? ".*" : "(?:.*/)?";
    else source += part + (last ? "" : "/");
  });
  source += below ? "/.+" : flat ? "" : "(?:/.*)?";
  return new RegExp(`^${source}$`, "s");
}

Deno.test("the matcher agrees with a plain regular expression on many small patterns and paths", () => {
  const part = fc.constantFrom(
    "a",
    "b",
    "ab",
    "a*",
    "*b",
    "*a*",
    "?",
    "a?b",
    "*",
    "**",
    "*.c",
    "x.c",
  );
  const pattern = fc.record({
    root: fc.boolean(),
    parts: fc.array(part, { minLength: 1, maxLength: 4 }),
    slash: fc.boolean(),
  }).filter(({ parts }) => parts.at(-1) !== "**" && !(parts.length === 1 && parts[0] === "**"))
    .map(({ root, parts, slash }) => (root ? "/" : "") + parts.join("/") + (slash ? "/" : ""));
  const path = fc.array(fc.constantFrom("a", "b", "ab", "aab", "ba", "x.c", "axb"), {
    minLength: 1,
    maxLength: 5,
  }).map((parts) => parts.join("/"));
  let hits = 0;
  fc.assert(
    fc.property(pattern, path, (pattern, path) => {
      const expected = asRegExp(pattern).test(path);
      assert.equal(matches(pattern, path), expected, `${pattern} ~ ${path} (${asRegExp(pattern)})`);
      if (expected) hits++;
    }),
    { seed: 7, numRuns: 20_000 },
  );
  assert(hits > 1_000, `only ${hits} of the pairs matched`);
});

Deno.test("hostile patterns take time in step with their length", () => {
  const deep = Array.from({ length: 2_000 }, () => "a").join("/");
  const wide = "a".repeat(100_000);
  const patterns = [
    "**/*a*a*a*a*a*a*b",
    "*" + "a*".repeat(500) + "b",
    "/" + "**/a/".repeat(500) + "b",
    "*" + "a".repeat(2_000) + "?" + "a".repeat(2_000) + "b*",
    "*" + "a".repeat(4_000) + "b*",
    "?".repeat(4_000),
  ];
  // A backtracking matcher would not come back from the first pair.
  for (const pattern of patterns) {
    for (const path of [deep, wide]) assert.equal(matches(pattern, path), false);
  }
});

Deno.test("a file with more rules than are read is refused as a whole", () => {
  assert.equal(parseCodeowners("a @x\n".repeat(50_001)), null);
  assert.equal(parseCodeowners("a @x\n".repeat(50_000))!.rules.length, 50_000);
});
