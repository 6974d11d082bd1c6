import { decodeText } from "../common/bytes.ts";
import { makePrivateFolder, readPrivateFile, writePrivateFile } from "../common/private_file.ts";
import { REGISTRY_LIMITS } from "../common/repository_registry.ts";
import type { Repository } from "../git/repository.ts";
import { RestoreError } from "./errors.ts";

/**
 * Which id a repository has: `<run_dir>/repos/<repoId>.path` holds its exact canonical path
 * (`read-tools.md` 0.7). `common/repository_registry.ts` lists the same files for the fleet tools.
 */

/** The path under which a repository is registered and listed: the top of its work tree, or the bare one itself. */
export function repositoryPath(repo: Repository): string {
  return repo.path;
}

/** True for an id that may become part of a file name and of a ref. */
export function isRepoId(text: string): boolean {
  return /^[A-Za-z0-9_](?:[A-Za-z0-9._-]{0,126}[A-Za-z0-9_-])?$/.test(text) &&
    !text.includes("..") && !text.endsWith(".lock");
}

/**
 * The id that a repository is registered under; null when it is not. The stored text must equal the
 * canonical path. Links, other kinds of file and too large ones are passed over.
 *
 * @param repoPath canonical
 */
export function findRepoId(runDir: string, repoPath: string): string | null {
  let looked = 0;
  const found: string[] = [];
  try {
    for (const entry of Deno.readDirSync(`${runDir}/repos`)) {
      if (++looked > REGISTRY_LIMITS.entries) break;
      if (!entry.isFile || !entry.name.endsWith(".path")) continue;
      const repoId = entry.name.slice(0, -5);
      if (isRepoId(repoId) && registeredPath(runDir, repoId) === repoPath) found.push(repoId);
    }
  } catch (error) {
    if (!(error instanceof Deno.errors.NotFound)) throw error;
  }
  // Directory order is chance: the same one every time.
  return found.sort()[0] ?? null;
}

/** The path that an id is registered for; null when there is none or its file cannot be trusted. */
export function registeredPath(runDir: string, repoId: string): string | null {
  if (!isRepoId(repoId)) return null;
  try {
    const bytes = readPrivateFile(`${runDir}/repos/${repoId}.path`, REGISTRY_LIMITS.fileBytes);
    return bytes === null ? null : decodeText(bytes).trim();
  } catch {
    return null;
  }
}

/**
 * Registers a repository and gives its id; the one it has when it is registered already. The id is
 * the folder's name made safe and eight digits of the path's hash, so it is the same on every machine
 * run and stays when the file is lost.
 *
 * @param repoPath canonical path of an existing directory
 * @throws {RestoreError} `cannot_make` when the path is not canonical or the file cannot be written
 */
export async function registerRepository(runDir: string, repoPath: string): Promise<string> {
  if (/[\n\r\0]/.test(repoPath) || repoPath !== repoPath.trim()) {
    throw new RestoreError(
      "cannot_make",
      `${
        JSON.stringify(repoPath.slice(0, 200))
      } cannot be registered: its name begins or ends with blanks or holds a line end`,
    );
  }
  if (Deno.realPathSync(repoPath) !== repoPath) {
    throw new RestoreError(
      "cannot_make",
      `${JSON.stringify(repoPath.slice(0, 200))} is not a canonical path; resolve its links first`,
    );
  }
  const known = findRepoId(runDir, repoPath);
  if (known !== null) return known;
  const folder = makePrivateFolder(runDir, "repos");
  const hash = new Uint8Array(
    await crypto.subtle.digest("SHA-256", new TextEncoder().encode(repoPath)),
  ).toHex();
  const name = repoPath.slice(repoPath.lastIndexOf("/") + 1).replace(/[^A-Za-z0-9_-]+/g, "-")
    .replace(/^-+|-+$/g, "").slice(0, 40) || "repository";
  // Eight digits meet by chance once in ages; then more of them tell the two apart.
  for (const digits of [8, 16, 64]) {
    const repoId = `${name}-${hash.slice(0, digits)}`;
    const taken = registeredPath(runDir, repoId);
    if (taken !== null && taken !== repoPath) continue;
    writePrivateFile(`${folder}/${repoId}.path`, repoPath + "\n");
    return repoId;
  }
  throw new RestoreError("cannot_make", "no id is free for this repository");
}
