import type { ConfigEntry } from "./config.ts";

/**
 * Tells whether files that an answer was made from are still the same, by identity, size and times. A
 * modification time can be set back, the time of the last change of any kind cannot; but that one is
 * told in whole seconds. So a stamp of files that changed within the last second is never trusted.
 */
export class FileStamps {
  readonly #stamps: Map<string, string>;
  readonly #trusted: boolean;

  /** @param paths absolute paths, whether they exist or not; @param nowMs wall clock before they were read */
  constructor(paths: Iterable<string>, nowMs: number) {
    this.#stamps = new Map();
    let settled = true;
    for (const path of paths) {
      const { text, settledMs } = stamp(path);
      this.#stamps.set(path, text);
      settled &&= settledMs < nowMs;
    }
    this.#trusted = settled;
  }

  /** True when nothing changed since. About 5 microseconds a file. */
  same(): boolean {
    if (!this.#trusted) return false;
    for (const [path, text] of this.#stamps) {
      if (stamp(path).text !== text) return false;
    }
    return true;
  }
}

/** Milliseconds by which the clock of a file system may be behind the one of the program. */
const TICK_MS = 50;

/** When a file can have no later change with the same times: Unix milliseconds. */
export function settledMs(info: Deno.FileInfo): number {
  const changed = info.ctime?.getTime();
  const second = changed === undefined || changed % 1000 !== 0 ? 0 : 1000;
  return Math.max(info.mtime?.getTime() ?? 0, (changed ?? 0) + second) + TICK_MS;
}

function stamp(path: string): { text: string; settledMs: number } {
  try {
    const info = Deno.statSync(path);
    // A directory's times change with every lock file in it; only being another one counts.
    if (info.isDirectory) return { text: `${info.dev}:${info.ino}:d:${info.uid}`, settledMs: 0 };
    const mtime = info.mtime?.getTime() ?? 0, ctime = info.ctime?.getTime();
    // Without a change time (Windows) the content has to tell.
    const content = ctime === undefined && info.isFile ? Deno.readTextFileSync(path) : "";
    return {
      text: `${info.dev}:${info.ino}:${info.size}:${mtime}:${ctime}:${info.uid}:${content}`,
      settledMs: settledMs(info),
    };
  } catch (error) {
    return { text: error instanceof Error ? error.name : "unknown", settledMs: 0 };
  }
}

/**
 * Every file that can change what `git config --list` says, included ones that do not exist yet too.
 *
 * @param program path of git, beside which its system-wide configuration can lie
 */
export function configFiles(
  entries: readonly ConfigEntry[],
  at: { topLevel: string; gitDir: string; commonDir: string },
  home: string | undefined,
  xdg: string | undefined,
  program = "/usr/bin/git",
): Set<string> {
  const files = new Set([
    `${at.commonDir}/config`,
    `${at.gitDir}/config.worktree`,
    "/etc/gitconfig",
    // Where a git that lives elsewhere looks (Homebrew and others).
    program.replace(/\/bin\/[^/]*$/, "/etc/gitconfig"),
  ]);
  if (home) files.add(`${home}/.gitconfig`);
  if (xdg || home) files.add(`${xdg || `${home}/.config`}/git/config`);
  for (const { origin, key, value } of entries) {
    if (!origin.startsWith("file:")) continue;
    const file = resolve(origin.slice(5), at.topLevel);
    files.add(file);
    if (value !== null && /^include(?:if\..*)?\.path$/s.test(key)) {
      const target = value.startsWith("~/") && home ? home + value.slice(1) : value;
      files.add(resolve(target, file.slice(0, file.lastIndexOf("/"))));
      if (key.startsWith("includeif.onbranch:")) files.add(`${at.gitDir}/HEAD`);
    }
  }
  return files;
}

function resolve(path: string, base: string): string {
  return /^(?:\/|[A-Za-z]:[\\/])/.test(path) ? path : `${base}/${path}`;
}
