import { type DecodedPath, decodePath, fromBase64 } from "../common/bytes.ts";

/**
 * Names as Git has them are bytes. Here they are kept as raw text: one character a byte, so that they
 * can be keys, be compared, and go back to Git as they came.
 */

/** Bytes as raw text. */
export function toRaw(bytes: Uint8Array): string {
  let text = "";
  for (let i = 0; i < bytes.length; i += 0x4000) {
    text += String.fromCharCode(...bytes.subarray(i, i + 0x4000));
  }
  return text;
}

/** Raw text as bytes. */
export function fromRaw(raw: string): Uint8Array<ArrayBuffer> {
  const bytes = new Uint8Array(raw.length);
  for (let i = 0; i < raw.length; i++) bytes[i] = raw.charCodeAt(i);
  return bytes;
}

/** The NUL-terminated names in some output. */
export function rawNames(bytes: Uint8Array): string[] {
  const names = toRaw(bytes).split("\0");
  if (names.at(-1) === "") names.pop();
  return names;
}

/** Names as NUL-terminated input for git. */
export function nulInput(names: Iterable<string>): Uint8Array<ArrayBuffer> {
  let text = "";
  for (const name of names) text += name + "\0";
  return fromRaw(text);
}

/** A raw name as answers carry it. */
export function shownName(raw: string): DecodedPath {
  return isAscii(raw) ? { path: raw } : decodePath(fromRaw(raw));
}

/** A raw name as text for people and messages; bytes that are not UTF-8 show as U+FFFD. */
export function textOf(raw: string): string {
  return shownName(raw).path;
}

/** A raw name as the runtime can open it; null when it is not UTF-8. */
export function openable(raw: string): string | null {
  const { path, pathBytes } = shownName(raw);
  return pathBytes === undefined ? path : null;
}

/** Raw text of a name in its two JSON members. */
export function rawOf(name: { readonly path: string; readonly pathBytes?: string }): string {
  return name.pathBytes === undefined
    ? toRaw(new TextEncoder().encode(name.path))
    : toRaw(fromBase64(name.pathBytes));
}

function isAscii(text: string): boolean {
  for (let i = 0; i < text.length; i++) if (text.charCodeAt(i) > 0x7f) return false;
  return true;
}
