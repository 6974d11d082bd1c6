import assert from "node:assert/strict";
import { isReflogLine, parseReflogLine, reflogKind, reflogSource } from "../../git/reflog.ts";

const A = "a".repeat(40), B = "b".repeat(40), ZERO = "0".repeat(40);
const bytes = (text: string) => new TextEncoder().encode(text);
const parse = (text: string) => parseReflogLine(bytes(text));

Deno.test("a reflog line gives both ids, identity, time, zone and message", () => {
  assert.deepEqual(parse(`${A} ${B} A U Thor <a@b.c> 1790000000 +0200\tcommit: one\n`), {
    oldOid: A,
    newOid: B,
    identity: "A U Thor <a@b.c>",
    name: "A U Thor",
    email: "a@b.c",
    seconds: 1_790_000_000,
    secondsRaw: "1790000000",
    tz: "+0200",
    message: "commit: one",
  });
});

Deno.test("a reflog line keeps ids of 64 digits, an id of zeros is null, an empty name is empty", () => {
  const long = "c".repeat(64);
  const line = parse(`${"0".repeat(64)} ${long.toUpperCase()} <x@y> 5 -0000\tbranch: Created`);
  assert.equal(line?.oldOid, null);
  assert.equal(line?.newOid, long);
  assert.equal(line?.name, "");
  assert.equal(line?.email, "x@y");
});

Deno.test("a reflog line without a message, or with a number that is not safe, is kept with what is known", () => {
  const line = parse(`${A} ${B} N <m> 99999999999999999999 +0000\n`);
  assert.equal(line?.message, "");
  assert.equal(line?.seconds, null);
  assert.equal(line?.secondsRaw, "99999999999999999999");
  assert.equal(parse(`${A} ${B} N <m> -5 +0000\tx`)?.seconds, -5);
});

Deno.test("lines that git passes over are passed over", () => {
  for (
    const bad of [
      "",
      "\n",
      `${A} ${B}`,
      `${A} ${B} N <m 5 +0000\tx`,
      `${A} ${B} N <m> 0 +0000\tx`,
      `${A} ${B} N <m> x +0000\tx`,
      `${A} ${B} N <m> 5 0000\tx`,
      `${A} ${B} N <m> 5 +00\tx`,
      `${A}  ${B} N <m> 5 +0000\tx`,
      `${A.replace("a", "g")} ${B} N <m> 5 +0000\tx`,
      `${A} ${B}${B.slice(16)} N <m> 5 +0000\tx`,
    ]
  ) {
    assert.equal(parse(bad), null, JSON.stringify(bad));
    assert.equal(isReflogLine(bytes(bad)), false);
  }
});

Deno.test("bytes that are not UTF-8 neither break a reflog line nor its neighbours", () => {
  const line = bytes(`${ZERO} ${A} Ren? <r@x> 7 +0000\tcommit: caf?`);
  const odd = line.map((b) => b === 0x3f ? 0xe9 : b);
  assert.equal(parseReflogLine(odd)?.name, "Ren\uFFFD");
  assert.equal(parseReflogLine(odd)?.message, "commit: caf\uFFFD");
});

Deno.test("the kind of a movement is read off the beginning of its message", () => {
  const expected: Record<string, string> = {
    "commit: x": "commit",
    "commit (initial): x": "commit",
    "commit (amend): x": "amend",
    "commit (merge): x": "merge",
    "merge side: Fast-forward": "merge",
    "checkout: moving from a to b": "checkout",
    "switch: moving": "checkout",
    "pull --rebase": "pull",
    "reset: moving to HEAD~1": "reset",
    "rebase (finish): returning": "rebase",
    "cherry-pick: x": "cherryPick",
    "revert: x": "revert",
    "branch: Created from HEAD": "branch",
    "Branch: renamed a to b": "branch",
    "fetch: fast-forward": "fetch",
    "Fleet Radar: made a branch": "branch",
    "clone: from x": "other",
    "update by push": "other",
    "": "other",
  };
  for (const [message, kind] of Object.entries(expected)) {
    assert.equal(reflogKind(message), kind, message);
  }
  assert.equal(reflogSource("fleet radar: x"), "fluxgit");
  assert.equal(reflogSource("commit: x"), "git");
});
