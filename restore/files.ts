import type { Repository } from "../git/repository.ts";
import { reasonOf, RestoreError } from "./errors.ts";
import type { FileChange } from "./file_plan.ts";
import type { HiddenRepository } from "./hidden.ts";
import { list } from "./hold.ts";
import { openable } from "./raw.ts";
import { isStateName, stateFolders } from "./state_files.ts";

/**
 * Writes the work tree from one tree of the hidden repository to another. Git does it with the private
 * index: it first checks that every file it would touch is as captured and that nothing unknown stands
 * in the way, and it follows no link that stands where a folder should (`security.md` P-12, P-17).
 *
 * @throws {RestoreError} `stale` when git refuses; then no file was touched
 */
export async function writeTree(
  hidden: HiddenRepository,
  from: string,
  to: string,
): Promise<void> {
  if (from === to) return;
  const check = await hidden.run(["read-tree", "-m", "-u", "-n", from, to], { okCodes: "any" });
  if (check.code !== 0) {
    throw new RestoreError(
      "stale",
      `git refuses to bring the files back, no file was touched: ${
        reasonOf(check.stderr.trim() || "no reason given")
      }`,
    );
  }
  await hidden.run(["read-tree", "-m", "-u", from, to]);
}

/** Gives files the permission bits they had: `modes` holds the unusual ones. */
export function writePermissions(
  repo: Repository,
  written: readonly FileChange[],
  now: ReadonlyMap<string, number>,
  target: ReadonlyMap<string, number>,
  left: ReadonlySet<string>,
): void {
  if (Deno.build.os === "windows") return;
  const wanted = new Map<string, number>();
  for (const { name, newMode } of written) {
    if (newMode === "100644" || newMode === "100755") {
      wanted.set(name, target.get(name) ?? Number.parseInt(newMode.slice(3), 8));
    }
  }
  for (const name of new Set([...now.keys(), ...target.keys()])) {
    if (left.has(name) || wanted.has(name) || now.get(name) === target.get(name)) continue;
    wanted.set(name, target.get(name) ?? -1);
  }
  for (const [name, mode] of wanted) {
    const path = openable(name);
    if (path === null) continue;
    const full = `${repo.facts.topLevel}/${path}`;
    const info = plainFile(repo, path);
    if (!info) continue;
    const bits = (info.mode ?? 0) & 0o7777;
    // No unusual bits in the point: one of the two usual ones, by the executable bit.
    const want = mode === -1 ? ((bits & 0o100) ? 0o755 : 0o644) : mode;
    if (bits !== want) Deno.chmodSync(full, want);
  }
}

/** The file itself when it is regular and no folder on the way is a link. */
function plainFile(repo: Repository, path: string): Deno.FileInfo | null {
  let at = repo.facts.topLevel!;
  const parts = path.split("/");
  try {
    for (const [i, part] of parts.entries()) {
      at += `/${part}`;
      const info = Deno.lstatSync(at);
      if (i === parts.length - 1) return info.isFile ? info : null;
      if (!info.isDirectory) return null;
    }
  } catch { /* it is gone again */ }
  return null;
}

/** Makes the files of an operation in progress those of the point. */
export function writeState(
  repo: Repository,
  names: readonly string[],
  target: ReadonlyMap<string, Uint8Array>,
): void {
  const dir = repo.facts.gitDir;
  for (const name of names) {
    if (!isStateName(name)) continue;
    const content = target.get(name);
    const path = `${dir}/${name}`;
    if (content === undefined) {
      remove(path);
      continue;
    }
    const parts = name.split("/").slice(0, -1);
    let folder = dir;
    for (const part of parts) {
      folder += `/${part}`;
      try {
        Deno.mkdirSync(folder);
      } catch (error) {
        if (!(error instanceof Deno.errors.AlreadyExists)) throw error;
        if (!Deno.lstatSync(folder).isDirectory) throw new Error(`${folder} is not a folder`);
      }
    }
    replaceFile(path, content);
  }
  for (const folder of stateFolders(repo)) {
    if (list(`${dir}/${folder}`).length === 0) Deno.removeSync(`${dir}/${folder}`);
  }
}

/** Writes a file of the git directory whole or not at all; a link in its place is replaced. */
export function replaceFile(path: string, content: Uint8Array): void {
  const temporary = `${path}.fluxgit-${crypto.randomUUID()}`;
  try {
    using file = Deno.openSync(temporary, { write: true, createNew: true });
    for (let at = 0; at < content.length;) at += file.writeSync(content.subarray(at));
    file.syncDataSync();
    Deno.renameSync(temporary, path);
  } catch (error) {
    remove(temporary);
    throw error;
  }
}

/** Removes a file or link; one that is not there is fine. */
export function remove(path: string): void {
  try {
    Deno.removeSync(path);
  } catch (error) {
    if (!(error instanceof Deno.errors.NotFound)) throw error;
  }
}
