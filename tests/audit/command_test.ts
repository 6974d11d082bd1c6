import assert from "node:assert/strict";
import { ed25519 } from "@noble/curves/ed25519.js";
import { readPrivateKeyFile } from "../../audit/config.ts";
import { CSV_COLUMNS, csvCell } from "../../audit/export.ts";
import { parseHeadText } from "../../audit/head.ts";
import { Signer } from "../../audit/signing.ts";
import { run as runAudit } from "../../cli/audit.ts";
import { run as runVerify } from "../../cli/verify_audit.ts";
import * as support from "./support.ts";
import { entry, Place, privatePem, runCommand, SEED } from "./support.ts";

/** Every path below a folder, with size and change time: to see that nothing was written. */
function state(folder: string): string[] {
  return [...Deno.readDirSync(folder)].flatMap(({ name, isDirectory }) => {
    const path = `${folder}/${name}`;
    const { size, mtime } = Deno.lstatSync(path);
    return [`${path} ${size} ${mtime?.getTime()}`, ...isDirectory ? state(path) : []];
  }).sort();
}

Deno.test("verify-audit takes a rotated ledger with each key that signed it", async () => {
  await using place = await Place.create();
  await place.fill(3, { config: { signSeed: SEED } });
  await place.fill(3, { from: 4, config: { signSeed: support.OTHER_SEED } });
  const [one, two] = [
    place.write("one.pem", support.PUBLIC_PEM),
    place.write("two.pem", support.OTHER_PUBLIC_PEM, 0o644),
  ];
  const verify = (...flags: string[]) => runCommand(runVerify, [place.ledger, ...flags]);
  for (const key of [one, two]) assert.equal((await verify("--pubkey", key)).code, 3);
  for (const keys of [[one, two], [two, one]]) {
    const ran = await verify("--pubkey", keys[0]!, "--require-signed", "--pubkey", keys[1]!);
    assert.equal(ran.code, 0, ran.err);
    assert.match(ran.err, /^fluxgit-sidecar: head not pinned.*\n$/);
  }
});

Deno.test("verify-audit says what it could not exclude, and nothing when all is pinned", async () => {
  await using place = await Place.create();
  await place.fill(2, { config: { signSeed: SEED } });
  await place.fill(1, { from: 3 });
  const key = place.write("key.pem", support.PUBLIC_PEM);
  const plain = await runCommand(runVerify, [place.ledger]);
  assert.match(plain.err, /key not pinned/);
  assert.match(plain.err, /head not pinned/);
  const json = JSON.parse((await runCommand(runVerify, [place.ledger, "--json"])).out);
  assert.deepEqual([json.ok, json.keyPinned, json.headPinned], [true, false, false]);
  assert.deepEqual(json.notExcluded, ["key_not_pinned", "tail_cut"]);
  const keyed = await runCommand(runVerify, [place.ledger, "--pubkey", key]);
  assert.match(keyed.err, /1 of 3 entries are unsigned/);
  const head = (await runCommand(runAudit, ["head", place.ledger])).out.trim();
  const pinned = await runCommand(runVerify, [place.ledger, "--expect-head", head, "--json"]);
  assert.equal(JSON.parse(pinned.out).headPinned, true);
});

Deno.test("an expected head holds wherever it stands in the ledger", async () => {
  await using place = await Place.create();
  await place.fillFiles(110, 20);
  const lines = place.lines(place.segments()[0]!).map((line) => JSON.parse(line));
  const check = (head: string) => runCommand(runVerify, [place.ledger, "--expect-head", head]);
  const first = lines[0];
  for (const { sequence, entryHash } of lines) {
    assert.equal((await check(`${sequence}:${entryHash}`)).code, 0);
  }
  const bare = first.entryHash.slice(7);
  assert.equal((await check(`${first.sequence}:${bare}`)).code, 0);
  assert.equal((await check(`${first.sequence}:${bare.toUpperCase()}`)).code, 0);
  // The entry before the oldest one kept is vouched for by the checkpoint.
  assert.equal((await check(`${first.sequence - 1}:${first.previousHash}`)).code, 0);
  const older = await check(`${first.sequence - 2}:${bare}`);
  assert.equal(older.code, 3);
  assert.match(older.err, /not among the entries that are kept/);
  assert.equal((await check(`${first.sequence}:${"0".repeat(64)}`)).code, 3);
  assert.match((await check(`111:${bare}`)).err, /ends at sequence 110; .* at 111/);
});

Deno.test("verify-audit reads the archive of its settings unless told otherwise", async () => {
  await using place = await Place.create();
  const archive = `${place.root}/archive`;
  await place.fillFiles(120, 15, { config: { archive } });
  const env = { FLUXGIT_MCP_AUDIT_ARCHIVE: archive };
  const verify = async (flags: string[], env = {}) => {
    const ran = await runCommand(runVerify, [place.ledger, ...flags], env);
    assert.equal(ran.code, 0, ran.err);
    return /sequence: {2}(\d+)\.\.120/.exec(ran.out)![1];
  };
  assert.equal(await verify([], env), "1");
  assert.equal(await verify(["--archive", `${archive}/`]), "1");
  assert.notEqual(await verify([]), "1");
  assert.notEqual(await verify(["--no-archive"], env), "1");
  // Not there yet is as good as empty.
  assert.notEqual(await verify([], { FLUXGIT_MCP_AUDIT_ARCHIVE: `${place.root}/none` }), "1");
});

Deno.test("verifying, exporting and taking the head change nothing, modes included", async () => {
  await using place = await Place.create();
  const archive = `${place.root}/archive`;
  await place.fillFiles(110, 15, { config: { archive } });
  Deno.chmodSync(place.ledger, 0o644);
  Deno.removeSync(`${place.ledger}.lock`);
  const all = () => [...state(place.root), Deno.statSync(place.ledger).mode];
  const before = all();
  assert.equal((await runCommand(runVerify, [place.ledger, "--archive", archive])).code, 0);
  assert.equal((await runCommand(runAudit, ["head", place.ledger])).code, 0);
  const format = ["export", "--format", "csv", "--archive", archive];
  assert.equal((await runCommand(runAudit, [...format, place.ledger])).code, 0);
  assert.deepEqual(all(), before);
});

Deno.test("a clock that ran backwards is told, and is no fault", async () => {
  await using place = await Place.create();
  const ledger = place.open();
  for (const timestamp of [1_000, 5_000, 2_000, 4_999, 5_000, 6_000]) {
    await ledger.append({ tool: "a", timestamp });
  }
  await ledger.close();
  const ran = await runCommand(runVerify, [place.ledger, "--json"]);
  assert.equal(ran.code, 0);
  const { clockSteps } = JSON.parse(ran.out);
  assert.deepEqual(clockSteps, { count: 2, firstSequence: 3, largestMs: 3_000 });
});

Deno.test("an absent ledger is an empty one, an absent folder is a failure", async () => {
  await using place = await Place.create();
  const empty = await runCommand(runVerify, [place.ledger]);
  assert.equal(empty.code, 0);
  assert.match(empty.out, /^entries: {3}0\n[^]*sequence: {2}0\.\.0\n/);
  const absent = await runCommand(runVerify, [`${place.root}/none/mcp.jsonl`]);
  assert.equal(absent.code, 3);
  assert.match(absent.err, /^verify-audit: verification failed: /);
});

Deno.test("bad input to a command is one clear line, exit 2, nothing written", async (t) => {
  await using place = await Place.create();
  await place.fill(1);
  const key = place.write("key.pem", privatePem(SEED));
  const pub = place.write("key.pub", support.PUBLIC_PEM);
  const junk = place.write("junk", "junk");
  const L = place.ledger;
  const cases: [typeof runVerify, string[], RegExp][] = [
    [runVerify, [], /no ledger is named/],
    [runVerify, [""], /no ledger is named/],
    [runVerify, [L, L], /more than one ledger/],
    [runVerify, [L, "--frobnicate"], /unknown option --frobnicate/],
    [runVerify, [L, "--constructor"], /unknown option/],
    [runVerify, [L, "-x\u001b[31m"], /unknown option -x\\u\{1b\}\[31m/],
    [runVerify, [L, "--pubkey"], /--pubkey needs a value/],
    [runVerify, [L, "--pubkey", "--json"], /--pubkey --json: No such file/],
    [runVerify, [L, "--pubkey", `${place.root}/none`], /No such file/],
    [runVerify, [L, "--pubkey", junk], /not a PEM file/],
    [runVerify, [L, "--pubkey", key], /PEM holds PRIVATE KEY/],
    [runVerify, [L, "--pubkey", place.folder], /not a regular file/],
    [runVerify, [L, "--pubkey", pub, "--pubkey", junk], /not a PEM file/],
    [runVerify, [L, "--expect-head", "1"], /not SEQ:HASH/],
    [runVerify, [L, "--expect-head", `0:${"0".repeat(64)}`], /not SEQ:HASH/],
    [runVerify, [L, "--expect-head", `1:${"g".repeat(64)}`], /not SEQ:HASH/],
    [runVerify, [L, "--archive", `${place.root}/none`], /No such file/],
    [runVerify, [L, "--archive", junk], /no folder/],
    [runVerify, [L, "--archive", place.root, "--no-archive"], /exclude each other/],
    [runAudit, [], /say keygen, head or export/],
    [runAudit, ["frob"], /unknown command frob/],
    [runAudit, ["keygen"], /keygen takes one folder/],
    [runAudit, ["keygen", ""], /keygen takes one folder/],
    [runAudit, ["keygen", place.root, "more"], /keygen takes one folder/],
    [runAudit, ["keygen", "--force", place.root], /unknown option/],
    [runAudit, ["keygen", junk], /is not a folder/],
    [runAudit, ["keygen", `${place.root}/a/b`], /No such file/],
    [runAudit, ["head", L, L], /more than one ledger/],
    [runAudit, ["head", L, "--key", junk], /group or others|not a PEM file/],
    [runAudit, ["head", L, "--key", `${place.root}/none`], /no such file/],
    [runAudit, ["head", L, "--key", key, "--key", key], /given 2 times/],
    [runAudit, ["head"], /no run directory/],
    [runAudit, ["export", L], /needs --format/],
    [runAudit, ["export", "--format", "xml", L], /unknown format xml/],
    [runAudit, ["export", "--format", "csv", L, L], /more than one ledger/],
    [runAudit, ["export", "--format", "csv", L, "--since", "yesterday"], /is no time/],
    [runAudit, ["export", "--format", "csv", L, "--since", "2026-13-01"], /is no time/],
    [runAudit, ["export", "--format", "csv", L, "--since", "2026-01-01T10:00"], /is no time/],
    [runAudit, ["export", "--format", "csv", L, "--tool", ""], /--tool is empty/],
    [
      runAudit,
      ["export", "--format", "csv", L, "--result", "Good!"],
      /say success, error or blocked/,
    ],
  ];
  const before = state(place.root);
  for (const [run, args, reason] of cases) {
    await t.step(args.join(" ").replaceAll(place.root, "") || "(nothing)", async () => {
      const ran = await runCommand(run, args);
      assert.equal(ran.code, 2, ran.err);
      assert.equal(ran.out, "");
      assert.match(ran.err, reason);
      assert.match(ran.err, /^(?:verify-audit|fluxgit-sidecar: audit): [^\n\p{Cc}]+\n$/u);
    });
  }
  assert.deepEqual(state(place.root), before, "nothing was written");
});

Deno.test("audit keygen writes a pair that signs, with safe modes, once", async () => {
  await using place = await Place.create();
  const folder = `${place.root}/keys`;
  const ran = await runCommand(runAudit, ["keygen", folder]);
  assert.equal(ran.code, 0, ran.err);
  const [secret = "", open = ""] = [...Deno.readDirSync(folder)].map(({ name }) =>
    `${folder}/${name}`
  )
    .sort();
  assert.match(ran.out, new RegExp(`private key: {3}${secret}\npublic key: {4}${open}\n`));
  if (Deno.build.os !== "windows") {
    const mode = (path: string) => Deno.statSync(path).mode! & 0o777;
    assert.deepEqual([mode(folder), mode(secret)], [0o700, 0o600]);
  }
  const seed = await readPrivateKeyFile(secret);
  await place.fill(2, { config: { signSeed: seed } });
  const verified = await runCommand(runVerify, [
    place.ledger,
    "--pubkey",
    open,
    "--require-signed",
  ]);
  assert.equal(verified.code, 0, verified.err);

  const before = state(folder);
  const again = await runCommand(runAudit, ["keygen", folder]);
  assert.equal(again.code, 2);
  assert.match(again.err, /is already there/);
  assert.deepEqual(state(folder), before);
  const other = await runCommand(runAudit, ["keygen", `${place.root}/other`]);
  assert.doesNotMatch(other.out, new RegExp(/key id: +(\S+)/.exec(ran.out)![1]!));

  if (Deno.build.os === "windows") return;
  Deno.mkdirSync(`${place.root}/open`);
  Deno.chmodSync(`${place.root}/open`, 0o777);
  assert.match(
    (await runCommand(runAudit, ["keygen", `${place.root}/open`])).err,
    /others may write/,
  );
  Deno.symlinkSync(folder, `${place.root}/link`);
  assert.match((await runCommand(runAudit, ["keygen", `${place.root}/link`])).err, /symbolic link/);
  assert.deepEqual([...Deno.readDirSync(`${place.root}/open`)], []);
});

Deno.test("audit head prints a signed note that another implementation accepts", async () => {
  await using place = await Place.create();
  await place.fill(3, { config: { signSeed: SEED } });
  const key = place.write("key.pem", privatePem(SEED));
  const env = { FLUXGIT_MCP_AUDIT_LOG: place.ledger, FLUXGIT_MCP_AUDIT_SIGN_KEY: key };
  const ran = await runCommand(runAudit, ["head"], env);
  assert.equal(ran.code, 0, ran.err);
  assert.equal((await runCommand(runAudit, ["head", place.ledger, "--key", key])).out, ran.out);

  // As the format's specification describes it, with the other signature library.
  const [text = "", signatures = ""] = ran.out.split(/(?<=\n)\n/);
  const [origin, size, root = "", line = "", ...rest] = text.split("\n");
  assert.deepEqual([size, rest], ["3", [""]]);
  const newest = JSON.parse(place.lines()[2]!);
  assert.equal(line, `3:${newest.entryHash.slice(7)}`);
  assert.equal(Uint8Array.fromBase64(root).toHex(), newest.entryHash.slice(7));
  const [, name, blob = ""] = /^\u2014 (\S+) (\S+)\n$/.exec(signatures)!;
  assert.equal(name, origin);
  const bytes = Uint8Array.fromBase64(blob);
  const hashed = new TextEncoder().encode(`${name}\n`);
  const digest = new Uint8Array(
    await crypto.subtle.digest("SHA-256", Uint8Array.of(...hashed, 1, ...support.PUBLIC_KEY)),
  );
  assert.deepEqual(bytes.subarray(0, 4), digest.subarray(0, 4));
  assert.equal(
    ed25519.verify(bytes.subarray(4), new TextEncoder().encode(text), support.PUBLIC_KEY),
    true,
  );

  const verified = await runCommand(runVerify, [place.ledger, "--expect-head", line]);
  assert.equal(verified.code, 0);
  const unsigned = await runCommand(runAudit, ["head", place.ledger]);
  assert.deepEqual([unsigned.code, unsigned.out], [0, `${line}\n`]);
});

Deno.test("audit head vouches for no broken and no empty ledger", async () => {
  await using place = await Place.create();
  const empty = await runCommand(runAudit, ["head", place.ledger]);
  assert.deepEqual([empty.code, empty.out], [1, ""]);
  assert.match(empty.err, /has no entry yet/);
  await place.fill(3);
  place.setLines(place.lines().toSpliced(1, 1));
  const broken = await runCommand(runAudit, ["head", place.ledger]);
  assert.deepEqual([broken.code, broken.out], [3, ""]);
});

Deno.test("heads are read in the forms that people have them in", () => {
  const hash = "ab".repeat(32);
  const head = { sequence: 12, hash: `sha256:${hash}` };
  for (const text of [`12:${hash}`, `12:sha256:${hash}`, `12:${hash.toUpperCase()}`]) {
    assert.deepEqual(parseHeadText(text), head);
  }
  for (
    const text of [
      "",
      "12",
      `012:${hash}`,
      `-1:${hash}`,
      `1e3:${hash}`,
      `12:${hash}0`,
      ` 12:${hash}`,
    ]
  ) {
    assert.equal(parseHeadText(text), null, text);
  }
});

Deno.test("audit export gives every entry in each format, and filters", async () => {
  await using place = await Place.create();
  const ledger = place.open({ signSeed: SEED });
  await ledger.append({ ...entry(1), big: 2n ** 63n });
  await ledger.append({ ...entry(2), tool: "repo.refs", result: "error" });
  await ledger.append({ ...entry(3), result: "blocked", extra: { a: [1, null] } });
  await ledger.close();
  const get = async (format: string, ...flags: string[]) => {
    const ran = await runCommand(runAudit, ["export", "--format", format, place.ledger, ...flags]);
    assert.equal(ran.code, 0, ran.err);
    return ran;
  };
  assert.deepEqual((await get("jsonl")).out.split("\n").slice(0, -1), place.lines());
  const array = JSON.parse((await get("json")).out);
  assert.deepEqual(array, place.lines().map((line) => JSON.parse(line)));
  assert.deepEqual(JSON.parse((await get("json", "--tool", "none")).out), []);

  const csv = (await get("csv")).out.split("\r\n");
  assert.equal(csv[0], CSV_COLUMNS.join(","));
  assert.equal(csv.length, 5);
  assert.match(csv[1]!, /^1,"2023-11-14T22:13:20\.001Z",1700000000001,,"repo\.status",/);
  assert.match(csv[1]!, /"\{""big"":9223372036854775808,""number"":1\}"$/);

  const numbers = async (...flags: string[]) =>
    (await get("jsonl", ...flags)).out.split("\n").slice(0, -1).map((line) =>
      JSON.parse(line).number
    );
  assert.deepEqual(await numbers("--tool", "repo.status"), [1, 3]);
  assert.deepEqual(await numbers("--tool", "repo.status", "--tool", "repo.refs"), [1, 2, 3]);
  assert.deepEqual(await numbers("--result", "error", "--result", "blocked"), [2, 3]);
  assert.deepEqual(await numbers("--since", "1700000000002"), [2, 3]);
  assert.deepEqual(await numbers("--since", "2023-11-14T22:13:20.003Z"), [3]);
  assert.deepEqual(await numbers("--since", "2023-11-15T00:13:20.003+02:00"), [3]);
  assert.deepEqual(await numbers("--since", "2030-01-01"), []);
  assert.deepEqual(await numbers("--tool", "repo.status", "--result", "blocked"), [3]);
  assert.match((await get("jsonl", "--tool", "none")).err, /0 of 3 entries exported/);
});

Deno.test("an export of a broken ledger ends before the bad place and says so", async () => {
  await using place = await Place.create();
  await place.fill(5);
  place.setLines(place.lines().toSpliced(3, 1));
  for (const format of ["json", "jsonl", "csv"]) {
    const ran = await runCommand(runAudit, ["export", "--format", format, place.ledger]);
    assert.equal(ran.code, 3);
    assert.match(ran.err, /segment 0 line 4 .*the output ends before it/);
    if (format === "json") assert.equal(JSON.parse(ran.out).length, 3, "still well-formed");
    else assert.equal(ran.out.trimEnd().split("\n").length, format === "csv" ? 4 : 3);
  }
});

Deno.test("no cell of an export is a formula, a control sequence or a line of its own", () => {
  const attacks = [
    "=1+1",
    "+1",
    "-1",
    "@SUM(A1)",
    "\t=1",
    "\r=1",
    "\n=1",
    "  =1",
    "\uff1d1",
    "\u200b=1",
    '"=1',
    "'=1",
    "a;=1",
    "a,=1",
    "a|@x",
    '=cmd|"/c calc"!A1',
  ];
  for (const text of attacks) {
    const cell = csvCell(text);
    assert.match(cell, /^"(?:[^"]|"")*"$/);
    const content = cell.slice(1, -1).replaceAll('""', '"');
    for (const part of [content, ...content.split(/[;,|"]/)]) {
      assert.doesNotMatch(part, /^\s*[=+\-@\uff1d\uff0b\uff0d\uff20]/, text);
    }
    // deno-lint-ignore no-control-regex -- that is what must not be there
    assert.doesNotMatch(cell, /[\u0000-\u001f\u007f-\u009f\u200b\u202e]/);
  }
  assert.equal(csvCell("\u001b[31m\u202e"), '"\\u{1b}[31m\\u{202e}"');
  assert.equal(csvCell('say "hi", then'), '"say ""hi"", then"');
  assert.equal(csvCell(-5), "-5", "numbers stay numbers");
  assert.equal(csvCell(true), "true");
  assert.equal(csvCell(null), "");
});

Deno.test("the second key form and the first make the same signer", () => {
  assert.deepEqual(new Signer(SEED).publicKey, ed25519.getPublicKey(SEED));
  const message = new TextEncoder().encode("message");
  assert.deepEqual(Uint8Array.from(new Signer(SEED).sign(message)), ed25519.sign(message, SEED));
});

Deno.test("verify-audit says when no entry was there to be verified", async () => {
  await using place = await Place.create();
  await place.fill(1);
  const ran = await runCommand(runVerify, [`${place.folder}/mistyped.jsonl`]);
  assert.equal(ran.code, 0, "an absent ledger is a good one");
  assert.match(ran.err, /nothing was verified/);
  assert.doesNotMatch((await runCommand(runVerify, [place.ledger])).err, /nothing was verified/);
});
