import { createHash } from "node:crypto";
import { streamGit } from "../../git/command.ts";
import { openRepository, type Repository } from "../../git/repository.ts";
import {
  applyRestore,
  createRestorePoint,
  finishRestorePoint,
  previewRestore,
  previewUndo,
  readList,
  redo,
  registerRepository as register,
  RestoreError,
  type RestorePoint,
  type RestoreResult,
  undo,
  withRepositoryLock,
  type WriteContext,
} from "../../restore/mod.ts";
import type { RestoreRoom } from "./gateway.ts";
import { json, readJson } from "./http.ts";
import type { Session } from "./human_auth.ts";
import type { HeldRepository, LedgerPort, MadePoint, RestorePort } from "./ports.ts";
import { Refusal } from "./refusal.ts";
import { method } from "./routes_agent.ts";
import { headFacts, workTreeFacts } from "./executor/shared/facts.ts";

/** How the gateway uses the restore room: as the port of executions and as routes for people. */
export function restoreRoom(
  runDir: string,
  parts: { readonly now: () => number; readonly log: (line: string) => void },
): RestoreRoom {
  const port: RestorePort = {
    locked: (repo, repoId, work) =>
      withRepositoryLock(
        repo.facts.commonDir,
        (lock) => work(held(repo, { runDir, repoId, lock, ...parts })),
      ),
  };
  return {
    port,
    register: (path) => register(runDir, path),
    route: ({ events, ledger }) => async (request, rest, session) => {
      const answer = await restoreRoute(request, rest, session, { runDir, ledger, ...parts });
      if (answer && request.method === "POST") events.emit({ type: "restore" });
      return answer;
    },
  };
}

/** Registers a repository by any path inside it and gives its id. Throws with the reason. */
export async function registerRepository(runDir: string, path: string): Promise<string> {
  const repo = await openRepository(await Deno.realPath(path));
  return await register(runDir, repo.path);
}

function held(repo: Repository, context: WriteContext): HeldRepository {
  const points = new Map<string, RestorePoint>();
  return {
    async make(request) {
      const point = await createRestorePoint(repo, context, request);
      points.set(point.id, point);
      return {
        id: point.id,
        before: { branchRef: point.head.ref, commit: point.head.oid },
        notCovered: notCoveredWords(point),
      };
    },
    async bringBack(point: MadePoint) {
      await applyRestore(repo, context, { pointId: point.id });
      await finishRestorePoint(repo, context, point.id, "failed");
    },
    async settle(point, outcome) {
      await finishRestorePoint(repo, context, point.id, outcome);
    },
    fingerprint: () => fingerprint(repo),
  };
}

/** HEAD, every ref but our own, the index and all that differs in the work tree, as one hash. */
async function fingerprint(repo: Repository): Promise<string> {
  const hash = createHash("sha256");
  const [head, tree] = await Promise.all([headFacts(repo), workTreeFacts(repo)]);
  hash.update(JSON.stringify([head, tree]));
  const refs: string[] = [];
  await streamGit(
    repo,
    ["for-each-ref", "--format=%(refname) %(objectname) %(symref)"],
    { signal: repo.signal },
    (chunk) => {
      refs.push(new TextDecoder().decode(chunk));
      return true;
    },
  );
  for (const line of refs.join("").split("\n")) {
    if (!line.startsWith("refs/fluxgit/")) hash.update(line).update("\n");
  }
  return hash.digest("hex");
}

/** What a point leaves out, as short words with counts. */
export function notCoveredWords(point: RestorePoint): string[] {
  const { ignored, nestedRepositories, submodules, refusedNames, operationState, brokenRefs } =
    point.notCovered;
  const words: string[] = [];
  const add = (what: string, named: { count: number } | undefined) => {
    if (named && named.count > 0) words.push(`${named.count} ${what}`);
  };
  add("ignored files or folders", ignored);
  add("repositories inside the work tree", nestedRepositories);
  add("submodules (their content)", submodules);
  add("names that git refuses", refusedNames);
  add("files of an operation in progress", operationState);
  add("broken refs", brokenRefs);
  return words;
}

interface RouteParts {
  readonly runDir: string;
  readonly ledger: LedgerPort;
  readonly now: () => number;
  readonly log: (line: string) => void;
}

const MAX_BODY = 64 * 1_024;

/** `/v1/human/restore/…`: list, preview, apply, undo, redo. Throws {@link Refusal}. */
async function restoreRoute(
  request: Request,
  rest: readonly string[],
  session: Session,
  parts: RouteParts,
): Promise<Response | null> {
  const [action, ...more] = rest;
  if (more.length > 0) return null;
  if (action === undefined) {
    method(request, "GET");
    const { repo, repoId } = await openBody({
      repoPath: new URL(request.url).searchParams.get("repoPath"),
    }, parts);
    const state = await readList(parts.runDir, repoId, repo.path);
    return json(200, { repoPath: repo.path, repoId, ...state });
  }
  if (!["preview", "apply", "undo", "redo"].includes(action)) return null;
  method(request, "POST");
  const body = await readJson(request, MAX_BODY) as Record<string, unknown> | null;
  const { repo, repoId } = await openBody(body ?? {}, parts);
  const pointId = typeof body?.["id"] === "string" ? body["id"] : null;
  const digest = typeof body?.["digest"] === "string" ? body["digest"] : null;
  try {
    return await withRepositoryLock(repo.facts.commonDir, async (lock) => {
      const context: WriteContext = {
        runDir: parts.runDir,
        repoId,
        lock,
        now: parts.now,
        log: parts.log,
      };
      if (action === "preview") {
        const direction = body?.["direction"];
        if (direction === "undo" || direction === "redo") {
          return json(200, await previewUndo(repo, context, direction));
        }
        return json(200, { preview: await previewRestore(repo, context, needed(pointId, "id")) });
      }
      const expectedDigest = needed(digest, "digest");
      const result = action === "apply"
        ? await applyRestore(repo, context, { pointId: needed(pointId, "id"), expectedDigest })
        : action === "undo"
        ? await undo(repo, context, { expectedDigest })
        : await redo(repo, context, { expectedDigest });
      record(action, result, repo.path, session, parts);
      return json(200, { ...result });
    });
  } catch (error) {
    if (!(error instanceof RestoreError)) throw error;
    throw new Refusal(409, `restore_${error.kind}`, error.message, "Look at the preview again.");
  }
}

async function openBody(
  body: Record<string, unknown>,
  parts: RouteParts,
): Promise<{ repo: Repository; repoId: string }> {
  const path = needed(typeof body["repoPath"] === "string" ? body["repoPath"] : null, "repoPath");
  try {
    const repo = await openRepository(await Deno.realPath(path));
    return { repo, repoId: await register(parts.runDir, repo.path) };
  } catch (error) {
    throw new Refusal(
      422,
      "validation_failed",
      `repoPath cannot be opened: ${error instanceof Error ? error.message : error}`,
      "Name a repository of this machine.",
    );
  }
}

function needed(value: string | null, name: string): string {
  if (value !== null && value !== "") return value;
  throw new Refusal(422, "validation_failed", `${name} is required`, "Give it and try again.");
}

function record(
  action: string,
  result: RestoreResult,
  repoPath: string,
  session: Session,
  parts: RouteParts,
): void {
  parts.ledger.record({
    kind: "restore",
    operationType: null,
    previewId: null,
    agentId: null,
    repoPath,
    channel: session.channel,
    digest: result.preview.digest,
    result: result.verified ? "success" : "error",
    ids: { before: result.preview.head.from.oid, after: result.preview.head.to.oid },
  });
  if (!result.verified) {
    parts.log(
      `after ${action} these differ from the point: ${result.differences.slice(0, 5).join(", ")}`,
    );
  }
}
