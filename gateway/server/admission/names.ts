import { isAbsolutePath } from "../../../common/allowed_roots.ts";
import { invalid, shown } from "../refusal.ts";
import { checkText } from "./fields.ts";

/** Names and paths inside proposals (`operations.md` A1): refused here whatever the sender checked. */

// deno-lint-ignore no-control-regex
const CONTROL = /[\u0000-\u001f\u007f]/;

/** A revision: not an option, no control characters, not blank. */
export function checkRef(value: unknown, at: string): string {
  const text = checkText(value, at, { max: 4_096 });
  if (text.startsWith("-") || CONTROL.test(text) || text.trim() === "") {
    throw invalid(
      `${at} ${shown(text)} may not be blank, begin with "-" or hold control characters`,
    );
  }
  return text;
}

/** A short branch name that git would accept: no `refs/` in front, none of the forms git refuses. */
export function checkBranch(value: unknown, at: string): string {
  const text = checkRef(value, at);
  if (text.startsWith("refs/")) {
    throw invalid(`${at} ${shown(text)} must be a short branch name, without refs/`);
  }
  const bad = /\.\.|@\{|[ ~^:?*[\\]|\/\/|^\/|\/$|\.$|\.lock(?:\/|$)|(?:^|\/)\./;
  if (bad.test(text) || text === "@" || text === "HEAD") {
    throw invalid(`${at} ${shown(text)} is not a branch name that git accepts`);
  }
  return text;
}

/**
 * A path inside the work tree, relative, with `/`. Refused: absolute ones, `..`, empty parts, NUL,
 * and anything that is or could be read as `.git` on any file system (`security.md` S-20).
 */
export function checkInnerPath(value: unknown, at: string): string {
  const text = checkText(value, at, { max: 32_768 });
  if (text.includes("\0")) throw invalid(`${at} holds a NUL character`);
  if (isAbsolutePath(text, false) || isAbsolutePath(text, true)) {
    throw invalid(`${at} ${shown(text)} must be relative to the top of the work tree`);
  }
  const parts = text.replace(/\/+$/, "").split("/");
  for (const part of parts) {
    if (part === ".." || part === "" || (part === "." && parts.length > 1)) {
      throw invalid(`${at} ${shown(text)} may not hold "..", "." or empty parts`);
    }
    if (isDotGit(part)) throw invalid(`${at} ${shown(text)} lies inside a git directory`);
  }
  return text;
}

/** `.git` and what other file systems read as it: case, trailing dots and spaces, streams, short names, ignorable characters. */
export function isDotGit(part: string): boolean {
  const plain = part
    .replace(/[\u200c\u200d\u200e\u200f\u202a-\u202e\u206a-\u206f\ufeff]/g, "")
    .toLowerCase()
    .replace(/:.*$/, "")
    .replace(/[. ]+$/, "");
  return plain === ".git" || /^git~\d+$/.test(plain) ||
    plain.split("\\").some((piece) => piece !== plain && isDotGit(piece));
}

/** An absolute path of this platform. */
export function checkAbsolutePath(value: unknown, at: string, windows: boolean): string {
  const text = checkText(value, at, { max: 32_768 });
  // deno-lint-ignore no-control-regex
  if (/[\u0000\n\r]/.test(text) || !isAbsolutePath(text, windows)) {
    throw invalid(`${at} ${shown(text)} must be an absolute path without line ends`);
  }
  if (text.split(windows ? /[\\/]/ : "/").includes("..")) {
    throw invalid(`${at} ${shown(text)} may not hold ..`);
  }
  return text;
}
