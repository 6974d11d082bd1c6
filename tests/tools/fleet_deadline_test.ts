import assert from "node:assert/strict";
import { type Bounds, runBounded, type Timers } from "../../tools/fleet/bounded.ts";
import { scanDigest } from "../../tools/fleet/digest_scan.ts";
import { fleetTargets } from "../../tools/fleet/entries.ts";
import { scanRadar } from "../../tools/fleet/radar_scan.ts";
import { tempScratch } from "../fixtures/call.ts";
import { Sandbox, useSandbox } from "../fixtures/sandbox.ts";
import type { ToolContext } from "../../registry/define.ts";

/** Time stands still until a test moves it on. */
class HandClock implements Timers {
  #now = 0;
  #waiting: { at: number; callback: () => void }[] = [];

  now = () => this.#now;

  after(ms: number, callback: () => void): () => void {
    const timer = { at: this.#now + ms, callback };
    this.#waiting.push(timer);
    return () => void (this.#waiting = this.#waiting.filter((t) => t !== timer));
  }

  get pending(): number {
    return this.#waiting.length;
  }

  advance(ms: number): void {
    this.#now += ms;
    const due = this.#waiting.filter((t) => t.at <= this.#now);
    this.#waiting = this.#waiting.filter((t) => t.at > this.#now);
    for (const { callback } of due) callback();
  }
}

const BOUNDS: Bounds = { concurrency: 2, totalMs: 1_000, itemMs: 400 };
const never = new AbortController().signal;
const turn = () => new Promise((resolve) => setTimeout(resolve, 0));

/** Work that ends only when it is told to. */
function untilAborted(signal: AbortSignal): Promise<never> {
  return new Promise((_, reject) =>
    signal.addEventListener("abort", () => reject(signal.reason), { once: true })
  );
}

Deno.test("at most so many items are in work at once, and outcomes stand in the order of the items", async () => {
  let running = 0, most = 0;
  const told: number[] = [];
  const outcomes = await runBounded(
    [5, 1, 4, 2, 3],
    async (n) => {
      most = Math.max(most, ++running);
      for (let i = 0; i < n; i++) await turn();
      running--;
      if (n === 4) throw new Error("four");
      return n * 10;
    },
    BOUNDS,
    new HandClock(),
    never,
    (settled) => told.push(settled),
  );
  assert.equal(most, 2);
  assert.deepEqual(outcomes.map((o) => o.kind), ["done", "done", "failed", "done", "done"]);
  assert.deepEqual(outcomes.map((o) => (o.kind === "done" ? o.value : null)), [
    50,
    10,
    null,
    20,
    30,
  ]);
  assert.deepEqual(told, [1, 2, 3, 4, 5]);
});

Deno.test("one stuck item runs into its own deadline and the others are answered", async () => {
  const clock = new HandClock();
  const call = runBounded(
    ["stuck", "b", "c"],
    (item, signal) => (item === "stuck" ? untilAborted(signal) : Promise.resolve(item)),
    BOUNDS,
    clock,
    never,
  );
  await turn();
  clock.advance(400);
  const outcomes = await call;
  assert.deepEqual(outcomes.map((o) => o.kind), ["timed_out", "done", "done"]);
  assert.equal(outcomes[0]!.elapsedMs, 400);
  assert.equal(clock.pending, 0, "no timer outlives the call");
});

Deno.test("the deadline of the call keeps what is done, stops what runs and begins nothing more", async () => {
  const clock = new HandClock();
  const begun: string[] = [];
  const call = runBounded(
    ["a", "stuck", "stuck too", "late"],
    (item, signal) => {
      begun.push(item);
      return item.startsWith("stuck") ? untilAborted(signal) : Promise.resolve(item);
    },
    { ...BOUNDS, itemMs: 5_000 },
    clock,
    never,
  );
  await turn();
  clock.advance(1_000);
  const outcomes = await call;
  assert.deepEqual(outcomes.map((o) => o.kind), ["done", "timed_out", "timed_out", "timed_out"]);
  assert.deepEqual(begun, ["a", "stuck", "stuck too"]);
  assert.equal(clock.pending, 0);
});

Deno.test("an item that does not even stop when told to cannot hold the answer for long", async () => {
  const clock = new HandClock();
  let release = () => {};
  const deaf = new Promise<void>((resolve) => release = resolve);
  const call = runBounded(["deaf"], () => deaf, BOUNDS, clock, never);
  await turn();
  clock.advance(1_000);
  clock.advance(60_000);
  assert.deepEqual((await call).map((o) => o.kind), ["timed_out"]);
  release();
  await turn();
});

Deno.test("a cancelled call stops everything that runs", async () => {
  const controller = new AbortController();
  const clock = new HandClock();
  const call = runBounded(
    ["a", "b", "c"],
    (_, signal) => untilAborted(signal),
    BOUNDS,
    clock,
    controller.signal,
  );
  await turn();
  controller.abort();
  assert.deepEqual((await call).map((o) => o.kind), ["timed_out", "timed_out", "timed_out"]);
  assert.equal(clock.pending, 0);
});

function contextOf(): ToolContext {
  return {
    signal: never,
    agentId: "test",
    clientVersion: null,
    roots: null,
    runDir: null,
    env: () => undefined,
    scratch: tempScratch,
    now: Date.now,
    progress() {},
  };
}

/** A repository in which git waits for ever: its index is a pipe that nobody writes to. */
async function stuckRepository(box: Sandbox): Promise<string> {
  const repo = await box.repo("stuck");
  await box.commit(repo, "one", { a: "1\n" });
  await Deno.remove(`${repo}/.git/index`);
  const made = await new Deno.Command("mkfifo", { args: [`${repo}/.git/index`] }).output();
  assert.ok(made.success);
  return repo;
}

async function targetsOf(paths: string[], context: ToolContext) {
  return await fleetTargets(
    paths.map((repoPath, i) => ({ repoPath, location: `arguments.repoPaths[${i}]` })),
    context,
  );
}

/** Moves time on once the others are answered, which real git decides. */
async function answeredThenAdvance(seen: () => number, others: number, clock: HandClock) {
  while (seen() < others) await new Promise((resolve) => setTimeout(resolve, 5));
  clock.advance(60_000);
}

Deno.test("fleet.radar gives what it has when the deadline passes, and says which repositories are missing", async () => {
  await using box = await Sandbox.create();
  useSandbox(box);
  const good = await box.repo("good");
  await box.commit(good, "one", { a: "1\n" });
  const stuck = await stuckRepository(box);
  let seen = 0;
  const context = { ...contextOf(), progress: (n: number) => void (seen = n) };
  const clock = new HandClock();
  const scanning = scanRadar(await targetsOf([stuck, good], context), context, clock);
  await answeredThenAdvance(() => seen, 1, clock);
  const scan = await scanning;
  assert.equal(scan.timedOut, true);
  assert.equal(scan.scanned, 1);
  assert.deepEqual(scan.entries.map((e) => e.status), ["unknown", "no_upstream"]);
  const [late] = scan.entries;
  assert.deepEqual([late!.clean, late!.dirty, late!.summary, late!.errorKind], [
    null,
    null,
    "not read in time",
    "timed_out",
  ]);
  assert.deepEqual(scan.warnings.map((w) => [w.code, w.count]), [["timed_out", 1]]);
  assert.notEqual(scan.entries[1]!.lastCommitTimestamp, null);
});

Deno.test("fleet.digest gives what it has when the deadline passes, and an unread repository has no count", async () => {
  await using box = await Sandbox.create();
  useSandbox(box);
  const good = await box.repo("good");
  await box.commit(good, "one", { a: "1\n" });
  const stuck = await box.repo("late");
  await box.commit(stuck, "one", { a: "1\n" });
  await Deno.remove(`${stuck}/.git/HEAD`);
  assert.ok((await new Deno.Command("mkfifo", { args: [`${stuck}/.git/HEAD`] }).output()).success);
  let seen = 0;
  const context = { ...contextOf(), progress: (n: number) => void (seen = n) };
  const clock = new HandClock();
  const scanning = scanDigest(await targetsOf([stuck, good], context), 0, 10, context, clock);
  await answeredThenAdvance(() => seen, 1, clock);
  const scan = await scanning;
  assert.equal(scan.timedOut, true);
  assert.equal(scan.repos[0]!.eventCount, null);
  assert.match(scan.repos[0]!.error!, /deadline/);
  assert.equal(scan.repos[1]!.eventCount, 1);
  assert.deepEqual(scan.events.map((e) => e.kind), ["commit"]);
  assert.equal(scan.warnings[0]!.code, "timed_out");
});
