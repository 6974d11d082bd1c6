import assert from "node:assert/strict";
import { canonicalJson } from "../../audit/canonical.ts";
import { verifyLedger } from "../../audit/mod.ts";
import { secondVerify } from "./second_verifier.ts";
import { appendMany, entry, Place, SEED } from "./support.ts";

type Entry = Record<string, unknown>;
const WINDOWS = Deno.build.os === "windows";

function numbers(place: Place): number[] {
  return place.lines().map((line) => (JSON.parse(line) as Entry).number as number);
}

async function holds(place: Place): Promise<void> {
  assert.equal((await verifyLedger(place.ledger)).failure, null);
  assert.equal((await secondVerify(place.folder, "mcp.jsonl")).reason, "");
}

/** Changes one entry in place: same file, same size. */
function tamper(place: Place, line: number): void {
  const lines = place.lines();
  lines[line] = lines[line]!.replace("repo.status", "repo.stolen".slice(0, 11));
  const file = Deno.openSync(place.ledger, { write: true });
  file.writeSync(new TextEncoder().encode(lines.map((text) => text + "\n").join("")));
  file.close();
}

Deno.test("a torn last line fails verification until the next append repairs it, and says so", async (t) => {
  const torn = async (
    name: string,
    tear: (text: string) => string,
    told: RegExp,
    kept: number[],
  ) => {
    await t.step(name, async () => {
      await using place = await Place.create();
      await place.fill(3);
      Deno.writeTextFileSync(place.ledger, tear(Deno.readTextFileSync(place.ledger)));
      const report = await verifyLedger(place.ledger);
      assert.equal(report.failure?.torn, true);
      assert.equal(await place.open().check(), true, "torn is not broken");
      assert.deepEqual(place.notices, []);
      await place.fill(1, { from: 4 });
      assert.match(place.notices.join("\n"), told);
      assert.equal(place.notices.length, 1);
      assert.deepEqual(numbers(place), kept);
      await holds(place);
    });
  };
  await torn(
    "a part of an entry",
    (text) => `${text}{"approval":"not_re`,
    /19 bytes of an interrupted/,
    [1, 2, 3, 4],
  );
  await torn("all but the line end", (text) => text.slice(0, -1), /no line end; it was added/, [
    1,
    2,
    3,
    4,
  ]);
  await torn(
    "bytes of nothing",
    (text) => text + "\0".repeat(4_000),
    /4000 bytes of an interrupted/,
    [1, 2, 3, 4],
  );
  await torn(
    "half of the last entry gone",
    (text) => text.slice(0, -40),
    /bytes of an interrupted/,
    [1, 2, 4],
  );
});

Deno.test("a torn line that cannot be repaired stops the ledger", async () => {
  await using place = await Place.create();
  const ledger = place.open();
  Deno.writeTextFileSync(place.ledger, '{"only":"a part', { mode: 0o600 });
  assert.equal((await ledger.append(entry(1))).written, false);
  assert.match(ledger.state().reason!, /only record is torn/);
  Deno.writeTextFileSync(place.ledger, `{}\n${"x".repeat(262_200)}`, { mode: 0o600 });
  assert.equal((await ledger.append(entry(2))).written, false);
  assert.match(ledger.state().reason!, /longer than any line/);
  Deno.removeSync(place.ledger);
  assert.equal(await ledger.close(), 0);
  assert.deepEqual(numbers(place), [1, 2], "what had to wait is written first");
});

Deno.test("a full disk loses nothing: entries wait in order and are written when there is room", async () => {
  await using place = await Place.create();
  let room = 2_000;
  const ledger = place.open({}, {
    // A part is written, then the disk is full, as the system does it.
    write: (file, bytes) => {
      const part = bytes.subarray(0, Math.min(bytes.length, room));
      room -= file.writeSync(part);
      if (part.length < bytes.length) {
        throw new Deno.errors.WriteZero("No space left on device (os error 28)");
      }
    },
  });
  const results = [];
  for (let number = 1; number <= 8; number++) results.push(await ledger.append(entry(number)));
  const written = results.filter((result) => result.written).length;
  assert.ok(written >= 2 && written < 8);
  const { status, reason, waiting, lost } = ledger.state();
  assert.deepEqual([status, waiting, lost], ["degraded", 8 - written, 0]);
  assert.match(reason!, /No space left/);
  assert.equal(place.notices.length, 8 - written, "one line for each call that was not recorded");
  await holds(place);
  assert.equal(numbers(place).length, written, "no part of an entry is left behind");

  room = Infinity;
  assert.equal((await ledger.append(entry(9))).written, true);
  assert.deepEqual(numbers(place), [1, 2, 3, 4, 5, 6, 7, 8, 9]);
  assert.equal(ledger.state().status, "ok");
  assert.match(place.notices.at(-1)!, /recording again/);
  await ledger.close();
  await holds(place);
});

Deno.test("a real file system without room behaves the same", async (t) => {
  await using place = await Place.create();
  if (!mountTmpfs(place, "size=64k")) {
    await t.step({ name: "needs the right to mount", ignore: true, fn() {} });
    return;
  }
  try {
    const ledger = place.open();
    let number = 0;
    while ((await ledger.append(entry(++number, 5_000))).written) assert.ok(number < 100);
    assert.match(ledger.state().reason!, /[Nn]o space left/);
    await ledger.append(entry(++number, 5_000));
    await holds(place);
    assert.equal(remount(place, "size=1m"), true);
    assert.equal(await ledger.close(), 0);
    assert.equal(ledger.state().status, "ok");
    assert.equal(numbers(place).length, number);
    await holds(place);
  } finally {
    unmount(place);
  }
});

Deno.test("a read-only folder degrades the ledger and heals", async (t) => {
  await using place = await Place.create();
  await place.fill(1);
  const mounted = Deno.uid() === 0 && mountTmpfs(place, "size=1m");
  if (Deno.uid() === 0 && !mounted) {
    await t.step({ name: "root writes anywhere, and may not mount here", ignore: true, fn() {} });
    return;
  }
  try {
    const ledger = place.open();
    if (mounted) assert.equal(remount(place, "ro"), true);
    else Deno.chmodSync(place.folder, 0o500);
    assert.equal((await ledger.append(entry(2))).written, false);
    assert.match(ledger.state().reason!, /[Rr]ead-only|denied/);
    if (mounted) assert.equal(remount(place, "rw"), true);
    else Deno.chmodSync(place.folder, 0o700);
    assert.equal(await ledger.close(), 0);
    assert.equal(ledger.state().status, "ok");
    await holds(place);
  } finally {
    if (mounted) unmount(place);
  }
});

Deno.test("a process without the permission to write says so and goes on", async () => {
  await using place = await Place.create(true);
  const code = `
    import { openLedger } from ${
    JSON.stringify(new URL("../../audit/mod.ts", import.meta.url).href)
  };
    const notices = [];
    const ledger = openLedger(
      { path: ${JSON.stringify(place.ledger)}, signSeed: null, archive: null },
      { notice: (text) => notices.push(text) },
    );
    const result = await ledger.append({ tool: "a" });
    console.log(JSON.stringify({ result, state: ledger.state(), notices }));
    await ledger.close();
  `;
  const script = place.write("denied.ts", code);
  const { stdout, stderr, code: exit } = await new Deno.Command(Deno.execPath(), {
    args: ["run", "-q", "--no-prompt", "--no-lock", "--allow-read", script],
  }).output();
  assert.equal(exit, 0, new TextDecoder().decode(stderr));
  const { result, state, notices } = JSON.parse(new TextDecoder().decode(stdout));
  assert.deepEqual([result.written, result.kept, state.status], [false, true, "degraded"]);
  assert.match(notices[0], /1 entry not written: .*write access/);
});

Deno.test("nothing is written through links, pipes or second names", async (t) => {
  const trap = async (
    name: string,
    set: (place: Place, outside: string) => void,
    reason: RegExp,
    clear: (place: Place) => void,
  ) => {
    await t.step({
      name,
      ignore: WINDOWS,
      fn: async () => {
        await using place = await Place.create();
        const outside = place.write("outside", "untouched\n");
        set(place, outside);
        const ledger = place.open();
        const result = await ledger.append(entry(1));
        assert.equal(result.written, false);
        assert.match(ledger.state().reason!, reason);
        assert.equal(Deno.readTextFileSync(outside), "untouched\n");
        clear(place);
        assert.equal(await ledger.close(), 0, "heals when the trap is gone");
        assert.equal(ledger.state().status, "ok");
        assert.equal(Deno.readTextFileSync(outside), "untouched\n");
        assert.deepEqual(numbers(place), [1]);
      },
    });
  };
  const remove = (path: (place: Place) => string) => (place: Place) => Deno.removeSync(path(place));
  const ledgerPath = (place: Place) => place.ledger;
  const lockPath = (place: Place) => `${place.ledger}.lock`;
  await trap(
    "the ledger is a link",
    (place, outside) => Deno.symlinkSync(outside, place.ledger),
    /is a symbolic link/,
    remove(ledgerPath),
  );
  await trap(
    "the ledger is a link to nothing",
    (place) => Deno.symlinkSync(`${place.root}/nothing`, place.ledger),
    /is a symbolic link/,
    remove(ledgerPath),
  );
  await trap(
    "the ledger is a second name of another file",
    (place, outside) => Deno.linkSync(outside, place.ledger),
    /more than one name/,
    remove(ledgerPath),
  );
  await trap(
    "the ledger is a pipe",
    (place) =>
      assert.equal(new Deno.Command("mkfifo", { args: [place.ledger] }).outputSync().code, 0),
    /not a regular file/,
    remove(ledgerPath),
  );
  await trap(
    "the lock is a link",
    (place, outside) => Deno.symlinkSync(outside, lockPath(place)),
    /is a symbolic link/,
    remove(lockPath),
  );
  await trap(
    "the lock is a pipe",
    (place) =>
      assert.equal(new Deno.Command("mkfifo", { args: [lockPath(place)] }).outputSync().code, 0),
    /not a regular file/,
    remove(lockPath),
  );
  await trap(
    "the folder is a link",
    (place) => {
      Deno.renameSync(place.folder, `${place.root}/real`);
      Deno.symlinkSync(`${place.root}/real`, place.folder);
    },
    /is a symbolic link/,
    (place) => {
      Deno.removeSync(place.folder);
      Deno.renameSync(`${place.root}/real`, place.folder);
    },
  );
  await trap(
    "the folder is open to others",
    (place) => Deno.chmodSync(place.folder, 0o755),
    /open to group or others/,
    (place) => Deno.chmodSync(place.folder, 0o700),
  );
  await trap(
    "the folder is a file",
    (place) => {
      Deno.removeSync(place.folder);
      Deno.writeTextFileSync(place.folder, "");
    },
    /is not a folder/,
    (place) => Deno.removeSync(place.folder),
  );
});

Deno.test("a ledger replaced by a link while it is in use is not followed", async () => {
  if (WINDOWS) return;
  await using place = await Place.create();
  const ledger = place.open();
  await ledger.append(entry(1));
  Deno.renameSync(place.ledger, `${place.root}/elsewhere`);
  Deno.symlinkSync(`${place.root}/elsewhere`, place.ledger);
  const before = Deno.readTextFileSync(`${place.root}/elsewhere`);
  assert.equal((await ledger.append(entry(2))).written, false);
  assert.match(ledger.state().reason!, /is a symbolic link/);
  assert.equal(Deno.readTextFileSync(`${place.root}/elsewhere`), before);
  Deno.removeSync(place.ledger);
  Deno.renameSync(`${place.root}/elsewhere`, place.ledger);
  assert.equal((await ledger.append(entry(3))).written, true);
  await ledger.close();
  assert.deepEqual(numbers(place), [1, 2, 3]);
});

Deno.test("a changed tail stops the ledger until it is moved away; what waited goes into the new one", async (t) => {
  const broken = async (name: string, harm: (place: Place) => void, reason: RegExp) => {
    await t.step(name, async () => {
      await using place = await Place.create();
      const ledger = place.open();
      await appendMany(ledger, 5);
      harm(place);
      const before = Deno.readTextFileSync(place.ledger);
      assert.equal((await ledger.append(entry(6))).written, false);
      assert.equal((await ledger.append(entry(7))).written, false);
      assert.match(ledger.state().reason!, reason);
      assert.match(place.notices[0]!, /nothing is recorded until the ledger is moved away/);
      assert.equal(Deno.readTextFileSync(place.ledger), before, "no further append");
      Deno.renameSync(place.ledger, place.file("old.jsonl"));
      assert.equal((await ledger.append(entry(8))).written, true);
      assert.equal(ledger.state().status, "ok");
      await ledger.close();
      assert.deepEqual(numbers(place), [6, 7, 8]);
      assert.equal((JSON.parse(place.lines()[0]!) as Entry).sequence, 1);
      assert.match(place.notices.join("\n"), /a new one begins/);
      await holds(place);
    });
  };
  await broken("the newest entry edited", (place) => tamper(place, 4), /entry 5, or one before it/);
  await broken(
    "the newest entries removed",
    (place) => place.setLines(place.lines().slice(0, 2)),
    /entry 5, or one before it/,
  );
  await broken(
    "an entry before the newest removed, in a new file",
    (place) => {
      const lines = place.lines().toSpliced(2, 1);
      Deno.removeSync(place.ledger);
      place.setLines(lines);
      Deno.chmodSync(place.ledger, 0o600);
    },
    /entry 5, or one before it/,
  );
  await broken(
    "a foreign entry appended that does not continue the chain",
    (place) => {
      const line = JSON.parse(place.lines().at(-1)!);
      line.sequence++;
      Deno.writeTextFileSync(place.ledger, canonicalJson(line) + "\n", { append: true });
    },
    /previousHash is not the hash|does not match its entryHash/,
  );
  await broken(
    "the file emptied",
    (place) => Deno.truncateSync(place.ledger, 0),
    /its newest entries are gone/,
  );
});

Deno.test("a file beside the ledger that no ledger can have stops it until it is gone", async () => {
  await using place = await Place.create();
  const ledger = place.open();
  await ledger.append(entry(1));
  Deno.createSync(place.file("mcp.jsonl.segment-x")).close();
  assert.equal((await ledger.append(entry(2))).written, false);
  assert.match(ledger.state().reason!, /is not the name of a rotated segment/);
  assert.equal(await ledger.check(), false);
  Deno.removeSync(place.file("mcp.jsonl.segment-x"));
  assert.equal(await ledger.close(), 0);
  assert.equal(ledger.state().status, "ok");
  assert.deepEqual(numbers(place), [1, 2]);
});

Deno.test("a ledger that is put right again goes on", async () => {
  await using place = await Place.create();
  const ledger = place.open();
  await appendMany(ledger, 3);
  const good = Deno.readTextFileSync(place.ledger);
  tamper(place, 2);
  assert.equal((await ledger.append(entry(4))).written, false);
  Deno.writeTextFileSync(place.ledger, good);
  assert.equal((await ledger.append(entry(5))).written, true);
  await ledger.close();
  assert.deepEqual(numbers(place), [1, 2, 3, 4, 5]);
  await holds(place);
});

Deno.test("a cut while rotated segments remain is no move", async () => {
  await using place = await Place.create();
  const ledger = place.open();
  await appendMany(ledger, 50, { bytes: 200_000 });
  assert.equal(place.segments().length, 2);
  Deno.removeSync(place.ledger);
  assert.equal((await ledger.append(entry(51))).written, false);
  assert.match(ledger.state().reason!, /its newest entries are gone/);
  for (const name of place.segments()) Deno.removeSync(place.file(name));
  assert.equal(await ledger.close(), 0);
  assert.deepEqual(numbers(place), [51]);
});

Deno.test("the check after start finds what no append looks at", async () => {
  await using place = await Place.create();
  await place.fill(60, { bytes: 150_000 });
  const oldest = place.file(place.segments()[0]!);
  const good = Deno.readTextFileSync(oldest);
  const ledger = place.open();
  assert.equal(await ledger.check(), true, "control");
  Deno.writeTextFileSync(oldest, good.replace('"number":9,', '"number":8,'));
  assert.equal((await ledger.append(entry(61))).written, true, "the tail is in order");
  assert.equal(await ledger.check(), false);
  assert.match(
    place.notices.at(-1)!,
    /broken in mcp\.jsonl\.segment-\S+ line 9: sequence 9: content .* until the ledger is moved away/,
  );
  assert.equal((await ledger.append(entry(62))).written, false);
  assert.equal(ledger.state().status, "degraded");
  // Put right: the next append looks again, by itself.
  Deno.writeTextFileSync(oldest, good);
  assert.equal((await ledger.append(entry(63))).written, true);
  assert.equal(ledger.state().status, "ok");
  await ledger.close();
  await holds(place);
});

Deno.test("the check never mistakes appends that run meanwhile for a broken chain", async () => {
  await using place = await Place.create();
  const [one, two] = [place.open(), place.open()];
  const appending = appendMany(one, 100, { bytes: 100_000 });
  const checks = await Promise.all([two.check(), one.check(), two.check()]);
  await appending;
  assert.deepEqual(checks, [true, true, true]);
  assert.deepEqual(place.notices, []);
  await Promise.all([one.close(), two.close()]);
});

Deno.test("memory is bounded while nothing can be written, and what is dropped is counted", async () => {
  await using place = await Place.create();
  Deno.chmodSync(place.folder, 0o755);
  if (WINDOWS) return;
  const ledger = place.open();
  await Promise.all(Array.from({ length: 10_050 }, (_, at) => ledger.append(entry(at + 1))));
  assert.deepEqual([ledger.state().waiting, ledger.state().lost], [10_000, 50]);
  assert.equal(await ledger.flush(), 10_000);
  Deno.chmodSync(place.folder, 0o700);
  assert.equal(await ledger.close(), 0);
  assert.equal(ledger.state().written, 10_000);
  assert.equal((await ledger.append(entry(1))).written, false, "closed");
  assert.equal((await verifyLedger(place.ledger)).chained, 10_000);
});

Deno.test("entries by others are checked as they are met, few or many", async () => {
  await using place = await Place.create();
  const ledger = place.open();
  await ledger.append(entry(1));
  await place.fill(3, { from: 2, config: { signSeed: SEED } });
  await ledger.append(entry(5));
  await place.fill(15, { from: 6, bytes: 100_000 });
  await ledger.append(entry(21));
  assert.deepEqual(numbers(place), Array.from({ length: 21 }, (_, at) => at + 1));
  // Met in the middle of what another appended: a forged line that its neighbours do not know.
  await place.fill(3, { from: 22 });
  const lines = place.lines();
  lines[22] = lines[22]!.replace("repo.status", "repo.stolen");
  Deno.writeTextFileSync(place.ledger, lines.map((line) => line + "\n").join(""));
  assert.equal((await ledger.append(entry(25))).written, false);
  assert.match(ledger.state().reason!, /sequence 23: content does not match/);
  await ledger.close();
});

function mount(args: string[]): boolean {
  if (Deno.build.os !== "linux") return false;
  try {
    return new Deno.Command("mount", { args, stdout: "null", stderr: "null" }).outputSync().success;
  } catch {
    return false;
  }
}

function mountTmpfs(place: Place, options: string): boolean {
  return mount(["-t", "tmpfs", "-o", `${options},mode=700`, "tmpfs", place.folder]);
}

function remount(place: Place, options: string): boolean {
  return mount(["-o", `remount,${options}`, place.folder]);
}

function unmount(place: Place): void {
  assert.equal(new Deno.Command("umount", { args: [place.folder] }).outputSync().success, true);
}
