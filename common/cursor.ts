import { decodeText, encodeText, fromBase64, toBase64 } from "./bytes.ts";
import { CodedError } from "./errors.ts";

/**
 * Cursors: opaque to clients, short, and tied to the tool that made them. They name the last item
 * given, not a count, so that a page stays right while new items arrive before it.
 */
export function encodeCursor(tool: string, parts: readonly (string | number)[]): string {
  return toBase64(encodeText(JSON.stringify([tool, ...parts]))).replaceAll("+", "-").replaceAll(
    "/",
    "_",
  ).replace(/=+$/, "");
}

/** Gives the parts back. Throws `CodedError` -32602 for anything that this tool did not make. */
export function decodeCursor(tool: string, cursor: string): (string | number)[] {
  try {
    const value: unknown = JSON.parse(
      decodeText(fromBase64(cursor.replaceAll("-", "+").replaceAll("_", "/"))),
    );
    if (
      Array.isArray(value) && value[0] === tool &&
      value.every((v) => typeof v === "string" || typeof v === "number")
    ) {
      return value.slice(1);
    }
  } catch { /* said below */ }
  throw new CodedError(-32602, "Invalid params", {
    details:
      "arguments.cursor is not one that this tool gave out; leave it out to start from the beginning",
  });
}
