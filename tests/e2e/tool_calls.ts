import { buildStory } from "../../scripts/demo/story.ts";
import { TOOL_ORDER } from "../../scripts/generate/order.ts";
import { Sandbox } from "../fixtures/sandbox.ts";

/** Tools of the contract that this version does not offer yet. */
const NOT_BUILT: readonly string[] = [];

/** What `tools/list` must name, in this order. */
export const LISTED: readonly string[] = TOOL_ORDER.filter((name) => !NOT_BUILT.includes(name));

/** One call of a tool on the story: its own arguments, and the error when that is the right answer. */
interface Row {
  readonly args?: Record<string, unknown>;
  /** Code of the error that is right without a gateway. */
  readonly error?: number;
  /** The tool is not about one repository. */
  readonly free?: true;
}

const proposal = { reason: "show it", error: 10003 };
const row = (args: Record<string, unknown>): Row => ({
  args: { reason: proposal.reason, ...args },
  error: proposal.error,
});

const ROWS: Readonly<Record<string, Row>> = {
  "repo.brief": {},
  "repo.scope": { args: { path: "src" } },
  "safety.timeline": { error: 10001 },
  "safety.eventDetails": { error: 10001 },
  "repo.status": {},
  "repo.refs": {},
  "repo.branchStack": {},
  "repo.conflictPreflight": { args: { targetRef: "main" } },
  "conflict.read": {},
  "repo.reflog": {},
  "repo.history": {},
  "commit.details": { args: { commit: "HEAD" } },
  "worktree.changes": {},
  "worktree.list": {},
  "submodule.status": {},
  "diff.text": {},
  "agents.presence": {},
  "diff.semantic": { args: { path: "src/price.ts" } },
  "diff.semanticFallbacks": {},
  "flux.latestRestorePoint": { error: 10001 },
  "flux.restorePoints": { error: 10001 },
  "flux.restorePointDetails": { error: 10001 },
  "operation.status": { args: { previewId: "p1" }, error: 10003, free: true },
  "operation.preview.merge": row({ sourceRef: "main", targetRef: "feature/checkout" }),
  "operation.preview.rebase": row({ ontoRef: "main" }),
  "operation.preview.discard": row({ paths: ["src/cart.ts"] }),
  "operation.preview.reset": row({ targetRef: "HEAD~1" }),
  "operation.preview.patch": row({ patchContent: "--- a/x\n+++ b/x\n" }),
  "operation.preview.plan": row({
    steps: [{ operationType: "reset", targetRef: "HEAD~1", mode: "soft" }],
  }),
  "operation.preview.worktree": row({ branch: "side" }),
  "operation.preview.commit": row({ message: "A commit", stageAll: true }),
  "operation.preview.push": row({ branch: "feature/checkout" }),
  "operation.preview.branch": row({ name: "other" }),
  "operation.preview.submodulePointer": row({
    relativePath: "sub",
    direction: "record",
    message: "Move it",
  }),
  "operation.cancel": { args: { previewId: "p1" }, error: 10003, free: true },
};

/** A call that every client can make and what must come back. */
export interface ToolCall {
  readonly name: string;
  readonly args: Record<string, unknown>;
  readonly error: number | null;
}

/** One call of each listed tool on a repository. Throws for a tool without a row: each is called. */
export function toolCalls(names: readonly string[], repo: string): ToolCall[] {
  return names.map((name) => {
    if (name === "fleet.radar") return { name, args: { repoPaths: [repo] }, error: null };
    if (name === "fleet.digest") {
      return { name, args: { sinceMs: 0, repoPaths: [repo] }, error: null };
    }
    if (name === "operation.preview.branchDelete") {
      const targets = [{ repoPath: repo, branches: ["docs/readme"] }];
      return { name, args: { repoPath: repo, targets, reason: proposal.reason }, error: 10003 };
    }
    const found = ROWS[name];
    if (found === undefined) throw new Error(`${name} has no row in tests/e2e/tool_calls.ts`);
    const args = { ...(found.free ? {} : { repoPath: repo }), ...found.args };
    return { name, args, error: found.error ?? null };
  });
}

/** A sandbox with the story of the demo in it. */
export async function storySandbox(): Promise<{ box: Sandbox; repo: string }> {
  const box = await Sandbox.create();
  await Deno.mkdir(`${box.root}/story`);
  return { box, repo: (await buildStory(`${box.root}/story`)).repo };
}
