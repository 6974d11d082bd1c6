import { decodeText } from "../common/bytes.ts";
import { parseJson } from "../common/json.ts";
import type { HiddenRepository } from "./hidden.ts";
import { isPoint, isPointId } from "./store.ts";
import type { RestoreList, RestorePoint } from "./types.ts";

/**
 * Finds the points of a repository again from the snapshots, each of which carries what the list said
 * when it was made. What operations led to, and what was undone, is not known any more.
 */
export async function rebuildList(
  hidden: HiddenRepository,
  repoPath: string,
): Promise<RestoreList> {
  const refs = await hidden.text([
    "for-each-ref",
    "--format=%(objectname) %(refname)",
    "refs/restore/",
  ]);
  const points: RestorePoint[] = [];
  for (const line of refs.split("\n")) {
    const match = /^([0-9a-f]+) refs\/restore\/([^/]+)\/before$/.exec(line);
    if (!match || !isPointId(match[2])) continue;
    const point = await readMeta(hidden, match[1]!, match[2], repoPath);
    if (point) points.push(point);
  }
  points.sort((a, b) => (a.id < b.id ? -1 : 1));
  return { repoPath, points, branchTips: [] };
}

async function readMeta(
  hidden: HiddenRepository,
  root: string,
  id: string,
  repoPath: string,
): Promise<RestorePoint | null> {
  try {
    const { stdout } = await hidden.run(["cat-file", "blob", `${root}:meta.json`]);
    const meta = parseJson(decodeText(stdout)) as { repoPath?: unknown; point?: unknown } | null;
    const point = { ...(meta?.point as RestorePoint), snapshot: root };
    return meta?.repoPath === repoPath && isPoint(point) && point.id === id ? point : null;
  } catch {
    return null;
  }
}
