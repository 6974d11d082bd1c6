import type { ConfigEntry } from "./config.ts";

/**
 * Tells whether files that an answer was made from are still the same, by identity, size and times.
 * A file written just before it was read could change again within one tick of the clock: such a
 * stamp is never trusted.
 */
export class FileStamps {
  readonly #stamps: Map<string, string>;
  readonly #trusted: boolean;

  /** @param paths absolute paths, whether they exist or not; @param nowMs wall clock */
  constructor(paths: Iterable<string>, nowMs: number) {
    this.#stamps = new Map();
    let newest = 0;
    for (const path of paths) {
      const { text, changedMs } = stamp(path);
      this.#stamps.set(path, text);
      newest = Math.max(newest, changedMs);
    }
    this.#trusted = newest < nowMs - 50;
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

function stamp(path: string): { text: string; changedMs: number } {
  try {
    const info = Deno.statSync(path);
    // A directory's times change with every lock file in it; only being another one counts.
    if (info.isDirectory) return { text: `${info.dev}:${info.ino}:d:${info.uid}`, changedMs: 0 };
    const mtime = info.mtime?.getTime() ?? 0;
    const ctime = (info as { ctime?: Date | null }).ctime?.getTime() ?? 0;
    return {
      text: `${info.dev}:${info.ino}:${info.size}:${mtime}:${ctime}:${info.uid}`,
      changedMs: Math.max(mtime, ctime),
    };
  } catch (error) {
    return { text: error instanceof Error ? error.name : "unknown", changedMs: 0 };
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
