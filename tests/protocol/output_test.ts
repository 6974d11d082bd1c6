import assert from "node:assert/strict";
import { OutputQueue, writeAll } from "../../protocol/output.ts";

const bytes = (size: number) => Uint8Array.from({ length: size }, (_, at) => at % 251);

Deno.test("short writes and a full pipe lose and repeat nothing", async () => {
  const taken: number[] = [];
  let calls = 0;
  const sink = {
    writeSync(part: Uint8Array): number {
      calls++;
      if (calls % 3 === 0) throw new Deno.errors.WouldBlock("full");
      if (calls % 5 === 0) return 0;
      const size = Math.min(7, part.length);
      taken.push(...part.subarray(0, size));
      return size;
    },
  };
  await writeAll(sink, bytes(100));
  assert.deepEqual(Uint8Array.from(taken), bytes(100));
});

Deno.test("a reader that went away ends the writing", async () => {
  const sink = {
    writeSync(): number {
      throw new Deno.errors.BrokenPipe("gone");
    },
  };
  await assert.rejects(writeAll(sink, bytes(3)), Deno.errors.BrokenPipe);
});

/** A channel whose writes end when the test says so. */
function slowChannel() {
  const written: string[] = [];
  const ends: (() => void)[] = [];
  const write = (line: Uint8Array) => {
    written.push(new TextDecoder().decode(line));
    return new Promise<void>((resolve) => ends.push(resolve));
  };
  return { written, write, endOne: () => ends.shift()?.() };
}

const silent = { onFailed() {}, onIdle() {} };

Deno.test("messages go out one at a time in the order in which they were queued", async () => {
  const channel = slowChannel();
  let idle = 0;
  const queue = new OutputQueue(channel.write, { onFailed() {}, onIdle: () => idle++ });
  const sent = ["1", "2", "3"].map((text) => queue.send(text).done);
  assert.deepEqual(channel.written, ["1\n"]);
  assert.equal(queue.queuedBytes, 6);
  for (const expected of [["1\n", "2\n"], ["1\n", "2\n", "3\n"]]) {
    channel.endOne();
    await new Promise((resolve) => setTimeout(resolve));
    assert.deepEqual(channel.written, expected);
  }
  assert.equal(idle, 0);
  channel.endOne();
  assert.deepEqual(await Promise.all(sent), [true, true, true]);
  assert.equal(queue.queuedBytes, 0);
  await Promise.resolve();
  assert.equal(idle, 1);
  assert(queue.idle);
});

Deno.test("a message can be taken back until its first byte goes out", async () => {
  const channel = slowChannel();
  const queue = new OutputQueue(channel.write, silent);
  const first = queue.send("1");
  const second = queue.send("2");
  let started = false;
  const third = queue.sendBytes(new TextEncoder().encode("3\n"), () => started = true);
  first.drop();
  second.drop();
  assert(!started);
  channel.endOne();
  assert.equal(await first.done, true);
  assert.equal(await second.done, false);
  assert(started);
  channel.endOne();
  assert.equal(await third.done, true);
  assert.deepEqual(channel.written, ["1\n", "3\n"]);
  assert.equal(queue.queuedBytes, 0);
});

Deno.test("after a failed write nothing more is tried and the owner is told once", async () => {
  let tries = 0;
  const failures: unknown[] = [];
  const queue = new OutputQueue(() => {
    tries++;
    throw new Deno.errors.BrokenPipe("gone");
  }, { onFailed: (error) => failures.push(error), onIdle() {} });
  const sent = [queue.send("1"), queue.send("2"), queue.send(null)];
  assert.deepEqual(await Promise.all(sent.map(({ done }) => done)), [false, false, false]);
  assert.equal(tries, 1);
  assert.equal(failures.length, 1);
});
