import assert from "node:assert/strict";
import fc from "fast-check";
import { boundSummary } from "../../audit/build.ts";
import { verifyLedger } from "../../audit/mod.ts";
import type { LedgerConfig } from "../../audit/mod.ts";
import { secondVerify } from "./second_verifier.ts";
import { appendMany, entry, Place, PUBLIC_KEY, PUBLIC_PEM, SEED } from "./support.ts";

type Entry = Record<string, unknown>;
/** About 21 entries fill a file. */
const BIG = 200_000;

async function holds(place: Place, config: Partial<LedgerConfig> = {}): Promise<void> {
  const report = await verifyLedger(place.ledger, {
    archive: config.archive ?? null,
    ...(config.signSeed ? { publicKeys: [PUBLIC_PEM], requireSigned: true } : {}),
  });
  assert.equal(report.failure, null);
  const second = await secondVerify(place.folder, "mcp.jsonl", {
    ...(config.signSeed ? { keys: [PUBLIC_KEY], requireSigned: true } : {}),
  });
  assert.equal(second.reason, "");
  assert.equal(second.last, report.lastSequence);
}

/** The numbers of all entries, in order. */
function numbers(place: Place): number[] {
  return [...place.segments(), ...(place.names().includes("mcp.jsonl") ? ["mcp.jsonl"] : [])]
    .flatMap((name) =>
      place.lines(name).map((line) => (JSON.parse(line) as Entry).number as number)
    );
}

function range(first: number, last: number): number[] {
  return Array.from({ length: last - first + 1 }, (_, at) => first + at);
}

Deno.test("an entry gets the chain's members, whatever its caller says they are", async () => {
  await using place = await Place.create();
  const ledger = place.open({ signSeed: SEED }, { now: () => 1_700_000_000_123.9 });
  const claimed = {
    id: "mine",
    auditSchemaVersion: 9,
    auditChainVersion: 9,
    sequence: 77,
    segmentId: "mine",
    previousHash: "mine",
    signatureKeyId: "mine",
    signatureVersion: 9,
    entryHash: "mine",
    signature: "mine",
  };
  await ledger.append({ ...claimed, tool: "a", timestamp: "yesterday", gone: undefined });
  await ledger.append({ tool: "b", timestamp: 5 });
  await ledger.close();
  const [first, second] = place.lines().map((line) => JSON.parse(line) as Entry);
  assert.equal(first!.tool, "a");
  assert.equal("gone" in first!, false);
  assert.equal(first!.timestamp, 1_700_000_000_123, "no usable time: now");
  assert.equal(second!.timestamp, 5, "a number is kept");
  assert.deepEqual([first!.sequence, first!.previousHash], [1, "genesis"]);
  assert.deepEqual([second!.sequence, second!.previousHash], [2, first!.entryHash]);
  assert.equal(second!.segmentId, first!.segmentId);
  assert.notEqual(second!.id, first!.id);
  assert.deepEqual([first!.signatureKeyId, first!.signatureVersion], ["03a107bff3ce10be", 3]);
  assert.equal((first!.signature as string).length, 86);
  await holds(place, { signSeed: SEED });
});

Deno.test("hostile texts stay inside their own entry", async () => {
  await using place = await Place.create();
  const ledger = place.open();
  const texts = [
    'line\nbreak"}\n{"tool":"forged"}',
    "\u0000\u001b[31m\u2028\u202e",
    "lone \ud800 surrogate",
    "x".repeat(300_000),
    "\u{1f600}".repeat(100_000),
  ];
  for (const text of texts) await ledger.append({ tool: text, number: 1 });
  // Far too many members to cut, a member nested too deep, and names that are not text.
  const wide = Object.fromEntries(Array.from({ length: 60_000 }, (_, at) => [`m${at}`, at]));
  const refused = await ledger.append(wide);
  assert.equal(refused.written, false);
  let deep: unknown = 1;
  for (let level = 0; level < 5_000; level++) deep = { deep };
  await ledger.append({ tool: "deep", deep });
  await ledger.append({ tool: "name", "\ud800": 1, inner: { "\ud800": 1 } });
  await ledger.close();
  const entries = place.lines().map((line) => JSON.parse(line) as Entry);
  assert.equal(entries.length, 7);
  assert.equal(entries[0]!.tool, texts[0]);
  assert.equal(entries[2]!.tool, "lone \ufffd surrogate");
  assert.match(entries[3]!.tool as string, /^x{1024} \[cut: 300000 characters\]$/);
  assert.match(entries[4]!.tool as string, / \[cut: 200000 characters\]$/);
  assert.deepEqual(entries[3]!.truncatedMembers, ["tool"]);
  assert.equal((entries[5]!.deep as Entry).cut, true);
  assert.deepEqual(entries[6]!.inner, { "\ufffd": 1 });
  assert.equal(ledger.state().lost, 1);
  assert.match(place.notices.join("\n"), /an entry is lost: an entry does not fit a line/);
  await holds(place);
});

Deno.test("a summary is one line of at most 512 characters", () => {
  assert.equal(boundSummary("a\nb\u0007c\u0085d"), "a b c d");
  assert.equal(boundSummary("x".repeat(512)), "x".repeat(512));
  assert.equal(boundSummary("x".repeat(513)), "x".repeat(511) + ".");
  assert.equal(boundSummary("\u{1f600}".repeat(512)), "\u{1f600}".repeat(512));
  assert.equal(Array.from(boundSummary("\u{1f600}".repeat(5_000))).length, 512);
});

Deno.test("files are private, and made private where they are not", async () => {
  if (Deno.build.os === "windows") return;
  await using place = await Place.create();
  Deno.removeSync(place.folder);
  await place.fill(1);
  const mode = (path: string) => Deno.statSync(path).mode! & 0o777;
  assert.equal(mode(place.folder), 0o700);
  assert.equal(mode(place.ledger), 0o600);
  assert.equal(mode(`${place.ledger}.lock`), 0o600);
  assert.equal(Deno.statSync(`${place.ledger}.lock`).size, 0);
  Deno.chmodSync(place.ledger, 0o644);
  await place.fill(1);
  assert.equal(mode(place.ledger), 0o600);
});

Deno.test("entries keep their order across rotations, and four segments are kept", async () => {
  await using place = await Place.create();
  const config = { signSeed: SEED };
  await place.fill(150, { bytes: BIG, config });
  assert.equal(place.segments().length, 4);
  assert.equal(place.checkpoints().length, 1);
  for (const name of place.names()) {
    assert.ok(Deno.statSync(place.file(name)).size <= 4_194_304, name);
  }
  await holds(place, config);
  const kept = numbers(place);
  assert.deepEqual(kept, range(kept[0]!, 150));
  const report = await verifyLedger(place.ledger);
  assert.equal(report.retentionCheckpointUsed, true);
  assert.equal(report.firstSequence, kept[0]);
  const checkpoint = JSON.parse(Deno.readTextFileSync(place.file(place.checkpoints()[0]!)));
  assert.equal(checkpoint.prunedThroughSequence, kept[0]! - 1);
  assert.equal(checkpoint.signatureVersion, 3);
  // Without its checkpoint the start is unexplained.
  Deno.removeSync(place.file(place.checkpoints()[0]!));
  assert.match((await verifyLedger(place.ledger)).failure!.reason, /no retention checkpoint/);
});

Deno.test("an archive keeps everything, and the ledger alone still holds", async () => {
  await using place = await Place.create();
  const config = { signSeed: SEED, archive: `${place.root}/archive` };
  await place.fill(150, { bytes: BIG, config });
  await holds(place, config);
  assert.equal(Deno.statSync(config.archive).mode! & 0o777, 0o700);
  const whole = await verifyLedger(place.ledger, { archive: config.archive });
  assert.deepEqual([whole.firstSequence, whole.lastSequence, whole.chained], [1, 150, 150]);
  assert.equal(whole.retentionCheckpointUsed, false);
  assert.equal(whole.archivedSegments, whole.segments - 5);
  const alone = await verifyLedger(place.ledger);
  assert.equal(alone.retentionCheckpointUsed, true);

  // A segment that an interrupted move left in both places is read once.
  const archived = [...Deno.readDirSync(config.archive)].map(({ name }) => name).sort();
  const kept = place.segments()[0]!;
  Deno.copyFileSync(place.file(kept), `${config.archive}/${kept}`);
  assert.equal((await verifyLedger(place.ledger, config)).chained, 150);
  Deno.writeTextFileSync(`${config.archive}/${kept}`, "{}\n");
  assert.match(
    (await verifyLedger(place.ledger, config)).failure!.reason,
    /differs from its archived copy/,
  );
  Deno.removeSync(`${config.archive}/${kept}`);
  // Losing any of the archived segments is found.
  for (const name of archived) {
    Deno.renameSync(`${config.archive}/${name}`, `${place.root}/aside`);
    const expected = name === archived[0] ? /no retention checkpoint explains/ : /sequence is/;
    assert.match((await verifyLedger(place.ledger, config)).failure!.reason, expected);
    Deno.renameSync(`${place.root}/aside`, `${config.archive}/${name}`);
  }
  await holds(place, config);
});

Deno.test("an archive that is switched on late, or off for a time, says what it lacks", async () => {
  await using place = await Place.create();
  const archive = `${place.root}/archive`;
  await place.fillFiles(120, 20);
  place.rotate();
  await place.fillFiles(50, 20, { from: 121, config: { archive } });
  const late = await verifyLedger(place.ledger, { archive });
  assert.equal(late.failure, null);
  assert.ok(late.firstSequence > 1 && late.archivedSegments > 0);
  assert.equal(late.retentionCheckpointUsed, true);
  assert.deepEqual(late.gaps, []);

  place.rotate();
  await place.fillFiles(50, 20, { from: 171 });
  const missing = await verifyLedger(place.ledger, { archive });
  assert.match(missing.failure!.reason, /sequence is \d+, expected \d+/);
  await place.fill(1, { from: 221, config: { archive } });
  assert.equal((await verifyLedger(place.ledger, { archive })).failure, null, "explained at once");
  place.rotate();
  await place.fillFiles(49, 10, { from: 222, config: { archive } });
  const gappy = await verifyLedger(place.ledger, { archive });
  assert.equal(gappy.failure, null);
  assert.equal(gappy.gaps.length, 1);
  const [gap] = gappy.gaps;
  assert.equal(
    gappy.chained,
    gappy.lastSequence - gappy.firstSequence + 1 - (gap!.lastSequence - gap!.firstSequence + 1),
  );
});

Deno.test("an archive that cannot take a segment delays nothing until no segment may be added", async () => {
  await using place = await Place.create();
  const archive = place.write("archive", "a file where the folder should be");
  const ledger = place.open({ archive });
  await appendMany(ledger, 110, { bytes: BIG });
  assert.equal(place.segments().length, 5, "the fifth is tolerated");
  assert.equal(ledger.state().status, "degraded");
  assert.match(ledger.state().reason!, /a rotated segment cannot be taken away/);
  assert.equal((await verifyLedger(place.ledger)).failure, null);
  assert.equal(place.notices.length, 1, "said once, not with every entry");

  let refused = 0;
  for (let number = 111; number <= 140; number++) {
    if (!(await ledger.append(entry(number, BIG))).written) refused++;
  }
  assert.ok(refused > 0);
  assert.equal(place.segments().length, 5);
  assert.equal((await verifyLedger(place.ledger)).failure, null);

  Deno.removeSync(archive);
  assert.equal(await ledger.flush(), 0);
  assert.equal(ledger.state().status, "ok");
  await ledger.close();
  const report = await verifyLedger(place.ledger, { archive });
  assert.deepEqual([report.failure, report.chained], [null, 140]);
});

Deno.test("the archive of another ledger is left alone", async () => {
  await using place = await Place.create();
  const archive = `${place.root}/archive`;
  await place.fillFiles(120, 20, { config: { archive } });
  for (const name of place.names()) Deno.removeSync(place.file(name));
  const before = [...Deno.readDirSync(archive)].map(({ name }) => name).sort();
  await place.fillFiles(110, 20, { config: { archive } });
  assert.match(place.notices.join("\n"), /holds segments of another ledger/);
  assert.deepEqual([...Deno.readDirSync(archive)].map(({ name }) => name).sort(), before);
  assert.equal((await verifyLedger(place.ledger)).chained, 110);
});

Deno.test("a prune interrupted at any point leaves a good ledger, and the next append ends it", async (t) => {
  await using full = await Place.create();
  // Not yet pruned: five segments, because an archive is in the way.
  const blocked = full.write("blocked", "");
  await full.fillFiles(108, 20, { config: { archive: blocked } });
  assert.equal(full.segments().length, 5);
  await using pruned = await Place.create();
  for (const name of full.names()) Deno.copyFileSync(full.file(name), pruned.file(name));
  await pruned.fill(1, { from: 109 });
  const oldest = full.segments()[0]!;
  const checkpoint = pruned.checkpoints()[0]!;
  const older = checkpoint.replace(/checkpoint-\d+/, "checkpoint-00000000000000000002");
  const olderText = Deno.readTextFileSync(pruned.file(checkpoint)).replace(
    /"nextSequence":\d+/,
    '"nextSequence":2',
  );

  const states: Record<string, (place: Place) => void> = {
    "nothing done": () => {},
    "a checkpoint half written": (place) => {
      Deno.writeTextFileSync(place.file("mcp.jsonl.tmp-0"), '{"auditCheck', { mode: 0o600 });
    },
    "the checkpoint written": (place) => {
      Deno.copyFileSync(pruned.file(checkpoint), place.file(checkpoint));
    },
    "the segment deleted": (place) => {
      Deno.copyFileSync(pruned.file(checkpoint), place.file(checkpoint));
      Deno.removeSync(place.file(oldest));
    },
    "the older checkpoint still there": (place) => {
      Deno.copyFileSync(pruned.file(checkpoint), place.file(checkpoint));
      Deno.writeTextFileSync(place.file(older), olderText, { mode: 0o600 });
      Deno.removeSync(place.file(oldest));
    },
  };
  for (const [name, make] of Object.entries(states)) {
    await t.step(name, async () => {
      await using place = await Place.create();
      for (const file of full.names()) Deno.copyFileSync(full.file(file), place.file(file));
      make(place);
      await holds(place);
      await place.fill(30, { from: 109 });
      assert.equal(place.segments().length, 4);
      await holds(place);
      // The next prune also takes what the interrupted one left.
      place.rotate();
      await place.fill(1, { from: 139 });
      assert.deepEqual(place.notices, []);
      await holds(place);
      assert.equal(place.segments().length, 4);
      assert.equal(place.checkpoints().length, 1);
      assert.equal(place.names().some((file) => file.includes(".tmp-")), false);
      const kept = numbers(place);
      assert.deepEqual(kept, range(kept[0]!, 139));
    });
  }
});

Deno.test("writers that take turns never disturb each other", async () => {
  await using place = await Place.create();
  const ledgers = [place.open(), place.open({ signSeed: SEED }), place.open()];
  for (let number = 1; number <= 90; number++) {
    await ledgers[number % 3]!.append(entry(number, number % 10 === 0 ? BIG : 0));
  }
  // All at once: the order is anyone's, nothing is lost or doubled.
  await Promise.all(
    range(91, 210).map((number) => ledgers[number % 3]!.append(entry(number, 30_000))),
  );
  for (const ledger of ledgers) {
    assert.equal(ledger.state().status, "ok");
    assert.equal(await ledger.close(), 0);
  }
  assert.deepEqual(place.notices, []);
  assert.ok(place.segments().length > 0, "a rotation by one is followed by the others");
  assert.deepEqual(numbers(place).sort((a, b) => a - b), range(1, 210));
  assert.deepEqual(numbers(place).slice(0, 90), range(1, 90));
  await holds(place);
});

Deno.test("no untouched ledger is ever complained about, whatever made it", async () => {
  const run = fc.record({
    entries: fc.integer({ min: 1, max: 60 }),
    bytes: fc.constantFrom(0, 700, 5_000, 100_000, 250_000),
    signed: fc.boolean(),
    archive: fc.boolean(),
  });
  await fc.assert(
    fc.asyncProperty(fc.array(run, { minLength: 1, maxLength: 7 }), async (runs) => {
      await using place = await Place.create();
      const archive = `${place.root}/archive`;
      let total = 0;
      for (const { entries, bytes, signed, archive: archived } of runs) {
        await place.fill(entries, {
          bytes,
          from: total + 1,
          config: { signSeed: signed ? SEED : null, archive: archived ? archive : null },
        });
        total += entries;
        // Entries that were pruned while no archive was kept are missing from it, by right.
        const report = await verifyLedger(place.ledger, {
          archive: archived ? archive : null,
          publicKeys: [PUBLIC_PEM],
        });
        assert.equal(report.failure, null);
        assert.equal(report.lastSequence, total);
        const missing = report.gaps.reduce(
          (n, gap) => n + gap.lastSequence - gap.firstSequence + 1,
          0,
        );
        assert.equal(report.chained + missing, total === 0 ? 0 : total - report.firstSequence + 1);
        assert.equal(await place.open().check(), true);
      }
      assert.deepEqual(place.notices, []);
      assert.equal((await secondVerify(place.folder, "mcp.jsonl")).reason, "");
    }),
    { numRuns: 8 },
  );
});

Deno.test("verification is undisturbed by appends and rotations that run meanwhile", async () => {
  await using place = await Place.create();
  await place.fill(40, { bytes: BIG });
  const ledger = place.open({ archive: `${place.root}/archive` });
  let done = false;
  const appending = appendMany(ledger, 150, { bytes: BIG, from: 41 }).finally(() => done = true);
  let runs = 0;
  while (!done) {
    const report = await verifyLedger(place.ledger, { archive: `${place.root}/archive` });
    assert.equal(report.failure, null);
    runs++;
  }
  await appending;
  await ledger.close();
  assert.ok(runs > 1);
  assert.equal(
    (await verifyLedger(place.ledger, { archive: `${place.root}/archive` })).chained,
    190,
  );
});
