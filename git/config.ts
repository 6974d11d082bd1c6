import { decodeText } from "../common/bytes.ts";
import { GitError } from "./errors.ts";

/** One entry of `git config --list --show-scope --show-origin -z`, in git's order (last one wins). */
export interface ConfigEntry {
  readonly scope: string;
  /** For example `file:/home/x/.gitconfig`; relative ones are relative to where git ran. */
  readonly origin: string;
  /** Section and variable in lower case, subsection as written. */
  readonly key: string;
  /** null for a variable without `=`, which git reads as true. */
  readonly value: string | null;
}

/** The configuration that holds in one repository. Values can hold credentials: they never go into answers. */
export class GitConfig {
  readonly #last = new Map<string, string | null>();
  constructor(readonly entries: readonly ConfigEntry[]) {
    for (const entry of entries) this.#last.set(entry.key, entry.value);
  }

  /** The value that counts, null when the variable has no value, undefined when it is not set. */
  get(key: string): string | null | undefined {
    return this.#last.get(key);
  }

  /** Git's boolean reading; `fallback` when unset or not a boolean. */
  bool(key: string, fallback: boolean): boolean {
    const value = this.#last.get(key);
    if (value === undefined) return fallback;
    if (value === null) return true;
    const word = value.toLowerCase();
    if (["true", "yes", "on"].includes(word)) return true;
    if (["false", "no", "off", ""].includes(word)) return false;
    return /^-?\d+$/.test(word) ? Number(word) !== 0 : fallback;
  }

  /** Subsection names under `section.*.variable`, in order of first appearance. */
  subsections(section: string, variable?: string): string[] {
    const names = new Set<string>();
    for (const { key } of this.entries) {
      const parts = splitKey(key);
      if (
        parts.section === section && parts.subsection !== null &&
        (!variable || parts.variable === variable)
      ) {
        names.add(parts.subsection);
      }
    }
    return [...names];
  }
}

/** Splits `section.sub.section.variable` at its first and last dot. */
export function splitKey(
  key: string,
): { section: string; subsection: string | null; variable: string } {
  const first = key.indexOf("."), last = key.lastIndexOf(".");
  return {
    section: key.slice(0, first === -1 ? undefined : first),
    subsection: last > first ? key.slice(first + 1, last) : null,
    variable: key.slice(last + 1),
  };
}

/** Parses the NUL-separated list: scope, origin, then key, newline, value. */
export function parseConfigList(stdout: Uint8Array): ConfigEntry[] {
  const fields = decodeText(stdout).split("\0");
  const entries: ConfigEntry[] = [];
  for (let i = 0; i + 2 < fields.length; i += 3) {
    const pair = fields[i + 2]!;
    const at = pair.indexOf("\n");
    entries.push({
      scope: fields[i]!,
      origin: fields[i + 1]!,
      key: at === -1 ? pair : pair.slice(0, at),
      value: at === -1 ? null : pair.slice(at + 1),
    });
  }
  return entries;
}

const REPOSITORY_SCOPES = new Set(["local", "worktree"]);
const DRIVER =
  /^(?:filter\..*\.(?:clean|smudge|process|required)|merge\..*\.driver|hook\..*\.command)$/s;

/**
 * Overrides for the drivers that the repository's own files name (`security.md` part 1): each is
 * emptied, or set back to what the user's own configuration says (git-lfs keeps working).
 *
 * Throws {@link GitError} for a driver whose name is not UTF-8: it could not be named, so not be overridden.
 */
export function driverOverrides(entries: readonly ConfigEntry[]): [key: string, value: string][] {
  const own = new Map<string, string>();
  const named = new Set<string>();
  for (const { scope, key, value } of entries) {
    if (!DRIVER.test(key)) continue;
    if (!REPOSITORY_SCOPES.has(scope)) {
      own.set(key, value ?? "true");
      continue;
    }
    if (key.includes("\ufffd")) {
      throw new GitError(
        "failed",
        ["config", "--list"],
        `the repository's configuration names a program for ${
          JSON.stringify(key)
        }, whose name is not UTF-8 and cannot be switched off`,
      );
    }
    named.add(key);
  }
  return [...named].map((key) => {
    const mine = own.get(key);
    if (mine !== undefined) return [key, mine];
    return [key, NEUTRAL[key.slice(key.lastIndexOf(".") + 1)] ?? ""];
  });
}

/** What a driver is set to when the user has none of that name; the others are emptied. */
const NEUTRAL: Record<string, string> = {
  // Set by the repository for a filter that is emptied, this would make every read of it fail.
  required: "false",
  // An empty driver makes git give up; this is what it does without one.
  driver: "git merge-file %A %O %B",
  command: "true",
};

const PROGRAM_KEYS =
  /^(?:core\.(?:fsmonitor|hookspath|sshcommand|gitproxy|editor|pager|askpass|alternaterefscommand)|sequence\.editor|pager\..*|alias\..*|diff\.external|diff\..*\.(?:command|textconv)|filter\..*\.(?:clean|smudge|process)|merge\..*\.driver|gpg\.(?:.*\.)?program|gpg\.ssh\.defaultkeycommand|credential\.(?:.*\.)?helper|remote\..*\.(?:uploadpack|receivepack|vcs|proxy)|uploadpack\.packobjectshook|protocol\.ext\.allow|(?:diff|merge)tool\..*\.cmd|interactive\.difffilter|trailer\..*\.(?:command|cmd)|submodule\..*\.update|tar\..*\.command|hook\..*\.command)$/s;

/**
 * Keys of the repository's own scope that name programs (`repositoryPrograms` of repo.brief), each
 * once, in order. Harmless values (an `fsmonitor` that is off, an alias without `!`) are left out.
 */
export function repositoryPrograms(entries: readonly ConfigEntry[]): string[] {
  const keys = new Set<string>();
  for (const { scope, key, value } of entries) {
    if (!REPOSITORY_SCOPES.has(scope) || !PROGRAM_KEYS.test(key)) continue;
    if (key === "core.fsmonitor" && (value === "" || /^(?:false|no|off|0)$/i.test(value ?? ""))) {
      continue;
    }
    if (/^(?:alias|submodule)\./.test(key) && !(value ?? "").startsWith("!")) continue;
    if (value === "" && key !== "core.hookspath") continue;
    keys.add(key);
  }
  return [...keys];
}
