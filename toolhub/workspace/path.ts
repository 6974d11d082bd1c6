/**
 * What a caller's path may look like, before the disk is asked. Paths are relative to the workspace;
 * whatever another system would take as absolute is refused on every system.
 */

import { HubError, shown } from "../errors.ts";
import { WINDOWS } from "../platform.ts";

/** `read`: files, listings, working directories. `mutation`: what a person is asked to let change. */
export type PathRule = "read" | "mutation";

const MAX_CHARS = 4_096;
const DEVICE = /^(?:con|prn|aux|nul|com[1-9¹²³]|lpt[1-9¹²³]|conin\$|conout\$)$/i;

/**
 * The components of a caller's path, `.` and empty ones left out; none for the workspace itself.
 *
 * @throws {HubError} `ValueError`, with the words `Absolute`, `escapes workspace` or `Malformed`
 */
export function pathComponents(path: string, rule: PathRule, windows = WINDOWS): string[] {
  if (path.includes("\0") || !path.isWellFormed()) {
    throw new HubError("ValueError", `Malformed path ${shown(path)}: it holds a NUL character`);
  }
  if (path.length > MAX_CHARS) {
    throw new HubError("ValueError", `Malformed path ${shown(path)}: it is too long`);
  }
  if (isRooted(path)) {
    throw new HubError(
      "ValueError",
      rule === "read"
        ? `Path ${shown(path)} escapes workspace: give a path relative to the workspace`
        : `Absolute path ${shown(path)} is not allowed: give a path relative to the workspace`,
    );
  }
  if (path.split(/[\\/]/).includes("..")) {
    throw new HubError(
      "ValueError",
      `Path ${shown(path)} escapes workspace: ".." is not allowed anywhere in it`,
    );
  }
  const parts = path.split(windows ? /[\\/]/ : "/").filter((part) => part !== "" && part !== ".");
  if (windows) { for (const part of parts) refuseWindowsName(part, path); }
  return parts;
}

/** Rooted in the syntax of any system: `/x`, `\x`, `C:`, `C:x`, `\\server\share`. */
export function isRooted(path: string): boolean {
  return /^(?:[\\/]|[A-Za-z]:)/.test(path);
}

function refuseWindowsName(part: string, path: string): void {
  const stem = part.split(".", 1)[0]!.replace(/[ .]+$/, "");
  const problem = part.includes(":")
    ? "names a data stream"
    : DEVICE.test(stem)
    ? "names a device"
    : /[ .]$/.test(part)
    ? "has a name that ends in a dot or a space"
    : null;
  if (problem !== null) throw new HubError("ValueError", `Path ${shown(path)} ${problem}`);
}
