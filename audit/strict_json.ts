/**
 * JSON that is verified or obeyed: as strict as `common/json.ts`, and no key twice. Two readers of
 * `{"a":1,"a":2}` may disagree about it, so neither a signature nor a rule can rest on it.
 */

import { JsonError, parseJson, printable } from "../common/json.ts";

/**
 * Reads one JSON text. Number kinds are those of `parseJson`, so that canonical JSON of the result is
 * exact.
 *
 * @throws {JsonError} as `parseJson`, and when an object at any depth has a key twice
 *
 * @example
 * ```ts
 * import { parseStrictJson } from "./strict_json.ts";
 *
 * parseStrictJson('{"a":1}'); // { a: 1 }
 * // parseStrictJson('{"a":1,"\\u0061":2}') throws: the key "a" stands twice
 * ```
 */
export function parseStrictJson(text: string): unknown {
  const value = parseJson(text);
  refuseRepeatedKeys(text);
  return value;
}

const decoder = new TextDecoder("utf-8", { fatal: true, ignoreBOM: true });

/** As {@link parseStrictJson}, from UTF-8 bytes. */
export function parseStrictJsonBytes(bytes: Uint8Array): unknown {
  let text: string;
  try {
    text = decoder.decode(bytes);
  } catch {
    throw new JsonError("not valid UTF-8");
  }
  return parseStrictJson(text);
}

// Tokens of a text that is known to be JSON; everything else is skipped.
const TOKEN = /"[^"\\]*(?:\\.[^"\\]*)*"(\s*:)?|[{}]/g;

/** @param text a valid JSON text */
function refuseRepeatedKeys(text: string): void {
  const open: Set<string>[] = [];
  for (const match of text.matchAll(TOKEN)) {
    const token = match[0];
    if (token === "{") open.push(new Set());
    else if (token === "}") open.pop();
    else if (match[1] !== undefined) {
      // Escapes are resolved first: "a" and "\u0061" are the same key.
      const key = JSON.parse(token.slice(0, token.length - match[1].length)) as string;
      const keys = open[open.length - 1]!;
      if (keys.has(key)) throw new JsonError(`the key ${printable(key, 60)} stands twice`);
      keys.add(key);
    }
  }
}
