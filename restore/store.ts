import { decodeText, encodeText } from "../common/bytes.ts";
import { parseJson, stringifyJson } from "../common/json.ts";
import { makePrivateFolder, readPrivateFile, writePrivateFile } from "../common/private_file.ts";
import { RestoreError } from "./errors.ts";
import { RESTORE_LIMITS } from "./limits.ts";
import { isRepoId } from "./registry.ts";
import type { BranchTip, RestoreList, RestorePoint } from "./types.ts";

/**
 * The list of restore points of one repository: `<run_dir>/restore/<repoId>.json`, written by the
 * gateway alone, read by the sidecar and the commands. A damaged list is said, never taken for none.
 */

const VERSION = 1;

/** What a reader finds. */
export type ListState =
  | { readonly kind: "ok"; readonly list: RestoreList }
  /** No list yet: no point was ever made. */
  | { readonly kind: "none" }
  /** There is one, but it cannot be read; `reason` says why. */
  | { readonly kind: "corrupt"; readonly reason: string };

/** Path of a repository's list. */
export function listPath(runDir: string, repoId: string): string {
  return `${runDir}/restore/${repoId}.json`;
}

/** True when this run directory holds lists at all. */
export function hasRestoreStore(runDir: string): boolean {
  try {
    return Deno.lstatSync(`${runDir}/restore`).isDirectory;
  } catch {
    return false;
  }
}

/**
 * Reads the list of a repository. The path inside must be `repoPath`: an id of the caller cannot show
 * the points of another repository (`read-tools.md` 27, item 21). Never throws.
 */
export async function readList(
  runDir: string,
  repoId: string,
  repoPath: string,
): Promise<ListState> {
  if (!isRepoId(repoId)) {
    return { kind: "corrupt", reason: "the repository id is not a plain name" };
  }
  let bytes: Uint8Array | null;
  try {
    const folder = Deno.lstatSync(`${runDir}/restore`);
    if (!folder.isDirectory) {
      return { kind: "corrupt", reason: "the folder of lists is a link or a file" };
    }
    bytes = readPrivateFile(listPath(runDir, repoId), RESTORE_LIMITS.listBytes);
  } catch (error) {
    if (error instanceof Deno.errors.NotFound) return { kind: "none" };
    return { kind: "corrupt", reason: error instanceof Error ? error.message : String(error) };
  }
  if (bytes === null) return { kind: "none" };
  try {
    return { kind: "ok", list: await parseList(decodeText(bytes), repoPath) };
  } catch (error) {
    return { kind: "corrupt", reason: error instanceof Error ? error.message : String(error) };
  }
}

/** Two lines: the list, and its checksum. */
async function parseList(text: string, repoPath: string): Promise<RestoreList> {
  const [body = "", sum = ""] = text.split("\n");
  if (sum !== await checksumLine(body)) {
    throw new Error("the checksum does not match: the file is damaged");
  }
  const value = parseJson(body) as Record<string, unknown> | null;
  if (typeof value !== "object" || value === null || value["version"] !== VERSION) {
    throw new Error(
      `the version is ${JSON.stringify(value?.["version"] ?? null)}; this program knows ${VERSION}`,
    );
  }
  const { points, branchTips } = value;
  if (value["repoPath"] !== repoPath) throw new Error("the list belongs to another repository");
  if (!Array.isArray(points) || !points.every(isPoint)) throw new Error("a point is not complete");
  if (!Array.isArray(branchTips) || !branchTips.every(isTip)) {
    throw new Error("a branch tip is not complete");
  }
  return { repoPath, points, branchTips };
}

/**
 * Writes the list whole, pruned to its bounds.
 *
 * @returns the list as written, and the points and tips that fell out
 */
export async function writeList(
  runDir: string,
  repoId: string,
  list: RestoreList,
  nowMs: number,
  bounds: ListBounds = RESTORE_LIMITS,
  /** Id of a point that is being gone back to: it stays for now. */
  inUse: string | null = null,
): Promise<{ list: RestoreList; dropped: readonly string[] }> {
  if (!isRepoId(repoId)) {
    throw new RestoreError("cannot_make", "the repository id is not a plain name");
  }
  const folder = makePrivateFolder(runDir, "restore");
  // What a process left that was killed while it wrote.
  for (const { name } of Deno.readDirSync(folder)) {
    if (name.startsWith(`${repoId}.json.tmp-`)) Deno.removeSync(`${folder}/${name}`);
  }
  const kept = prune(list, nowMs, bounds, inUse);
  let body = "";
  // A list of long names can grow past what readers take: then the oldest go first.
  for (let points = kept.points;; points = points.slice(Math.ceil(points.length / 10))) {
    body = stringifyJson({ version: VERSION, ...kept, points });
    if (encodeText(body).length + 100 <= RESTORE_LIMITS.listBytes || points.length <= 1) {
      const written = { ...kept, points };
      writePrivateFile(listPath(runDir, repoId), `${body}\n${await checksumLine(body)}\n`);
      const left = new Set([...points, ...kept.branchTips].map((item) => item.id));
      const dropped = [...list.points, ...list.branchTips].map((item) => item.id)
        .filter((id) => !left.has(id));
      return { list: written, dropped };
    }
  }
}

/** Puts a damaged list aside, so that a new one can be begun; gives where it lies now. */
export function putAside(runDir: string, repoId: string, nowMs: number): string {
  const path = listPath(runDir, repoId);
  const aside = `${path}.damaged-${nowMs}`;
  Deno.renameSync(path, aside);
  return aside;
}

/** How many points and tips are kept, and how long. */
export interface ListBounds {
  readonly points: number;
  readonly ageMs: number;
  readonly branchTips: number;
  readonly branchTipAgeMs: number;
}

/** Applies the bounds of count and age; the newest point always stays. */
export function prune(
  list: RestoreList,
  nowMs: number,
  bounds: ListBounds = RESTORE_LIMITS,
  inUse: string | null = null,
): RestoreList {
  const newest = list.points.at(-1);
  const fresh = new Set(
    list.points.filter((point) => nowMs - point.createdAtMs <= bounds.ageMs).slice(-bounds.points),
  );
  const points = list.points.filter((point) =>
    fresh.has(point) || point === newest || point.id === inUse
  );
  const branchTips = list.branchTips
    .filter((tip) => nowMs - tip.deletedAtMs <= bounds.branchTipAgeMs)
    .slice(-bounds.branchTips);
  return { repoPath: list.repoPath, points, branchTips };
}

/** Damage by chance is what this finds; whoever may write the file may write a sum too. */
async function checksumLine(body: string): Promise<string> {
  const digest = await crypto.subtle.digest("SHA-256", encodeText(body) as BufferSource);
  return `sha256:${new Uint8Array(digest).toHex()}`;
}

function isHead(value: unknown): boolean {
  const head = value as { ref?: unknown; oid?: unknown } | null;
  return typeof head === "object" && head !== null && isText(head.ref) && isText(head.oid);
}

function isText(value: unknown): boolean {
  return value === null || typeof value === "string";
}

function isOid(value: unknown): boolean {
  return typeof value === "string" && /^(?:[0-9a-f]{40}|[0-9a-f]{64})$/.test(value);
}

/** True for an id as this room makes them. */
export function isPointId(value: unknown): value is string {
  return typeof value === "string" && /^[0-9a-z]{8,16}-[0-9a-z]{6,16}$/.test(value);
}

/** True for a whole point. */
export function isPoint(value: unknown): value is RestorePoint {
  const p = value as Record<string, unknown> | null;
  return typeof p === "object" && p !== null && isPointId(p["id"]) &&
    typeof p["kind"] === "string" && typeof p["operation"] === "string" &&
    isText(p["previewId"]) && isText(p["agentId"]) && Number.isSafeInteger(p["createdAtMs"]) &&
    typeof p["state"] === "string" && isHead(p["head"]) &&
    (p["headAfter"] === null || isHead(p["headAfter"])) && Array.isArray(p["refs"]) &&
    Number.isSafeInteger(p["refsTotal"]) && isOid(p["snapshot"]) &&
    (p["snapshotAfter"] === null || isOid(p["snapshotAfter"])) &&
    typeof p["notCovered"] === "object" && typeof p["undone"] === "boolean" &&
    isText(p["undoPoint"]) && isText(p["restores"]) && isText(p["direction"]);
}

function isTip(value: unknown): value is BranchTip {
  const t = value as Record<string, unknown> | null;
  return typeof t === "object" && t !== null && isPointId(t["id"]) &&
    typeof t["ref"] === "string" &&
    isOid(t["oid"]) && Number.isSafeInteger(t["deletedAtMs"]) && isText(t["pointId"]) &&
    isText(t["previewId"]);
}
