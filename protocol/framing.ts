/**
 * Bytes to frames and back (`protocol.md` 3.1-3.3). A frame is the text of one JSON-RPC message:
 * a line, or the body after a legacy `Content-Length` header block. Answers are always lines.
 */

/** Longest frame, in bytes. */
export const MAX_FRAME_BYTES = 8_388_608;
/** Longest legacy header block, in bytes, terminators and blank line included. */
export const MAX_HEADER_BYTES = 8_192;
/** Longest line, terminator included: a frame and CR LF. */
const MAX_LINE_BYTES = MAX_FRAME_BYTES + 2;

/**
 * Input after which the start of the next message cannot be known. The connection ends; no JSON-RPC
 * error is written for it. `message` is one short, printable sentence.
 */
export class FramingError extends Error {
  override name = "FramingError";
}

/**
 * Splits a byte stream into frames. Work is linear in the bytes whatever the size of the chunks.
 *
 * @example
 * ```ts
 * const decoder = new FrameDecoder();
 * decoder.push(chunk);
 * for (let frame = decoder.next(); frame !== null; frame = decoder.next()) handle(frame);
 * ```
 */
export class FrameDecoder {
  /** The part of {@link push}'s chunk that was not consumed yet. */
  #chunk: Uint8Array = EMPTY;
  /** The started line or body, from earlier chunks. */
  readonly #started = new ByteBuffer();
  /** Bytes of the header block so far; 0 outside one. */
  #headerBytes = 0;
  /** Length of the body to read; null while lines are read. */
  #bodyBytes: number | null = null;
  /** What the header block being read announced. */
  #announced = 0;
  #ended = false;

  /**
   * Hands over the next bytes. The chunk belongs to the decoder until {@link next} gave null; then
   * the caller may reuse its memory.
   */
  push(chunk: Uint8Array): void {
    if (this.#chunk.length > 0) throw new Error("push() before next() gave null");
    this.#chunk = chunk;
  }

  /** Says that no bytes follow; {@link next} then also gives a last line without terminator. */
  end(): void {
    this.#ended = true;
  }

  /**
   * The next whole frame, or null when more bytes are needed. The bytes are valid until the next
   * call.
   *
   * @throws {FramingError} a frame or header block beyond its limit, a bad or second
   * `Content-Length`, or the end of input inside a header block or body
   */
  next(): Uint8Array | null {
    for (;;) {
      if (this.#bodyBytes !== null) {
        const body = this.#takeBody(this.#bodyBytes);
        if (body !== null) this.#bodyBytes = null;
        return body;
      }
      const line = this.#takeLine();
      if (line === null) return null;
      if (this.#headerBytes > 0) {
        this.#header(line);
      } else if (!isBlank(line)) {
        const value = contentLength(line);
        if (value === null) return trimmedFrame(line);
        this.#openHeader(line, value);
      }
    }
  }

  #openHeader(line: Uint8Array, value: string): void {
    if (this.#ended && line.at(-1) !== LF) throw cutOff("header block");
    this.#announced = parseLength(value);
    this.#countHeader(line);
  }

  #header(line: Uint8Array): void {
    if (this.#ended && line.at(-1) !== LF) throw cutOff("header block");
    this.#countHeader(line);
    if (trimEnd(line).length === 0) {
      this.#headerBytes = 0;
      this.#bodyBytes = this.#announced;
    } else if (contentLength(line) !== null) {
      throw new FramingError("a second Content-Length in one header block; send exactly one");
    }
  }

  #countHeader(line: Uint8Array): void {
    this.#headerBytes += line.length;
    if (this.#headerBytes > MAX_HEADER_BYTES) throw headerTooLong();
  }

  /** The next line with its LF; at the end of input also a last one without. Null: not yet there. */
  #takeLine(): Uint8Array | null {
    const chunk = this.#chunk;
    const at = chunk.indexOf(LF);
    const size = this.#started.length + (at < 0 ? chunk.length : at + 1);
    if (this.#headerBytes + size > MAX_HEADER_BYTES && this.#headerBytes > 0) throw headerTooLong();
    if (size > MAX_LINE_BYTES) throw frameTooLong();
    if (at >= 0) {
      this.#chunk = chunk.subarray(at + 1);
      const line = chunk.subarray(0, at + 1);
      return this.#started.length === 0 ? line : this.#started.finish(line);
    }
    this.#started.add(chunk);
    this.#chunk = EMPTY;
    if (!this.#ended) return null;
    if (this.#started.length > 0) return this.#started.finish(EMPTY);
    if (this.#headerBytes > 0) throw cutOff("header block");
    return null;
  }

  #takeBody(size: number): Uint8Array | null {
    const missing = size - this.#started.length;
    const part = this.#chunk.subarray(0, missing);
    this.#chunk = this.#chunk.subarray(part.length);
    if (part.length === missing) {
      return this.#started.length === 0 ? part : this.#started.finish(part);
    }
    if (this.#ended) throw cutOff("body");
    this.#started.add(part);
    return null;
  }
}

/** Bytes collected over several chunks; grows by doubling, so that tiny chunks stay linear. */
class ByteBuffer {
  #bytes: Uint8Array = EMPTY;
  length = 0;

  add(part: Uint8Array): void {
    const needed = this.length + part.length;
    if (needed > this.#bytes.length) {
      const grown = new Uint8Array(Math.max(needed, this.#bytes.length * 2, 4_096));
      grown.set(this.#bytes.subarray(0, this.length));
      this.#bytes = grown;
    }
    this.#bytes.set(part, this.length);
    this.length = needed;
  }

  /** Everything collected and `last`; the buffer is empty afterwards. */
  finish(last: Uint8Array): Uint8Array {
    this.add(last);
    const whole = this.#bytes.subarray(0, this.length);
    this.length = 0;
    // A rare large frame must not hold its memory for the rest of the connection.
    if (this.#bytes.length > 1_048_576) this.#bytes = EMPTY;
    return whole;
  }
}

const EMPTY = new Uint8Array(0);
const LF = 0x0a;
const CR = 0x0d;
const COLON = 0x3a;

function trimEnd(line: Uint8Array): Uint8Array {
  let end = line.length;
  while (end > 0 && (line[end - 1] === LF || line[end - 1] === CR)) end--;
  return line.subarray(0, end);
}

function trimmedFrame(line: Uint8Array): Uint8Array {
  const frame = trimEnd(line);
  if (frame.length > MAX_FRAME_BYTES) throw frameTooLong();
  return frame;
}

/** Only space, tab, CR, LF and FF. */
function isBlank(line: Uint8Array): boolean {
  return line.every((byte) =>
    byte === 0x20 || byte === 0x09 || byte === CR || byte === LF || byte === 0x0c
  );
}

const HEADER_NAME = "content-length";
const headerDecoder = new TextDecoder("utf-8", { fatal: true });

/** The value of a `Content-Length` header line, or null for any other line. */
function contentLength(line: Uint8Array): string | null {
  if (line[HEADER_NAME.length] !== COLON) return null;
  for (let at = 0; at < HEADER_NAME.length; at++) {
    if (((line[at] ?? 0) | 0x20) !== (HEADER_NAME.charCodeAt(at) | 0x20)) return null;
  }
  if (line[7] !== 0x2d) return null; // `|0x20` would take CR for the hyphen
  let value: string;
  try {
    value = headerDecoder.decode(line.subarray(HEADER_NAME.length + 1));
  } catch {
    return null; // not UTF-8: taken as a frame, refused as JSON
  }
  if (line.length > MAX_HEADER_BYTES) throw headerTooLong();
  return value.trim();
}

function parseLength(value: string): number {
  if (!/^\+?[0-9]+$/.test(value)) throw new FramingError("Content-Length is not a whole number");
  const length = Number(value);
  if (length > MAX_FRAME_BYTES) {
    throw new FramingError(`Content-Length is over the limit of ${MAX_FRAME_BYTES} bytes`);
  }
  return length;
}

function frameTooLong(): FramingError {
  return new FramingError(`a message is over the limit of ${MAX_FRAME_BYTES} bytes`);
}

function headerTooLong(): FramingError {
  return new FramingError(`a header block is over the limit of ${MAX_HEADER_BYTES} bytes`);
}

function cutOff(what: string): FramingError {
  return new FramingError(`input ended inside a ${what}`);
}
