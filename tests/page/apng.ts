/** Moving pictures out of PNG pictures of one size: the format keeps their compressed data as it is. */

/** One picture and how long it stays. Milliseconds. */
export interface Frame {
  readonly png: Uint8Array;
  readonly ms: number;
}

const SIGNATURE = new Uint8Array([137, 80, 78, 71, 13, 10, 26, 10]);

/** An animated PNG that runs for ever. Throws when the pictures differ in size or kind. */
export function movingPicture(frames: readonly Frame[]): Uint8Array {
  const parsed = frames.map((frame) => ({ ...frame, chunks: chunksOf(frame.png) }));
  const header = parsed[0]!.chunks.find((chunk) => chunk.type === "IHDR")!.data;
  const out: Uint8Array[] = [
    SIGNATURE,
    chunk("IHDR", header),
    chunk("acTL", numbers(frames.length, 0)),
  ];
  let sequence = 0;
  for (const [i, { ms, chunks }] of parsed.entries()) {
    const own = chunks.find((one) => one.type === "IHDR")!.data;
    if (own.some((byte, k) => byte !== header[k])) throw new Error("pictures of different kinds");
    out.push(chunk("fcTL", frameControl(sequence++, header, ms)));
    for (const { type, data } of chunks) {
      if (type !== "IDAT") continue;
      out.push(i === 0 ? chunk("IDAT", data) : chunk("fdAT", join([numbers(sequence++), data])));
    }
  }
  out.push(chunk("IEND", new Uint8Array()));
  return join(out);
}

/** Whole frame, shown for `ms`, replacing what was there. */
function frameControl(sequence: number, header: Uint8Array, ms: number): Uint8Array {
  const delay = new Uint8Array(6);
  const view = new DataView(delay.buffer);
  view.setUint16(0, ms);
  view.setUint16(2, 1_000);
  return join([numbers(sequence), header.slice(0, 8), numbers(0, 0), delay]);
}

function chunksOf(png: Uint8Array): { type: string; data: Uint8Array }[] {
  const view = new DataView(png.buffer, png.byteOffset, png.byteLength);
  const chunks: { type: string; data: Uint8Array }[] = [];
  for (let at = SIGNATURE.length; at < png.length;) {
    const length = view.getUint32(at);
    const type = new TextDecoder().decode(png.subarray(at + 4, at + 8));
    chunks.push({ type, data: png.subarray(at + 8, at + 8 + length) });
    at += 12 + length;
  }
  return chunks;
}

function chunk(type: string, data: Uint8Array): Uint8Array {
  const body = join([new TextEncoder().encode(type), data]);
  return join([numbers(data.length), body, numbers(crc(body))]);
}

function numbers(...values: number[]): Uint8Array {
  const bytes = new Uint8Array(values.length * 4);
  values.forEach((value, i) => new DataView(bytes.buffer).setUint32(i * 4, value >>> 0));
  return bytes;
}

function join(parts: readonly Uint8Array[]): Uint8Array {
  const all = new Uint8Array(parts.reduce((sum, part) => sum + part.length, 0));
  let at = 0;
  for (const part of parts) {
    all.set(part, at);
    at += part.length;
  }
  return all;
}

const TABLE = Uint32Array.from({ length: 256 }, (_, n) => {
  let value = n;
  for (let k = 0; k < 8; k++) value = value & 1 ? 0xedb88320 ^ (value >>> 1) : value >>> 1;
  return value;
});

function crc(bytes: Uint8Array): number {
  let value = 0xffffffff;
  for (const byte of bytes) value = TABLE[(value ^ byte) & 255]! ^ (value >>> 8);
  return (value ^ 0xffffffff) >>> 0;
}
