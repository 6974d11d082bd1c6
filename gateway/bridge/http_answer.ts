/** Reads an HTTP/1.x answer out of the bytes of a connection that nobody vouches for. */

import { JsonError, parseJsonBytes } from "../../common/json.ts";

/** What a gateway answered. */
export interface HttpAnswer {
  /** 200 to 599. */
  readonly status: number;
  readonly body: HttpBody;
}

/** A body is JSON, or it counts as unreadable and `why` says so in one clause. */
export type HttpBody =
  | { readonly readable: true; readonly value: unknown }
  | { readonly readable: false; readonly why: string };

/** The line and the headers of an answer, before its body is read. */
export interface HttpHead {
  readonly status: number;
}

/** The bytes are no answer, or its body cannot be used; `message` is one clause. */
export class UnreadableError extends Error {
  override name = "UnreadableError";
}

const HEAD_BYTES = 16_384;
/** Interim answers (1xx) that are skipped. */
const MAX_INTERIM = 8;
const CHUNK_BYTES = 65_536;
const LF = 0x0a, CR = 0x0d;

const ascii = new TextDecoder("latin1");

/** Reads the head, then the body, of one answer. */
export class AnswerReader {
  readonly #read: (into: Uint8Array) => Promise<number | null>;
  readonly #buffer = new Uint8Array(CHUNK_BYTES);
  /** Bytes read and not yet used. */
  #waiting: Uint8Array = new Uint8Array(0);
  #headers = new Map<string, string[]>();
  #status = 0;

  constructor(read: (into: Uint8Array) => Promise<number | null>) {
    this.#read = read;
  }

  /** Throws {@link UnreadableError} for what is no HTTP answer, and what the connection throws. */
  async head(): Promise<HttpHead> {
    for (let interim = 0; interim <= MAX_INTERIM; interim++) {
      const budget = { bytes: HEAD_BYTES };
      const status = /^HTTP\/1\.[01] ([1-5]\d\d)(?: |$)/.exec(await this.#line(budget))?.[1];
      if (status === undefined) throw new UnreadableError("what answers there is no HTTP server");
      this.#headers = await this.#readHeaders(budget);
      this.#status = Number(status);
      if (this.#status >= 200) return { status: this.#status };
    }
    throw new UnreadableError("too many interim answers");
  }

  /** The body as JSON. Throws {@link UnreadableError}, and what the connection throws. */
  async json(maxBytes: number): Promise<unknown> {
    const encoding = this.#only("content-encoding");
    if (encoding !== undefined && encoding.toLowerCase() !== "identity") {
      throw new UnreadableError("the answer is compressed, which nobody asked for");
    }
    const bytes = await this.#body(maxBytes);
    if (bytes.length === 0) throw new UnreadableError("the answer has no body");
    try {
      return parseJsonBytes(bytes);
    } catch (error) {
      if (error instanceof JsonError) throw new UnreadableError("the answer is not JSON");
      throw error;
    }
  }

  async #body(maxBytes: number): Promise<Uint8Array> {
    if (this.#status === 204 || this.#status === 304) return new Uint8Array(0);
    const transfer = this.#only("transfer-encoding");
    const declared = this.#only("content-length");
    if (transfer !== undefined) {
      // Both at once is how one answer is made to look like two.
      if (declared !== undefined || transfer.toLowerCase() !== "chunked") {
        throw new UnreadableError("the length of the answer cannot be told");
      }
      return await this.#chunked(maxBytes);
    }
    if (declared === undefined) return await this.#untilEnd(maxBytes);
    if (!/^\d{1,15}$/.test(declared)) {
      throw new UnreadableError("the length of the answer cannot be told");
    }
    const length = Number(declared);
    if (length > maxBytes) throw tooLarge(maxBytes);
    const body = new Uint8Array(length);
    await this.#fill(body);
    return body;
  }

  async #chunked(maxBytes: number): Promise<Uint8Array> {
    const parts: Uint8Array[] = [];
    // Sizes of chunks count too: a thousand bytes must not cost a million lines.
    const budget = { bytes: HEAD_BYTES + maxBytes };
    for (let total = 0;;) {
      const size = /^([0-9a-fA-F]{1,8})[ \t]*(?:;.*)?$/.exec(await this.#line(budget))?.[1];
      if (size === undefined) throw new UnreadableError("the answer's chunks are malformed");
      const length = Number.parseInt(size, 16);
      total += length;
      if (total > maxBytes) throw tooLarge(maxBytes);
      if (length === 0) {
        await this.#readHeaders({ bytes: HEAD_BYTES });
        return joined(parts, total);
      }
      const part = new Uint8Array(length);
      await this.#fill(part);
      parts.push(part);
      if (await this.#line(budget) !== "") {
        throw new UnreadableError("the answer's chunks are malformed");
      }
    }
  }

  async #untilEnd(maxBytes: number): Promise<Uint8Array> {
    const parts: Uint8Array[] = [];
    for (let total = 0;;) {
      if (this.#waiting.length > 0) {
        total += this.#waiting.length;
        if (total > maxBytes) throw tooLarge(maxBytes);
        parts.push(this.#waiting.slice());
      }
      if (!await this.#more()) return joined(parts, total);
    }
  }

  /** Header fields by lower-case name, up to the empty line. */
  async #readHeaders(budget: { bytes: number }): Promise<Map<string, string[]>> {
    const headers = new Map<string, string[]>();
    for (;;) {
      const line = await this.#line(budget);
      if (line === "") return headers;
      const field = /^([!#$%&'*+.^_`|~0-9A-Za-z-]+):[ \t]*(.*?)[ \t]*$/.exec(line);
      if (field === null) throw new UnreadableError("the answer's headers are malformed");
      const name = field[1]!.toLowerCase();
      const values = headers.get(name);
      if (values) values.push(field[2]!);
      else headers.set(name, [field[2]!]);
    }
  }

  /** A header that may say only one thing. */
  #only(name: string): string | undefined {
    const [first, ...more] = this.#headers.get(name) ?? [];
    if (more.some((value) => value !== first)) {
      throw new UnreadableError(`the answer has several ${name} headers`);
    }
    return first;
  }

  /** The next line without its end. */
  async #line(budget: { bytes: number }): Promise<string> {
    let text = "";
    for (;;) {
      const at = this.#waiting.indexOf(LF);
      const part = at === -1 ? this.#waiting : this.#waiting.subarray(0, at + 1);
      budget.bytes -= part.length;
      if (budget.bytes < 0) throw new UnreadableError("the answer's headers are too long");
      text += ascii.decode(part);
      if (at !== -1) {
        this.#waiting = this.#waiting.subarray(at + 1);
        const line = text.slice(0, text.charCodeAt(text.length - 2) === CR ? -2 : -1);
        // deno-lint-ignore no-control-regex
        if (/[\u0000\r]/.test(line)) throw new UnreadableError("the answer's lines are malformed");
        return line;
      }
      if (!await this.#more()) throw new UnreadableError("the answer was cut short");
    }
  }

  async #fill(into: Uint8Array): Promise<void> {
    for (let at = 0; at < into.length;) {
      if (this.#waiting.length === 0 && !await this.#more()) {
        throw new UnreadableError("the answer was cut short");
      }
      const part = this.#waiting.subarray(0, into.length - at);
      into.set(part, at);
      at += part.length;
      this.#waiting = this.#waiting.subarray(part.length);
    }
  }

  /** Replaces the used-up buffer by what comes next; false at the end of the connection. */
  async #more(): Promise<boolean> {
    this.#waiting = this.#waiting.subarray(0, 0);
    const n = await this.#read(this.#buffer);
    if (n === null) return false;
    this.#waiting = this.#buffer.subarray(0, n);
    return true;
  }
}

function tooLarge(maxBytes: number): UnreadableError {
  return new UnreadableError(`the answer has more than ${maxBytes} bytes`);
}

function joined(parts: readonly Uint8Array[], total: number): Uint8Array {
  const all = new Uint8Array(total);
  let at = 0;
  for (const part of parts) {
    all.set(part, at);
    at += part.length;
  }
  return all;
}
