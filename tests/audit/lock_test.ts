import assert from "node:assert/strict";
import { verifyLedger } from "../../audit/mod.ts";
import { entry, Place } from "./support.ts";

function numbers(place: Place): number[] {
  return place.lines().map((line) => JSON.parse(line).number as number);
}

Deno.test("a lock held elsewhere delays, is told after a while, and stops nothing else", async () => {
  await using place = await Place.create();
  await using holder = await LockHolder.start(`${place.ledger}.lock`);
  const ledger = place.open({}, { lockWaitMs: 100 });
  let turns = 0;
  const timer = setInterval(() => turns++, 5);
  const result = await ledger.append(entry(1));
  clearInterval(timer);
  assert.equal(result.written, false);
  assert.match(ledger.state().reason!, /another process has held/);
  assert.ok(turns > 1, "the event loop went on");
  // The same place in line serves the later attempts.
  assert.equal((await ledger.append(entry(2))).written, false);
  await holder.release();
  assert.equal((await ledger.append(entry(3))).written, true);
  await ledger.close();
  assert.deepEqual(numbers(place), [1, 2, 3]);
  assert.equal((await verifyLedger(place.ledger)).failure, null);
});

Deno.test("a lock that comes too late is used for what waits, and not kept from others", async () => {
  await using place = await Place.create();
  await using holder = await LockHolder.start(`${place.ledger}.lock`);
  const ledger = place.open({}, { lockWaitMs: 20 });
  assert.equal((await ledger.append(entry(1))).written, false);
  await holder.release();
  // Nothing more is asked of the ledger; another process gets the lock all the same.
  await using other = await LockHolder.start(`${place.ledger}.lock`);
  await other.release();
  while (ledger.state().waiting > 0) await new Promise((resolve) => setTimeout(resolve, 5));
  assert.deepEqual(numbers(place), [1]);
  assert.equal(ledger.state().status, "ok");
  await ledger.close();
});

Deno.test("a lock file that is replaced while we wait for it protects nothing and is not relied on", async () => {
  await using place = await Place.create();
  const lock = `${place.ledger}.lock`;
  await using holder = await LockHolder.start(lock);
  const ledger = place.open({}, { lockWaitMs: 20_000 });
  const appending = ledger.append(entry(1));
  await new Promise((resolve) => setTimeout(resolve, 50));
  Deno.removeSync(lock);
  await using second = await LockHolder.start(lock);
  await holder.release();
  await new Promise((resolve) => setTimeout(resolve, 50));
  assert.equal(place.names().includes("mcp.jsonl"), false, "the new lock is held by another");
  await second.release();
  assert.equal((await appending).written, true);
  await ledger.close();
});

Deno.test("waiting for a lock file that was taken away ends when a new one is there", async () => {
  await using place = await Place.create();
  const lock = `${place.ledger}.lock`;
  await using holder = await LockHolder.start(lock);
  const ledger = place.open({}, { lockWaitMs: 500 });
  assert.equal((await ledger.append(entry(1))).written, false);
  Deno.removeSync(lock);
  assert.equal((await ledger.append(entry(2))).written, true, "the old lock is still held");
  await holder.release();
  await ledger.close();
  assert.deepEqual(numbers(place), [1, 2]);
});

/** Another process that holds a whole-file lock. */
class LockHolder implements AsyncDisposable {
  #released = false;
  private constructor(readonly child: Deno.ChildProcess) {}

  static async start(path: string): Promise<LockHolder> {
    const code = `const f = Deno.openSync(${
      JSON.stringify(path)
    }, {write: true, create: true, mode: 0o600});
      await f.lock(true); console.log("held"); await Deno.stdin.read(new Uint8Array(1));`;
    const child = new Deno.Command(Deno.execPath(), {
      args: ["eval", code],
      stdin: "piped",
      stdout: "piped",
    }).spawn();
    const reader = child.stdout.getReader();
    await reader.read();
    reader.releaseLock();
    return new LockHolder(child);
  }

  async release(): Promise<void> {
    if (this.#released) return;
    this.#released = true;
    await this.child.stdin.close();
    await this.child.stdout.cancel();
    await this.child.status;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.release();
  }
}
