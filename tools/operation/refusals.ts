import { isAbsolutePath, isInside, ROOTS_VARIABLE } from "../../common/allowed_roots.ts";
import { CodedError } from "../../common/errors.ts";
import { printable } from "../../git/errors.ts";

/**
 * What a proposal is refused for before anybody is asked (`tool-schemas.md` section 7, `security.md`
 * S-15, S-19, S-20). The gateway checks again when it admits and when it executes; refusing here lets
 * the caller correct itself at once. Everything throws `CodedError` -32602 naming the field.
 */

/** Fails with the field, the value (bounded, escaped) and what is wrong with it. */
export function refuse(field: string, value: string, problem: string): never {
  throw new CodedError(-32602, "Invalid params", {
    details: `arguments.${field} ${JSON.stringify(printable(value, 200))} ${problem}`,
  });
}

/** Optional texts count as left out when they are blank (`operations.md` 4.4). */
export function given(value: string | undefined): string | undefined {
  return value === undefined || value.trim() === "" ? undefined : value;
}

/** A text that a person reads: it must say something. */
export function checkText(field: string, value: string): void {
  if (value.trim() === "") refuse(field, value, "is blank");
  if (value.includes("\0")) refuse(field, value, "holds a NUL character");
}

/** A revision or ref name: never an option, never with control characters. */
export function checkRef(field: string, value: string): void {
  if (value.trim() === "") refuse(field, value, "is blank");
  if (value.startsWith("-")) refuse(field, value, 'begins with "-"; no ref name does');
  // deno-lint-ignore no-control-regex
  if (/[\u0000-\u001f\u007f]/.test(value)) refuse(field, value, "holds control characters");
}

/** The short name of a branch. */
export function checkBranch(field: string, value: string): void {
  checkRef(field, value);
  if (value.startsWith("refs/")) {
    refuse(field, value, "is a full ref; give the short name of the branch, without refs/heads/");
  }
}

/** The name of a configured remote, never an address (`ext::`, a URL, a path). */
export function checkRemote(field: string, value: string): void {
  checkRef(field, value);
  if (/[:\\]|^[./~]/.test(value)) {
    refuse(field, value, "is an address; give the name of a configured remote");
  }
}

/**
 * A path below the repository: relative, no way up, nothing of git's own directory under any of the
 * names that a file system takes for `.git`.
 */
export function checkPath(field: string, value: string): void {
  if (value.trim() === "") refuse(field, value, "is blank");
  if (value.includes("\0")) refuse(field, value, "holds a NUL character");
  if (
    isAbsolutePath(value, false) || isAbsolutePath(value, true) || /^(?:[A-Za-z]:|\\)/.test(value)
  ) {
    refuse(field, value, "is absolute; give it relative to the top of the work tree");
  }
  const parts = value.split(/[/\\]/);
  if (parts.includes("..")) refuse(field, value, 'holds ".."; paths stay inside the repository');
  if (parts.some(isGitDirectory)) refuse(field, value, "lies in git's own directory");
}

/** Code points that HFS+ ignores in names. */
const IGNORED = /[\u200c-\u200f\u202a-\u202e\u206a-\u206f\ufeff]/g;

/** `.git` as HFS+ and NTFS also write it: other case, ignored characters, trailing dots and blanks, `GIT~1`, streams. */
function isGitDirectory(part: string): boolean {
  const name = part.replace(IGNORED, "").toLowerCase().replace(/:.*$/s, "").replace(/[. ]+$/, "");
  return name === ".git" || name === "git~1";
}

/**
 * Where a new work tree shall lie: below the repository when relative, anywhere that the allowed roots
 * cover when absolute. Throws `CodedError` -32011 outside them.
 */
export function checkNewFolder(
  field: string,
  value: string,
  roots: readonly string[] | null,
  windows = Deno.build.os === "windows",
): void {
  // deno-lint-ignore no-control-regex
  if (/[\u0000-\u001f\u007f]/.test(value)) refuse(field, value, "holds control characters");
  if (value.startsWith("-")) refuse(field, value, 'begins with "-"');
  if (!isAbsolutePath(value, windows)) return checkPath(field, value);
  const parts = value.split(windows ? /[/\\]+/ : /\/+/);
  if (parts.includes("..")) refuse(field, value, 'holds ".."');
  if (parts.some(isGitDirectory)) refuse(field, value, "lies in git's own directory");
  if (roots === null || isInside(nearestReal(value), roots, windows)) return;
  throw new CodedError(-32011, "Repository path is outside the MCP allowed roots", {
    environmentVariable: ROOTS_VARIABLE,
    details: `arguments.${field} is where the new work tree would lie`,
  });
}

/** The canonical form of the nearest folder above that exists: where a link would really lead. */
function nearestReal(path: string): string {
  for (let at = path;; at = at.replace(/[/\\]+[^/\\]*[/\\]*$/, "")) {
    try {
      return Deno.realPathSync(at === "" ? "/" : at);
    } catch {
      if (!/[/\\]/.test(at)) return path;
    }
  }
}
