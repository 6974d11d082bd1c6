import assert from "node:assert/strict";
import { cutPage, type DiffWindow, WindowCollector } from "../../git/diff_text.ts";

const decoder = new TextDecoder("utf-8", { ignoreBOM: true });
const encoder = new TextEncoder();

/** Reads a whole text page by page, as calls with a cursor do, fed in chunks of an odd size. */
function pages(bytes: Uint8Array, maxBytes: number, maxLines = Infinity, chunk = 7): string[] {
  const texts: string[] = [];
  for (let offset = 0; offset < bytes.length;) {
    const page = cutPage(windowOf(bytes, offset, maxBytes, chunk), maxBytes, maxLines);
    assert.ok(page.bytes > 0, "each page goes on");
    texts.push(page.text);
    offset += page.bytes;
  }
  return texts;
}

function windowOf(bytes: Uint8Array, offset: number, maxBytes: number, chunk: number): DiffWindow {
  const collector = new WindowCollector(offset, maxBytes);
  for (let at = 0; at < bytes.length; at += chunk) {
    assert.equal(collector.push(bytes.subarray(at, at + chunk)), true);
  }
  return collector.window("whole");
}

Deno.test("pages put together are the whole text, whatever the bytes and the size of a page", () => {
  let seed = 42;
  const random = (n: number) => {
    seed = Math.imul(seed, 1_103_515_245) + 12_345 >>> 0;
    return (seed >>> 16) % n;
  };
  const pieces = ["a", "é", "日", "😀", "\n", "\r\n", "\uFEFF", "x".repeat(30)].map((t) =>
    encoder.encode(t)
  ).concat([
    new Uint8Array([0xe9]),
    new Uint8Array([0x80, 0x80, 0x80, 0x80, 0x80]),
    new Uint8Array([0xf0, 0x9f]),
    new Uint8Array([0xf0, 0x80, 0x80]),
    new Uint8Array([0xed, 0xa0, 0x80]),
    new Uint8Array([0]),
  ]);
  for (let round = 0; round < 300; round++) {
    const parts = Array.from({ length: random(60) }, () => pieces[random(pieces.length)]!);
    const bytes = Uint8Array.from(parts.flatMap((part) => [...part]));
    const maxBytes = 1 + random(40), maxLines = random(3) === 0 ? 1 + random(3) : Infinity;
    const texts = pages(bytes, maxBytes, maxLines, 1 + random(20));
    assert.equal(texts.join(""), decoder.decode(bytes));
    for (const text of texts) {
      const size = encoder.encode(text).length;
      // One character, or a run of bytes that are none, is given even when it is longer.
      assert.ok(size <= maxBytes || maxBytes < 12, `${size} bytes for ${maxBytes}`);
      assert.ok((text.match(/\n/g)?.length ?? 0) <= maxLines);
    }
  }
});

Deno.test("a page ends after a line when one fits, else on a character", () => {
  const text = encoder.encode("one\ntwo\nthree\n");
  assert.deepEqual(pages(text, 9), ["one\ntwo\n", "three\n"]);
  assert.deepEqual(pages(text, 8), ["one\ntwo\n", "three\n"]);
  assert.deepEqual(pages(text, 100, 1), ["one\n", "two\n", "three\n"]);
  assert.deepEqual(pages(encoder.encode("éééé\n"), 5), ["éé", "éé\n"]);
  assert.deepEqual(pages(encoder.encode("😀😀"), 1), ["😀", "😀"]);
});

Deno.test("totals count every byte and line, the unfinished last line too, and the hash tells texts apart", () => {
  const window = (text: string) => windowOf(encoder.encode(text), 0, 4, 3);
  assert.deepEqual([window("a\nb").size, window("a\nb").lines], [3, 2]);
  assert.equal(window("a\nb\n").lines, 2);
  assert.equal(window("").lines, 0);
  assert.equal(window("same text").hash, windowOf(encoder.encode("same text"), 5, 2, 9).hash);
  assert.notEqual(window("a\nb\n").hash, window("a\nc\n").hash);
});

Deno.test("past the ceiling nothing more is read", () => {
  const collector = new WindowCollector(0, 10, 100);
  assert.equal(collector.push(new Uint8Array(100)), true, "exactly the ceiling is still whole");
  assert.equal(collector.push(new Uint8Array(1)), false);
  assert.equal(collector.window("ceiling").size, 100);
});
