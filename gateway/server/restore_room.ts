import { openRepository, type Repository } from "../../git/repository.ts";
import {
  applyRestore,
  createRestorePoint,
  findRepoId,
  fingerprintRepository,
  finishRestorePoint,
  type ListState,
  previewDiff,
  previewRestore,
  previewUndo,
  readList,
  redo,
  redoCandidate,
  registerRepository as register,
  RestoreError,
  type RestorePoint,
  type RestoreResult,
  undo,
  undoCandidate,
  withRepositoryLock,
  type WriteContext,
} from "../../restore/mod.ts";
import { Fields } from "./admission/fields.ts";
import { messageOf } from "./execution.ts";
import type { RestoreRoom } from "./gateway.ts";
import type { Bodies } from "./bodies.ts";
import { json, method } from "./http.ts";
import type { Session } from "./human_auth.ts";
import type { HeldRepository, LedgerPort, MadePoint, RestorePort } from "./ports.ts";
import { Refusal } from "./refusal.ts";
import { knownRepositories } from "./repositories.ts";

/** How long an operation waits for a repository that another one changes. Milliseconds. */
const LOCK_WAIT_MS = 10_000;
/** The same for only looking at one. Milliseconds. */
const LOOK_WAIT_MS = 3_000;

/** How the gateway uses the restore room: as the port of executions and as routes for people. */
export function restoreRoom(
  runDir: string,
  parts: {
    readonly now: () => number;
    readonly log: (line: string) => void;
    /** For tests. */
    readonly lockWaitMs?: number;
  },
): RestoreRoom {
  const port: RestorePort = {
    locked: (repo, repoId, work) =>
      withRepositoryLock(
        repo.facts.commonDir,
        (lock) => work(held(repo, { runDir, repoId, lock, ...parts })),
        { waitMs: parts.lockWaitMs ?? LOCK_WAIT_MS },
      ),
    fingerprint: (repo) =>
      withRepositoryLock(
        repo.facts.commonDir,
        (lock) => fingerprintRepository(repo, { lock }),
        { waitMs: LOOK_WAIT_MS },
      ),
  };
  return {
    port,
    register: (path) => register(runDir, path),
    route: ({ events, ledger, bodies }) => async (request, rest, session) => {
      const answer = await restoreRoute(request, rest, session, {
        runDir,
        ledger,
        bodies,
        ...parts,
      });
      // A preview changes nothing that another window would have to show.
      if (answer && ["apply", "undo", "redo"].includes(rest[0] ?? "")) {
        events.emit({ type: "restore" });
      }
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
      // What the operation made becomes known as its own first: nothing unknown is ever removed.
      await finishRestorePoint(repo, context, point.id, "failed");
      await applyRestore(repo, context, { pointId: point.id, direction: "bring_back" });
    },
    async settle(point, outcome) {
      const finished = await finishRestorePoint(repo, context, point.id, outcome);
      const after = finished?.headAfter;
      return after ? { branchRef: after.ref, commit: after.oid } : null;
    },
    fingerprint: () => fingerprintRepository(repo, context),
  };
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
  readonly bodies: Bodies;
  readonly now: () => number;
  readonly log: (line: string) => void;
}

const MAX_BODY = 64 * 1_024;
/** Refs of one point that the list's answer carries. */
const SHOWN_REFS = 30;

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
    if (!new URL(request.url).searchParams.has("repoPath")) {
      return json(200, { repositories: await knownRepositories(parts.runDir) });
    }
    const asked = new URL(request.url).searchParams.get("repoPath");
    const repo = await openAsked({ repoPath: asked });
    // Looking registers nothing: what is not registered has no points either.
    const repoId = findRepoId(parts.runDir, repo.path);
    const state: ListState = repoId === null
      ? { kind: "none" }
      : await readList(parts.runDir, repoId, repo.path);
    // Which operations undo and redo mean; whether they are possible now their preview tells.
    const [back, again] = state.kind === "ok"
      ? [undoCandidate(state.list), redoCandidate(state.list)]
      : [null, null];
    return json(200, {
      repoPath: repo.path,
      repoId,
      ...shortened(state),
      undo: back?.id ?? null,
      redo: again?.id ?? null,
    });
  }
  if (!["preview", "diff", "apply", "undo", "redo"].includes(action)) return null;
  method(request, "POST");
  const fields = new Fields(await parts.bodies.json(request, MAX_BODY), "body");
  const body = {
    repoPath: fields.text("repoPath", { max: 32_768 }),
    id: fields.nullableText("id", { max: 200 }),
    digest: fields.nullableText("digest", { max: 200 }),
    direction: fields.nullableText("direction", { max: 20 }),
  };
  fields.done();
  const repo = await openAsked(body);
  const repoId = await register(parts.runDir, repo.path);
  const { id: pointId, digest, direction } = body;
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
        if (direction === "undo" || direction === "redo") {
          return json(200, await previewUndo(repo, context, direction));
        }
        return json(200, { preview: await previewRestore(repo, context, needed(pointId, "id")) });
      }
      if (action === "diff") {
        return json(200, await previewDiff(repo, context, needed(pointId, "id")));
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
    if (error instanceof Refusal) throw error;
    if (action !== "preview" && action !== "diff") {
      parts.ledger.record({ ...decided(repo.path, session), digest, result: "error" });
    }
    if (!(error instanceof RestoreError)) throw error;
    throw new Refusal(409, `restore_${error.kind}`, error.message, "Look at the preview again.");
  }
}

/** What a route answers of a list: ids and refs of many points could exceed what clients read. */
function shortened(state: ListState): ListState {
  if (state.kind !== "ok") return state;
  const points = state.list.points.map((point) => ({
    ...point,
    refs: point.refs.slice(0, SHOWN_REFS),
  }));
  return { kind: "ok", list: { ...state.list, points } };
}

async function openAsked(asked: { readonly repoPath: string | null }): Promise<Repository> {
  const path = needed(asked.repoPath, "repoPath");
  try {
    return await openRepository(await Deno.realPath(path));
  } catch (error) {
    throw new Refusal(
      422,
      "validation_failed",
      `repoPath cannot be opened: ${messageOf(error)}`,
      "Name a repository of this machine.",
    );
  }
}

function needed(value: string | null, name: string): string {
  if (value !== null && value !== "") return value;
  throw new Refusal(422, "validation_failed", `${name} is required`, "Give it and try again.");
}

function decided(repoPath: string, session: Session) {
  return {
    kind: "restore",
    operationType: null,
    previewId: null,
    agentId: null,
    repoPath,
    channel: session.channel,
  } as const;
}

function record(
  action: string,
  result: RestoreResult,
  repoPath: string,
  session: Session,
  parts: RouteParts,
): void {
  parts.ledger.record({
    ...decided(repoPath, session),
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
