/**
 * JSON as the wire contract wants it (`protocol.md` 3.4): `JSON.parse` with the strictness and the
 * number kinds that it lacks. Ordinary texts pay one scan without allocation and one `JSON.parse`;
 * only a text that holds an unusual number is revived value by value.
 */

/** Deepest nesting of arrays and objects that is read; one more is refused. */
export const MAX_JSON_DEPTH = 127;

const INT64_MIN = -(2n ** 63n);
const UINT64_MAX = 2n ** 64n - 1n;

/**
 * A number with an integral value that was not written as an integer: `5.0`, `1e3`, `-0`, or digits
 * beyond -2^63..2^64-1. It is boxed so that an integer check can refuse it although its value is
 * integral; arithmetic, `valueOf()` and {@link stringifyJson} treat it as the number it holds.
 */
export class FloatToken extends Number {}

/** Text that is not JSON, or JSON that the contract refuses. `message` is bounded and printable. */
export class JsonError extends Error {
  override name = "JsonError";
}

/**
 * True for a value read from an integer token: a safe integer, or a bigint within -2^63..2^64-1.
 *
 * @example
 * ```ts
 * isIntegerToken(parseJson("5")); // true
 * isIntegerToken(parseJson("5.0")); // false
 * ```
 */
export function isIntegerToken(value: unknown): value is number | bigint {
  return typeof value === "bigint" || (typeof value === "number" && Number.isInteger(value));
}

/** True for any value read from a number token: number, bigint or {@link FloatToken}. */
export function isNumberToken(value: unknown): value is number | bigint | FloatToken {
  return typeof value === "number" || typeof value === "bigint" || value instanceof FloatToken;
}

/**
 * Reads one JSON text.
 *
 * Numbers become: `number` for integers up to 2^53-1 and for fractions, `bigint` for larger integer
 * tokens within -2^63..2^64-1, {@link FloatToken} for every other token with an integral value. The
 * last of several equal keys wins; `__proto__` is a key like any other (an own property).
 *
 * @throws {JsonError} not JSON, a byte order mark, a surrogate without its partner, a number outside
 * the range of a double, or nesting beyond {@link MAX_JSON_DEPTH}
 */
export function parseJson(text: string): unknown {
  if (!text.isWellFormed()) throw new JsonError("a surrogate without its partner");
  if (text.includes("\\u")) refuseLoneEscapes(text);
  const unusual = scan(text);
  try {
    return unusual ? JSON.parse(text, reviveNumber as Reviver) : JSON.parse(text);
  } catch (error) {
    throw new JsonError(printable(error instanceof Error ? error.message : String(error), 200));
  }
}

// A byte order mark must stay visible, so that it is refused like any other stray character.
const decoder = new TextDecoder("utf-8", { fatal: true, ignoreBOM: true });

/**
 * Reads one JSON text from UTF-8 bytes.
 *
 * @throws {JsonError} as {@link parseJson}, and for bytes that are not UTF-8
 */
export function parseJsonBytes(bytes: Uint8Array): unknown {
  let text: string;
  try {
    text = decoder.decode(bytes);
  } catch {
    throw new JsonError("not valid UTF-8");
  }
  return parseJson(text);
}

/**
 * Writes compact JSON: bigint as plain decimal digits, {@link FloatToken} as a number, and a
 * surrogate without its partner as U+FFFD (strict readers refuse the escape that `JSON.stringify`
 * would write).
 *
 * @throws {TypeError} a value without a JSON form: undefined, a function, a circular structure
 */
export function stringifyJson(value: unknown): string {
  let text: string | undefined;
  try {
    text = JSON.stringify(value);
  } catch (error) {
    if (!(error instanceof TypeError)) throw error;
    // Either a bigint, which the second form can write, or a circle, which throws again.
    text = JSON.stringify(value, writeBigint);
  }
  if (text === undefined) throw new TypeError("the value has no JSON form");
  // A well-formed text has no such escape: JSON.stringify escapes only surrogates without partner.
  return text.includes("\\ud") ? text.replace(ESCAPE, dropLoneEscape) : text;
}

/**
 * A text for messages: cut to `max` UTF-16 units, everything but printable ASCII as `\u{hex}`.
 * Hostile input quoted in an error then cannot steer a terminal or hide characters.
 */
export function printable(text: string, max: number): string {
  let out = "";
  for (const char of text.slice(0, max)) {
    const code = char.codePointAt(0) ?? 0;
    out += code >= 0x20 && code < 0x7f ? char : `\\u{${code.toString(16)}}`;
  }
  return text.length > max ? out + "..." : out;
}

type Reviver = (this: unknown, key: string, value: unknown) => unknown;

function reviveNumber(this: unknown, _key: string, value: unknown, context: { source?: string }) {
  if (typeof value !== "number" || !Number.isInteger(value)) return value;
  const source = context.source ?? "";
  if (isFloatSource(source)) return new FloatToken(value);
  if (Number.isSafeInteger(value)) return value;
  const exact = BigInt(source);
  return exact >= INT64_MIN && exact <= UINT64_MAX ? exact : new FloatToken(value);
}

function isFloatSource(source: string): boolean {
  return source === "-0" || /[.eE]/.test(source);
}

/**
 * Walks the text once, strings skipped, nothing allocated for ordinary tokens.
 *
 * @returns true when a number token needs {@link reviveNumber}
 */
function scan(text: string): boolean {
  const end = text.length;
  let depth = 0;
  let unusual = false;
  for (let at = 0; at < end; at++) {
    const code = text.charCodeAt(at);
    if (code === QUOTE) {
      at = closingQuote(text, at);
      if (at < 0) return unusual; // JSON.parse names the place
    } else if (code === OPEN_BRACKET || code === OPEN_BRACE) {
      if (++depth > MAX_JSON_DEPTH) {
        throw new JsonError(`nested deeper than ${MAX_JSON_DEPTH} levels`);
      }
    } else if (code === CLOSE_BRACKET || code === CLOSE_BRACE) {
      depth--;
    } else if (code === MINUS || (code >= ZERO && code <= NINE)) {
      const start = at;
      let float = false;
      for (at++; at < end && isNumberChar(text.charCodeAt(at)); at++) {
        const next = text.charCodeAt(at);
        float ||= next === DOT || (next | 0x20) === LOWER_E;
      }
      if (float || at - start > 15 || (code === MINUS && text.charCodeAt(start + 1) === ZERO)) {
        unusual = isUnusual(text, start, at, float) || unusual;
      }
      at--;
    }
  }
  return unusual;
}

const QUOTE = 0x22;
const MINUS = 0x2d;
const PLUS = 0x2b;
const DOT = 0x2e;
const ZERO = 0x30;
const NINE = 0x39;
const OPEN_BRACKET = 0x5b;
const BACKSLASH = 0x5c;
const CLOSE_BRACKET = 0x5d;
const LOWER_E = 0x65;
const OPEN_BRACE = 0x7b;
const CLOSE_BRACE = 0x7d;

function isNumberChar(code: number): boolean {
  return (code >= ZERO && code <= NINE) || code === DOT || code === PLUS || code === MINUS ||
    (code | 0x20) === LOWER_E;
}

/** A fraction with a fractional value is what `JSON.parse` gives; all else needs a closer look. */
function isUnusual(text: string, start: number, end: number, float: boolean): boolean {
  const value = Number(text.slice(start, end));
  // NaN: not a number token after all; JSON.parse will say so.
  if (value === Infinity || value === -Infinity) {
    throw new JsonError(`number out of range: ${printable(text.slice(start, end), 40)}`);
  }
  return float || Object.is(value, -0) ? Number.isInteger(value) : !Number.isSafeInteger(value);
}

/** @returns index of the quote that ends the string opened at `open`, or -1 */
function closingQuote(text: string, open: number): number {
  for (let at = text.indexOf('"', open + 1); at >= 0; at = text.indexOf('"', at + 1)) {
    let before = at;
    while (text.charCodeAt(before - 1) === BACKSLASH) before--;
    if ((at - before) % 2 === 0) return at;
  }
  return -1;
}

/** `JSON.parse` takes `"\ud800"`; the contract does not. Outside strings it reports backslashes. */
function refuseLoneEscapes(text: string): void {
  for (let at = text.indexOf("\\"); at >= 0; at = text.indexOf("\\", at)) {
    if (text[at + 1] !== "u") {
      at += 2;
      continue;
    }
    const unit = Number.parseInt(text.slice(at + 2, at + 6), 16);
    at += 6;
    if (!(unit >= 0xd800 && unit <= 0xdfff)) continue;
    const partner = text.startsWith("\\u", at)
      ? Number.parseInt(text.slice(at + 2, at + 6), 16)
      : Number.NaN;
    if (unit >= 0xdc00 || !(partner >= 0xdc00 && partner <= 0xdfff)) {
      throw new JsonError("a surrogate escape without its partner");
    }
    at += 6;
  }
}

// The escapes of a JSON text one after another, so that `\\ud800` is not taken for a surrogate.
const ESCAPE = /\\(?:u(d[89a-f][0-9a-f]{2})|[^])/g;

function dropLoneEscape(escape: string, surrogate: string | undefined): string {
  return surrogate === undefined ? escape : "\ufffd";
}

const { rawJSON } = JSON as unknown as { rawJSON(text: string): unknown };

function writeBigint(_key: string, value: unknown): unknown {
  return typeof value === "bigint" ? rawJSON(value.toString()) : value;
}
