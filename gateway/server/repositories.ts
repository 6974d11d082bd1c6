import { isRepoId, registeredPath } from "../../restore/mod.ts";

/** More registered repositories than this are not listed. */
const MAX_LISTED = 1_000;

/** A repository that this run directory knows. */
export interface KnownRepository {
  readonly repoId: string;
  readonly repoPath: string;
  /** False when its folder is gone. */
  readonly present: boolean;
}

/** Every registered repository, by path. Unreadable entries are passed over. */
export async function knownRepositories(runDir: string): Promise<KnownRepository[]> {
  const found: KnownRepository[] = [];
  try {
    for await (const entry of Deno.readDir(`${runDir}/repos`)) {
      if (found.length >= MAX_LISTED) break;
      const repoId = entry.name.replace(/\.path$/, "");
      if (!entry.isFile || !entry.name.endsWith(".path") || !isRepoId(repoId)) continue;
      const repoPath = registeredPath(runDir, repoId);
      if (repoPath === null) continue;
      const present = await Deno.stat(repoPath).then((info) => info.isDirectory, () => false);
      found.push({ repoId, repoPath, present });
    }
  } catch (error) {
    if (!(error instanceof Deno.errors.NotFound)) throw error;
  }
  return found.sort((a, b) => a.repoPath < b.repoPath ? -1 : 1);
}
