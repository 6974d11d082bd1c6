import { parseJson, stringifyJson } from "../common/json.ts";
import { readPrivateFile, writePrivateFile } from "../common/private_file.ts";
import type { Repository } from "../git/repository.ts";
import { RestoreError } from "./errors.ts";
import { remove } from "./files.ts";
import type { HiddenRepository } from "./hidden.ts";

/** Git's own lock on the index of a work tree: while it is held no other git writes the index. */
export interface IndexLock {
  /** Makes `content` the index (null: there is none) with the given time, and lets go. */
  commit(content: Uint8Array | null, timeMs: number | null): void;
  /** Lets go and leaves the index as it is. */
  release(): void;
}

/**
 * Takes the lock. Which file it is is remembered, so that one left by a killed process of this program
 * is told apart from another git's and removed by {@link clearInterrupted}.
 *
 * @throws {RestoreError} `busy` when another git holds it
 */
export function lockIndex(repo: Repository, hidden: HiddenRepository): IndexLock {
  const index = `${repo.facts.gitDir}/index`, path = `${index}.lock`;
  // Another name first: the note must say which file it is before the lock can be left behind.
  const draft = `${index}.fluxgit-${crypto.randomUUID()}`;
  let file = Deno.openSync(draft, { read: true, write: true, createNew: true });
  const note = () => {
    const { dev, ino } = file.statSync();
    writePrivateFile(notePath(hidden), stringifyJson({ path, draft, dev, ino }));
  };
  try {
    note();
    try {
      Deno.linkSync(draft, path);
    } catch (error) {
      if (error instanceof Deno.errors.AlreadyExists) throw error;
      // No hard links here: the lock itself, noted a moment later.
      const lock = Deno.openSync(path, { read: true, write: true, createNew: true });
      file.close();
      file = lock;
      note();
    }
  } catch (error) {
    file.close();
    remove(draft);
    remove(notePath(hidden));
    if (!(error instanceof Deno.errors.AlreadyExists)) throw error;
    throw new RestoreError(
      "busy",
      `another git process is at work: ${path} exists; wait, or remove it if none is`,
    );
  }
  remove(draft);
  const done = () => remove(notePath(hidden));
  return {
    commit(content, timeMs) {
      try {
        if (content === null) {
          remove(index);
          remove(path);
        } else {
          for (let at = 0; at < content.length;) at += file.writeSync(content.subarray(at));
          file.syncDataSync();
          // As old as it was: git trusts an entry only when the index is newer than its file.
          if (timeMs !== null) Deno.utimeSync(path, timeMs / 1_000, timeMs / 1_000);
          copyMode(index, path);
          Deno.renameSync(path, index);
        }
      } finally {
        file.close();
      }
      done();
    },
    release() {
      try {
        file.close();
      } catch { /* closed by a commit that failed */ }
      remove(path);
      done();
    },
  };
}

/** Removes a lock that a killed process of this program left. The caller holds the repository's lock. */
export function clearInterrupted(hidden: HiddenRepository): void {
  try {
    const bytes = readPrivateFile(notePath(hidden), 64 * 1024);
    if (bytes === null) return;
    const note = parseJson(new TextDecoder().decode(bytes)) as Record<string, unknown>;
    const { path, draft } = note;
    if (typeof draft === "string" && /\/index\.fluxgit-[0-9a-f-]{36}$/.test(draft)) remove(draft);
    if (typeof path === "string" && path.endsWith("/index.lock")) {
      const info = Deno.lstatSync(path);
      if (info.dev === note["dev"] && info.ino === note["ino"]) Deno.removeSync(path);
    }
  } catch { /* it is gone already, or says nothing */ }
  remove(notePath(hidden));
}

function notePath(hidden: HiddenRepository): string {
  return `${hidden.path}/index-lock.json`;
}

function copyMode(from: string, to: string): void {
  if (Deno.build.os === "windows") return;
  try {
    const mode = Deno.lstatSync(from).mode;
    if (mode !== null) Deno.chmodSync(to, mode & 0o777);
  } catch { /* there was no index: the usual mode */ }
}
