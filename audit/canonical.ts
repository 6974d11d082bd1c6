/**
 * Canonical JSON (`audit.md` section 3): the one byte form of a value that hashes, signatures and
 * fingerprints are made over.
 */

/**
 * Writes a value as canonical JSON text; its UTF-8 bytes are the canonical bytes.
 *
 * Keys are sorted by code point, strings escape only what must be escaped, numbers keep their kind:
 * a `bigint` within -2^63..2^64-1 or an integral `number` primitive is an integer (`1`), a boxed
 * `Number` or a fraction is a double (`1.0`, `0.5`, `1e16`). As in `JSON.stringify`, members that are
 * undefined or functions are left out and numbers that are not finite become null. A surrogate
 * without its partner becomes U+FFFD. Depth is bounded by memory only.
 *
 * @throws {TypeError} for a structure that contains itself, or one that is nested absurdly deep
 *
 * @example
 * ```ts
 * import { canonicalJson } from "./canonical.ts";
 *
 * canonicalJson({ b: [1, new Number(1), 2n ** 63n], a: "é" });
 * // {"a":"é","b":[1,1.0,9223372036854775808]}
 * ```
 */
export function canonicalJson(value: unknown): string {
  const scalar = scalarText(value);
  if (scalar !== undefined) return scalar;
  // An explicit stack: hostile arguments may be nested deeper than the call stack is.
  let out = "";
  const stack: Frame[] = [open(value as object)];
  out += stack[0]!.keys ? "{" : "[";
  while (stack.length > 0) {
    const frame = stack[stack.length - 1]!;
    if (frame.next >= frame.length) {
      out += frame.keys ? "}" : "]";
      stack.pop();
      continue;
    }
    const index = frame.next++;
    let child: unknown;
    let prefix = frame.first ? "" : ",";
    if (frame.keys) {
      const key = frame.keys[index]!;
      child = (frame.holder as Record<string, unknown>)[key];
      if (child === undefined || typeof child === "function" || typeof child === "symbol") continue;
      prefix += quote(key) + ":";
    } else {
      child = (frame.holder as unknown[])[index];
    }
    frame.first = false;
    const text = scalarText(child);
    if (text !== undefined) {
      out += prefix + text;
      continue;
    }
    if (stack.length >= MAX_DEPTH) throw new TypeError("nested too deeply for canonical JSON");
    const next = open(child as object);
    out += prefix + (next.keys ? "{" : "[");
    stack.push(next);
  }
  return out;
}

const encoder = new TextEncoder();

/** The canonical bytes of a value; see {@link canonicalJson}. */
export function canonicalBytes(value: unknown): Uint8Array {
  return encoder.encode(canonicalJson(value));
}

/** A structure that contains itself would otherwise never end. */
const MAX_DEPTH = 100_000;

interface Frame {
  holder: object;
  /** Sorted keys of an object; null for an array. */
  keys: string[] | null;
  length: number;
  next: number;
  first: boolean;
}

function open(holder: object): Frame {
  if (Array.isArray(holder)) {
    return { holder, keys: null, length: holder.length, next: 0, first: true };
  }
  let keys = Object.keys(holder);
  if (!keys.every((key) => key.isWellFormed())) {
    // Two such keys may become one; the last wins, so that no key is ever written twice.
    const members = holder as Record<string, unknown>;
    holder = Object.fromEntries(keys.map((key) => [key.toWellFormed(), members[key]]));
    keys = Object.keys(holder);
  }
  return { holder, keys: keys.sort(compareKeys), length: keys.length, next: 0, first: true };
}

/** The text of anything but an array or an object. */
function scalarText(value: unknown): string | undefined {
  switch (typeof value) {
    case "string":
      return quote(value);
    case "number":
      return Number.isInteger(value) && !Object.is(value, -0) && inIntegerRange(value)
        ? BigInt(value).toString()
        : doubleText(value);
    case "bigint":
      return inIntegerRange(value) ? value.toString() : doubleText(Number(value));
    case "boolean":
      return value ? "true" : "false";
    case "object":
      if (value === null) return "null";
      // Structured cloning turns a subclass of Number into a plain one; both are doubles here.
      return value instanceof Number ? doubleText(value.valueOf()) : undefined;
    default:
      return "null";
  }
}

function inIntegerRange(value: number | bigint): boolean {
  // Doubles compare exactly with bigints, so 2^64 itself (a double) is out.
  return value >= -(2n ** 63n) && value <= 2n ** 64n - 1n;
}

/** JSON.stringify escapes exactly what section 3.5 escapes, once no lone surrogate is left. */
export function quote(text: string): string {
  return JSON.stringify(text.isWellFormed() ? text : text.toWellFormed());
}

/**
 * A double with the shortest digits that read back as it (section 3.7).
 *
 * @example
 * ```ts
 * import { doubleText } from "./canonical.ts";
 *
 * [1, 1e16, 1e-6, -0].map(doubleText); // ["1.0", "1e16", "1e-6", "-0.0"]
 * ```
 */
export function doubleText(value: number): string {
  if (!Number.isFinite(value)) return "null";
  if (value === 0) return Object.is(value, -0) ? "-0.0" : "0.0";
  const sign = value < 0 ? "-" : "";
  const [mantissa = "", exponent = "0"] = Math.abs(value).toExponential().split("e");
  const digits = mantissa.replace(".", "");
  const point = Number(exponent) + 1; // digits before the decimal point
  if (digits.length <= point && point <= 16) return `${sign}${digits.padEnd(point, "0")}.0`;
  if (point > 0 && point <= 16) {
    return `${sign}${digits.slice(0, point)}.${digits.slice(point)}`;
  }
  if (point > -5 && point <= 0) return `${sign}0.${"0".repeat(-point)}${digits}`;
  const head = digits.length === 1 ? digits : `${digits[0]}.${digits.slice(1)}`;
  return `${sign}${head}e${point - 1}`;
}

/**
 * Order of UTF-8 bytes, which is the order of code points: UTF-16 units differ from it only where a
 * surrogate meets a unit from U+E000 on.
 */
export function compareKeys(a: string, b: string): number {
  const length = Math.min(a.length, b.length);
  for (let at = 0; at < length; at++) {
    const x = a.charCodeAt(at);
    const y = b.charCodeAt(at);
    if (x !== y) return rank(x) - rank(y);
  }
  return a.length - b.length;
}

function rank(unit: number): number {
  if (unit < 0xd800) return unit;
  return unit >= 0xe000 ? unit - 0x800 : unit + 0x2000;
}
