import assert from "node:assert/strict";
import {
  FrameDecoder,
  FramingError,
  MAX_FRAME_BYTES,
  MAX_HEADER_BYTES,
} from "../../protocol/framing.ts";

const encoder = new TextEncoder();
const decoder = new TextDecoder("utf-8", { fatal: true });

/** Feeds the input in chunks of `size` bytes whose memory is reused, as a real reader does. */
function frames(input: string | Uint8Array, size = Infinity): Uint8Array[] {
  const bytes = typeof input === "string" ? encoder.encode(input) : input;
  const buffer = new Uint8Array(Math.min(size, Math.max(bytes.length, 1)));
  const found: Uint8Array[] = [];
  const framing = new FrameDecoder();
  const take = () => {
    for (let frame = framing.next(); frame !== null; frame = framing.next()) {
      found.push(frame.slice());
    }
  };
  for (let at = 0; at < bytes.length; at += buffer.length) {
    const part = bytes.subarray(at, at + buffer.length);
    buffer.set(part);
    framing.push(buffer.subarray(0, part.length));
    take();
    buffer.fill(0x21);
  }
  framing.end();
  take();
  return found;
}

const texts = (input: string, size?: number) =>
  frames(input, size).map((frame) => decoder.decode(frame));

function assertFrames(input: string, expected: string[]): void {
  for (const size of [1, 2, 3, 7, 64, Infinity]) assert.deepEqual(texts(input, size), expected);
}

function assertFatal(input: string | Uint8Array, message: RegExp): void {
  for (const size of [...(input.length < 100_000 ? [1, 7] : []), 65_536, Infinity]) {
    assert.throws(() => frames(input, size), (error) => {
      assert(error instanceof FramingError);
      assert.match(error.message, message);
      assert.match(error.message, /^[\x20-\x7e]{1,120}$/);
      return true;
    });
  }
}

Deno.test("each line is a frame, whatever the chunks and line ends", () => {
  assertFrames('{"a":1}\n{"b":2}\r\n{"c":"é"}\n', ['{"a":1}', '{"b":2}', '{"c":"é"}']);
  assertFrames("x\r\r\n y \n", ["x", " y "]);
  assertFrames("not json\n", ["not json"]);
});

Deno.test("lines of only ASCII white space are skipped", () => {
  assertFrames("\n\r\n \t\f\r\n\n1\n  \n2\n \t", ["1", "2"]);
  assertFrames("\u00a0\n", ["\u00a0"]);
  assertFrames("\v\n", ["\v"]);
  assertFrames("", []);
});

Deno.test("a last line without its terminator is a frame", () => {
  assertFrames("1\n2", ["1", "2"]);
  assertFrames("1\r", ["1"]);
});

Deno.test("a Content-Length block gives exactly so many bytes, untrimmed", () => {
  assertFrames("Content-Length: 3\r\n\r\n{}\n", ["{}\n"]);
  assertFrames("content-LENGTH:5\n\n é \n1\n", [" é \n", "1"]);
  assertFrames("Content-Length: 0\r\n\r\n7\n", ["", "7"]);
  assertFrames("Content-Length:\t+02 \r\nContent-Type: x/y\r\n\r\n12Content-Length: 1\n\n3", [
    "12",
    "3",
  ]);
  assertFrames('{"a":1}\nContent-Length: 2\r\n\r\n[]{"b":2}\n', ['{"a":1}', "[]", '{"b":2}']);
});

Deno.test("another header first is taken as a line, and the block after it still counts", () => {
  assertFrames("Content-Type: a\r\nContent-Length: 2\r\n\r\n{}", ["Content-Type: a", "{}"]);
  assertFrames(" Content-Length: 2\n", [" Content-Length: 2"]);
  assertFrames("Content-Length : 2\n", ["Content-Length : 2"]);
  assertFrames("Content\rLength: 2\n", ["Content\rLength: 2"]);
});

Deno.test("a header line that is not UTF-8 is a frame like any other line", () => {
  const line = new Uint8Array([...encoder.encode("Content-Length: "), 0xff, 0x0a]);
  assert.deepEqual(frames(line), [line.subarray(0, -1)]);
});

Deno.test("a length that cannot be read is fatal", () => {
  for (const value of ["", "x", "-1", "1.0", "0x10", "1 2", "1e3", "+", "٣"]) {
    assertFatal(`Content-Length: ${value}\r\n\r\n{}`, /Content-Length/);
  }
  assertFatal("Content-Length: 99999999999999999999\n\n", /limit of 8388608/);
  assertFatal("Content-Length: 8388609\n\n", /limit of 8388608/);
});

Deno.test("a second Content-Length, or the end inside a block or body, is fatal", () => {
  assertFatal("Content-Length: 2\r\nCONTENT-LENGTH: 2\r\n\r\n{}", /second/);
  assertFatal("Content-Length: 2\r\n", /header block/);
  assertFatal("Content-Length: 2", /header block/);
  assertFatal("Content-Length: 2\r\nX: 1", /header block/);
  assertFatal("Content-Length: 2\r\n\r\n{", /body/);
});

Deno.test("a header block of 8,192 bytes is read and one byte more is fatal", () => {
  const block = (bytes: number) => {
    const start = "Content-Length: 2\r\nX: ";
    return `${start}${"x".repeat(bytes - start.length - 4)}\r\n\r\n{}`;
  };
  assertFrames(block(MAX_HEADER_BYTES), ["{}"]);
  assertFatal(block(MAX_HEADER_BYTES + 1), /header block/);
  assertFatal(`Content-Length: ${"0".repeat(MAX_HEADER_BYTES)}2\n\n{}`, /header block/);
  assertFatal(`Content-Length: 2\n${"x".repeat(100_000)}`, /header block/);
  assertFatal(`Content-Length: 2\n${"x:1\n".repeat(3_000)}`, /header block/);
});

Deno.test("a line of 8 MiB is read and one byte more is fatal", () => {
  const line = (bytes: number, end: string) => {
    const whole = new Uint8Array(bytes + end.length).fill(0x20);
    whole[0] = 0x31;
    whole.set(encoder.encode(end), bytes);
    return whole;
  };
  for (const end of ["\n", "\r\n", ""]) {
    assert.equal(frames(line(MAX_FRAME_BYTES, end), 65_536)[0]?.length, MAX_FRAME_BYTES);
  }
  assertFatal(line(MAX_FRAME_BYTES + 1, "\n"), /limit of 8388608/);
  assertFatal(line(MAX_FRAME_BYTES + 1, ""), /limit of 8388608/);
  assertFatal(line(MAX_FRAME_BYTES, "\r\r\n"), /limit of 8388608/);
  // Never ended: refused as soon as the limit is passed, not at the end of input.
  const framing = new FrameDecoder();
  const chunk = new Uint8Array(1_048_576).fill(0x31);
  assert.throws(() => {
    for (let i = 0; i < 9; i++) {
      framing.push(chunk);
      assert.equal(framing.next(), null);
    }
  }, FramingError);
  assertFatal(new Uint8Array(MAX_FRAME_BYTES + 3).fill(0x20), /limit of 8388608/);
});

Deno.test("a body of 8 MiB is read", () => {
  const head = encoder.encode(`Content-Length: ${MAX_FRAME_BYTES}\r\n\r\n`);
  const whole = new Uint8Array(head.length + MAX_FRAME_BYTES + 2).fill(0x31);
  whole.set(head);
  whole.set(encoder.encode("7\n"), head.length + MAX_FRAME_BYTES);
  assert.deepEqual(frames(whole, 65_536).map((frame) => frame.length), [MAX_FRAME_BYTES, 1]);
});

Deno.test("one byte at a time costs a copy a byte, not a copy of all bytes so far", () => {
  const started = performance.now();
  const framing = new FrameDecoder();
  const byte = new Uint8Array([0x31]);
  for (let at = 0; at < 2_000_000; at++) {
    framing.push(byte);
    assert(framing.next() === null);
  }
  framing.push(new Uint8Array([0x0a]));
  assert.equal(framing.next()?.length, 2_000_000);
  // Linear: a fraction of a second. Quadratic: 2 * 10^12 bytes moved, several minutes.
  assert(performance.now() - started < 30_000);
});

Deno.test("a chunk may not replace one that was not consumed", () => {
  const framing = new FrameDecoder();
  framing.push(encoder.encode("1\n2\n"));
  framing.next();
  assert.throws(() => framing.push(encoder.encode("3\n")), /before next/);
});
