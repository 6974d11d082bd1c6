import assert from "node:assert/strict";
import { canonicalBytes, canonicalJson } from "../../audit/canonical.ts";
import { ChainChecker } from "../../audit/chain.ts";
import { checkpointBytes } from "../../audit/checkpoint.ts";
import { gatewayPathScope, repoPathScope, repoScope } from "../../audit/entry.ts";
import { fingerprint, sha256 } from "../../audit/hash.ts";
import { headNote } from "../../audit/head.ts";
import { readRecord } from "../../audit/line.ts";
import { parsePrivateKeyPem, parsePublicKeyPem } from "../../audit/pem.ts";
import { Signer, VerifyKey } from "../../audit/signing.ts";
import { verifyEntry, verifyLedger } from "../../audit/mod.ts";
import { run as runVerify } from "../../cli/verify_audit.ts";
import { parse, secondVerify } from "./second_verifier.ts";
import { canonical } from "./second_verifier.ts";
import { Place, PUBLIC_KEY, PUBLIC_PEM, runCommand, SEED } from "./support.ts";
import * as vectors from "./vectors.ts";

const encoder = new TextEncoder();
const signedFile = vectors.SIGNED_LINES.map((line) => line + "\n").join("");

Deno.test("the vector's key is read from both PEM forms and has the vector's id", () => {
  const secret = parsePrivateKeyPem(
    `-----BEGIN PRIVATE KEY-----\n${vectors.PRIVATE_KEY_BASE64}\n-----END PRIVATE KEY-----\n`,
  );
  assert.deepEqual(secret, { seed: SEED, publicKey: null });
  const signer = new Signer(secret.seed);
  assert.equal(signer.publicKey.toHex(), vectors.PUBLIC_KEY_HEX);
  assert.equal(signer.keyId, "03a107bff3ce10be");
  const open = parsePublicKeyPem(
    `-----BEGIN PUBLIC KEY-----\n${vectors.PUBLIC_KEY_BASE64}\n-----END PUBLIC KEY-----\n`,
  );
  assert.equal(open.toHex(), vectors.PUBLIC_KEY_HEX);
});

Deno.test("canonical JSON gives the vector's bytes, by both implementations", () => {
  const value = {
    z: 'a"b\\c/d\b\f\n\r\t\u0000\u001f\u007f\u2028é\u{1f600}',
    Z: null,
    "\uffff": 1,
    "\u{1f600}": 2,
    10: true,
    9: false,
    n: -3,
    arr: [{ b: 1, a: [] }, {}],
  };
  assert.equal(canonicalBytes(value).toHex(), vectors.CANONICAL_HEX);
  assert.equal(fingerprint(value), vectors.CANONICAL_HASH);
  const text = encoder.encode(JSON.stringify(value));
  assert.equal(canonical(parse(text)).toHex(), vectors.CANONICAL_HEX);
});

Deno.test("fingerprints and scopes are those of the vectors", () => {
  const args = { repoPath: "/srv/repos/api", limit: 5 };
  assert.equal(
    fingerprint(args),
    "sha256:2fdf54ed94f829bad1167189eda468f2d1956cbd317d8086304561baf36bbb37",
  );
  const scope = "repoPath:sha256:002e4a23dcf2441631b7404267954caa869ba096ab7db09252d5ca75e0a548ad";
  assert.equal(repoPathScope("/srv/repos/api"), scope);
  assert.equal(repoScope(args), scope);
  assert.equal(
    gatewayPathScope("/srv/repos/api"),
    "sha256:c6bce3aeae2d785f5d7e3e74c1a914eb2a33f2fadd084f8a49b16541276acc3e",
  );
  assert.equal(
    fingerprint({ repoPath: "/srv/repos/api" }),
    "sha256:07f29c9b2bb42b3cadf12e5246c271eb84d4d8a7f636a56b6fad2eb12bcb6613",
  );
  assert.equal(
    fingerprint({ repoPath: "/srv/repos/api", targetRef: "HEAD~1", reason: "undo" }),
    "sha256:4054f6582ba9c2df719fb0ce5907ba765f08773ea57b074e2ef9e41f52f3c338",
  );
});

Deno.test("the unsigned vector holds by itself, and its hash is made over what the page says", () => {
  const report = verifyEntry(vectors.UNSIGNED_LINE);
  assert.equal(report.reason, null);
  assert.equal(report.sequence, 1);
  assert.equal(verifyEntry(vectors.UNSIGNED_LINE, { requireSigned: true }).reason, "not signed");
  assert.equal(
    verifyEntry(vectors.UNSIGNED_LINE.replace('"duration_ms":12', '"duration_ms":13')).ok,
    false,
  );
  const line = readRecord(encoder.encode(vectors.SIGNED_LINES[0]!));
  assert.equal(new TextDecoder().decode(line.hashedBytes()), vectors.HASHED_TEXT);
});

Deno.test("the signed vector verifies as the page prints it", async () => {
  await using place = await Place.create();
  Deno.writeTextFileSync(place.ledger, signedFile, { mode: 0o600 });
  assert.equal(sha256(encoder.encode(signedFile)), `sha256:${vectors.SIGNED_FILE_SHA256}`);
  const key = place.write("key.pub", PUBLIC_PEM);
  const ran = await runCommand(runVerify, [
    place.ledger,
    "--pubkey",
    key,
    "--require-signed",
  ]);
  assert.equal(ran.code, 0, ran.err);
  assert.equal(
    ran.out,
    [
      "entries:   3",
      "chained:   3",
      "legacy:    0",
      "signed:    3",
      "unsigned:  0",
      "segments:  1",
      "sequence:  1..3",
      "retention_checkpoint_used: false",
      "",
    ].join("\n"),
  );
  const second = await secondVerify(place.folder, "mcp.jsonl", {
    keys: [PUBLIC_KEY],
    requireSigned: true,
  });
  assert.deepEqual(second, {
    ok: true,
    reason: "",
    entries: 3,
    signed: 3,
    first: 1,
    last: 3,
    lastHash: "sha256:dad195b63e5bd1a6b69a1cb87ceeff90abe732b9c3c61abb68c52e9849a4f7c9",
  });
});

Deno.test("the writer continues the signed vector, and key order and spacing do not matter", async () => {
  await using place = await Place.create();
  // The same records written by another hand: pretty spacing, reversed keys.
  const loose = vectors.SIGNED_LINES.map((line) => {
    const reversed = Object.fromEntries(Object.entries(JSON.parse(line)).reverse());
    return JSON.stringify(reversed).replaceAll(",", ", ").replaceAll('":', '" :') + " \n";
  }).join("");
  Deno.writeTextFileSync(place.ledger, loose, { mode: 0o600 });
  await place.fill(1, { config: { signSeed: SEED } });
  const report = await verifyLedger(place.ledger, {
    publicKeys: [PUBLIC_PEM],
    requireSigned: true,
  });
  assert.equal(report.failure, null);
  assert.equal(report.lastSequence, 4);
  const second = await secondVerify(place.folder, "mcp.jsonl", { keys: [PUBLIC_KEY] });
  assert.equal(second.reason, "");
  assert.equal(second.last, 4);
});

Deno.test("every failure that the page derives from the signed vector is found", async () => {
  const [one, two, three] = vectors.SIGNED_LINES as [string, string, string];
  const cases: Record<string, string> = {
    "lines 2 and 3 swapped": `${one}\n${three}\n${two}\n`,
    "line 2 dropped": `${one}\n${three}\n`,
    "line 1 dropped": `${two}\n${three}\n`,
    "a member changed": signedFile.replace('"duration_ms":3', '"duration_ms":4'),
    "line 3 repeated": `${signedFile}${three}\n`,
    "the final LF removed": signedFile.slice(0, -1),
    "a blank line": `${one}\n\n${two}\n${three}\n`,
  };
  for (const [name, text] of Object.entries(cases)) {
    await using place = await Place.create();
    Deno.writeTextFileSync(place.ledger, text, { mode: 0o600 });
    const ran = await runCommand(runVerify, [place.ledger]);
    assert.equal(ran.code, 3, name);
    assert.equal(ran.out, "", name);
    assert.match(ran.err, /^verify-audit: verification failed: segment 0 line \d+ .+\n$/, name);
    assert.equal((await secondVerify(place.folder, "mcp.jsonl")).ok, false, name);
  }
  await using place = await Place.create();
  Deno.writeTextFileSync(place.ledger, `${one}\n${two}\n`, { mode: 0o600 });
  assert.equal((await runCommand(runVerify, [place.ledger])).code, 0, "a cut tail alone is unseen");
});

Deno.test("records without a chain verify by their version and anchor the chain that follows", async () => {
  const keys = [VerifyKey.fromPem(PUBLIC_PEM)];
  const checker = new ChainChecker({ keys, requireSigned: true });
  checker.startFile();
  for (const [at, line] of vectors.LEGACY_LINES.slice(0, 2).entries()) {
    checker.lines(encoder.encode(line + "\n"));
    assert.equal(checker.anchor, vectors.LEGACY_ANCHORS[at]);
  }
  for (const line of vectors.LEGACY_LINES) {
    const good = verifyEntry(line, { publicKeys: [PUBLIC_PEM], requireSigned: true });
    assert.equal(good.reason, null);
    const bad = line.replace('"evt-', '"evx-');
    assert.equal(verifyEntry(bad, { publicKeys: [PUBLIC_PEM] }).ok, false);
  }

  await using place = await Place.create();
  const anchored = readRecord(encoder.encode(vectors.UNSIGNED_LINE)).record();
  anchored.previousHash = vectors.LEGACY_ANCHORS[1];
  delete anchored.entryHash;
  assert.equal(fingerprint(anchored), vectors.ANCHORED_HASH);
  anchored.entryHash = vectors.ANCHORED_HASH;
  place.setLines([...vectors.LEGACY_LINES.slice(0, 2), canonicalJson(anchored)]);
  Deno.chmodSync(place.ledger, 0o600);
  const report = await verifyLedger(place.ledger);
  assert.equal(report.failure, null);
  assert.deepEqual([report.legacy, report.chained, report.signed], [2, 1, 2]);

  // The writer anchors its first entry the same way.
  place.setLines(vectors.LEGACY_LINES.slice(0, 2));
  await place.fill(2);
  assert.equal(JSON.parse(place.lines()[2]!).previousHash, vectors.LEGACY_ANCHORS[1]);
  assert.equal((await verifyLedger(place.ledger)).failure, null);
  assert.equal((await secondVerify(place.folder, "mcp.jsonl")).reason, "");
});

Deno.test("a checkpoint has the vector's bytes and explains a pruned start", async () => {
  await using place = await Place.create();
  const start = {
    nextSequence: 3,
    previousHash: "sha256:eac6e69bbda33a56ca134b8165d62f324cbdd4ce21e9ca66f8193601186e757b",
  };
  const bytes = checkpointBytes(start, 1_700_000_002_000, new Signer(SEED));
  assert.equal(new TextDecoder().decode(bytes), vectors.CHECKPOINT);

  place.setLines(vectors.SIGNED_LINES.slice(2));
  const options = { publicKeys: [PUBLIC_PEM], requireSigned: true };
  const unexplained = await verifyLedger(place.ledger, options);
  assert.match(unexplained.failure!.reason, /no retention checkpoint explains/);
  const name = `mcp.jsonl.checkpoint-00000000000000000003-${crypto.randomUUID()}.json`;
  Deno.writeFileSync(place.file(name), bytes, { mode: 0o600 });
  const report = await verifyLedger(place.ledger, options);
  assert.equal(report.failure, null);
  assert.equal(report.retentionCheckpointUsed, true);
  assert.equal((await secondVerify(place.folder, "mcp.jsonl", { keys: [PUBLIC_KEY] })).ok, true);

  // Two checkpoints for one start are ambiguous.
  const again = `mcp.jsonl.checkpoint-00000000000000000003-${crypto.randomUUID()}.json`;
  Deno.writeFileSync(place.file(again), bytes, { mode: 0o600 });
  assert.match((await verifyLedger(place.ledger)).failure!.reason, /several checkpoints/);
  assert.equal((await secondVerify(place.folder, "mcp.jsonl")).ok, false);
});

Deno.test("rotating the signed vector gives the vector's file name", async () => {
  await using place = await Place.create();
  Deno.writeTextFileSync(place.ledger, signedFile, { mode: 0o600 });
  // Fills the file up to its limit, then one entry more.
  await place.fill(42, { bytes: 100_000 });
  assert.equal(place.segments().length, 1);
  const [, last = ""] = /segment-0{19}1-(\d{20})-7ab6fa7a-c5bf-4d82-86a8-26b4728b5acd$/
    .exec(place.segments()[0]!) ?? [];
  assert.ok(Number(last) > 3);
  Deno.renameSync(place.file(place.segments()[0]!), place.file("other"));
  Deno.removeSync(place.ledger);
  Deno.writeTextFileSync(place.file(vectors.SEGMENT_NAME), signedFile, { mode: 0o600 });
  const report = await verifyLedger(place.ledger);
  assert.equal(report.failure, null);
  assert.deepEqual([report.segments, report.lastSequence], [1, 3]);
});

Deno.test("the entry and the head that the guide shows are the vectors'", () => {
  const guide = Deno.readTextFileSync(new URL("../../docs/audit.md", import.meta.url));
  const [, shown = ""] = /```json\n([^`]+)```/.exec(guide) ?? [];
  assert.equal(canonicalJson(JSON.parse(shown)), vectors.UNSIGNED_LINE);
  const newest = verifyEntry(vectors.SIGNED_LINES[2]!);
  const note = headNote({ sequence: 3, hash: newest.entryHash! }, new Signer(SEED));
  assert.ok(guide.includes(note.split("\u2014")[0]!));
});
