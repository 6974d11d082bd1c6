import type {
  ExecutionResult,
  Inspection,
  Note,
  Operation,
  OperationContext,
  PlanAction,
  StepAction,
} from "../types.ts";
import { operation as discard } from "./discard.ts";
import { operation as merge } from "./merge.ts";
import { operation as patch } from "./patch.ts";
import { operation as rebase } from "./rebase.ts";
import { operation as reset } from "./reset.ts";
import { CARD_LIMITS, emptyEffect } from "./shared/effect.ts";
import { commitAt, type Facts } from "./shared/facts.ts";
import { wordsOf } from "./shared/run.ts";
import {
  differences,
  movedBy,
  namedRefs,
  readRefs,
  type RefValues,
  resolveAll,
  revisionsOf,
} from "./shared/step_refs.ts";

/**
 * plan: several steps under one approval (`operations.md` E6). The card shows each step as things are
 * now; before it runs, each is looked at again. The first failure stops the plan, and the restore point
 * made before the first step brings everything back.
 */
export const operation: Operation<PlanAction> = {
  type: "plan",

  async inspect(action, context): Promise<Inspection> {
    const looks: Inspection[] = [];
    for (const step of action.steps) {
      looks.push(await operationOf(step).inspect(step, plain(context)));
    }
    const refs = await readRefs(context.repo, await namedRefs(context.repo, action.steps));
    const destructiveSteps = looks.flatMap((look, i) => look.destructive ? [i] : []);
    const facts: Facts = {};
    for (const [ref, oid] of refs) facts[`ref.${ref}`] = oid;
    for (const [i, step] of action.steps.entries()) {
      for (const [name, oid] of await resolveAll(context.repo, step)) {
        facts[`revision.${i}.${name}`] = oid;
      }
      for (const [name, value] of Object.entries(looks[i]!.facts)) {
        facts[`step.${i}.${name}`] = value;
      }
    }
    const paths = looks.map((look) => look.paths);
    const risks = looks.map((look) => look.risk);
    return {
      facts,
      effect: planEffect(action, looks, destructiveSteps, context.diffBytes),
      risk: risks.includes("high") ? "high" : "medium",
      destructive: destructiveSteps.length > 0,
      words: destructiveSteps.length > 0 ? "run plan" : null,
      blockers: looks.flatMap((look, i) =>
        look.blockers.filter(({ code }) => i === 0 || LASTING.has(code)).map(inStep(i, ""))
      ),
      warnings: [
        {
          code: "one_restore_point",
          message:
            "one restore point holds HEAD, refs, index and files from before the first step; states between the steps are not kept",
        },
        ...looks.flatMap((look, i) => [
          ...look.blockers.filter(({ code }) => i > 0 && !LASTING.has(code))
            .map(inStep(i, ", as things are now")),
          ...look.warnings.map(inStep(i, "")),
        ]),
      ].slice(0, MAX_NOTES),
      paths: paths.some((some) => some === null)
        ? null
        : [...new Set(paths.flatMap((some) => some ?? []))],
    };
  },

  async execute(action, inspection, context): Promise<ExecutionResult> {
    const done: StepOutcome[] = [];
    let failure: ExecutionResult | null = null;
    let expected = refsOf(inspection.facts);
    for (const [i, step] of action.steps.entries()) {
      const { repo } = context;
      const beforeCommit = await commitAt(repo, "HEAD");
      const result = await runStep(i, step, inspection, expected, context);
      const afterCommit = await commitAt(repo, "HEAD");
      done.push({
        operationType: step.operationType,
        status: result.status,
        message: result.message,
        ...(beforeCommit === null ? {} : { beforeCommit }),
        ...(afterCommit === null ? {} : { afterCommit }),
      });
      if (result.status === "failed") {
        failure = result;
        break;
      }
      // Only what the step itself moves may stand elsewhere now.
      const now = await readRefs(repo, [...expected.keys()]);
      const moves = await movedBy(repo, step);
      expected = new Map(
        [...expected].map(([ref, oid]) => [ref, moves.has(ref) ? now.get(ref) ?? null : oid]),
      );
    }
    if (failure === null) {
      return {
        status: "completed",
        message: `carried out ${action.steps.length} steps`,
        members: { steps: done },
      };
    }
    const failed = done.length;
    return {
      status: "failed",
      message: `step ${failed} (${
        action.steps[failed - 1]!.operationType
      }) failed: ${failure.message}`,
      members: {
        steps: [
          ...done.map((one, i) =>
            i < failed - 1
              ? { ...one, message: `${one.message}; taken back, because step ${failed} failed` }
              : one
          ),
          ...action.steps.slice(failed).map(({ operationType }) => ({
            operationType,
            status: "skipped" as const,
            message: `not begun, because step ${failed} failed`,
          })),
        ],
      },
      // Only before anything was written can what differs be left to whoever made it.
      ...(failed === 1 && failure.leaveAsIs ? { leaveAsIs: true as const } : {}),
    };
  },
};

const STEPS = { merge, rebase, discard, reset, patch } as const;

function operationOf(step: StepAction): Operation {
  return STEPS[step.operationType] as Operation;
}

interface StepOutcome {
  readonly operationType: StepAction["operationType"];
  readonly status: "completed" | "failed";
  readonly message: string;
  readonly beforeCommit?: string;
  readonly afterCommit?: string;
}

/** Blockers that no earlier step can take away. */
const LASTING: ReadonlySet<string> = new Set([
  "bad_path",
  "bare_repository",
  "beyond_link",
  "detached",
  "empty_patch",
  "index_locked",
  "inside_other_repository",
  "no_identity",
  "not_a_branch",
  "operation_in_progress",
  "patch_too_large",
  "path_not_utf8",
  "path_outside",
  "submodule",
  "nested_repository",
  "unborn",
  "unknown_ref",
  "unreadable_patch",
]);

const MAX_NOTES = 200;

/** Switches of a patch card mean nothing inside a plan. */
function plain(context: OperationContext): OperationContext {
  return { ...context, overrides: {} };
}

function inStep(i: number, how: string): (note: Note) => Note {
  return (note) => ({ ...note, message: `step ${i + 1}${how}: ${note.message}` });
}

/** Files and commits that one step names among the details of a card. */
const NAMED = 50;

function planEffect(
  action: PlanAction,
  looks: readonly Inspection[],
  destructiveSteps: readonly number[],
  diffBytes: number = CARD_LIMITS.diffBytes,
): Inspection["effect"] {
  const effects = looks.map((look) => look.effect);
  const sum = (count: (one: Inspection["effect"]) => number) =>
    effects.reduce((total, one) => total + count(one), 0);
  let diff = "", diffTruncated = false;
  for (const [i, one] of effects.entries()) {
    const piece = one.diff ? `step ${i + 1}: ${one.summary}\n${one.diff}\n` : "";
    if (diff.length + piece.length <= diffBytes) diff += piece;
    else diffTruncated = true;
    if (one.diffTruncated) diffTruncated = true;
  }
  return {
    ...emptyEffect(
      `run a plan of ${action.steps.length} ${action.steps.length === 1 ? "step" : "steps"}`,
    ),
    refs: effects.flatMap((one) => one.refs),
    files: effects.flatMap((one, i) =>
      one.files.map((file) => ({
        ...file,
        note: file.note ? `step ${i + 1}: ${file.note}` : `step ${i + 1}`,
      }))
    ).slice(0, CARD_LIMITS.files),
    filesTotal: sum((one) => one.filesTotal),
    commits: effects.flatMap((one) => one.commits).slice(0, CARD_LIMITS.commits),
    commitsTotal: sum((one) => one.commitsTotal),
    diff: diff === "" ? null : diff,
    diffTruncated,
    details: {
      steps: looks.map((look, i) => ({
        operationType: action.steps[i]!.operationType,
        summary: look.effect.summary,
        destructive: look.destructive,
        risk: look.risk,
        refs: look.effect.refs,
        filesTotal: look.effect.filesTotal,
        files: look.effect.files.slice(0, NAMED).map(({ status, path }) => ({ status, path })),
        commitsTotal: look.effect.commitsTotal,
        ...(look.blockers.length > 0
          ? { asThingsAreNow: look.blockers.map(({ code, message }) => ({ code, message })) }
          : {}),
      })),
      destructiveSteps,
      shownAs: "each step as things are now; earlier steps can change what a later one finds",
    },
  };
}

function refsOf(facts: Inspection["facts"]): RefValues {
  return new Map(
    Object.entries(facts).filter(([name]) => name.startsWith("ref."))
      .map(([name, value]) => [name.slice("ref.".length), value]),
  );
}

/** One step: nobody else moved what the plan names, and the step still is what the card said of it. */
async function runStep(
  i: number,
  step: StepAction,
  card: Inspection,
  expected: RefValues,
  context: OperationContext,
): Promise<ExecutionResult> {
  const { repo } = context;
  const stop = (message: string): ExecutionResult => ({
    status: "failed",
    message,
    members: {},
    leaveAsIs: true,
  });
  try {
    const now = await readRefs(repo, [...expected.keys()]);
    const moved = differences(expected, now);
    if (moved.length > 0) {
      return stop(`stale: something else moved ${moved.slice(0, 5).join(", ")}`);
    }
    const began = refsOf(card.facts);
    for (const [name, base] of await revisionsOf(repo, step)) {
      const oid = (await resolveAll(repo, step)).get(name) ?? null;
      const still = base === null || began.get(base) === now.get(base);
      if (still && oid !== (card.facts[`revision.${i}.${name}`] ?? null)) {
        return stop(`stale: ${name} no longer names the commit of the card`);
      }
    }
    const operation = operationOf(step);
    const look = await operation.inspect(step, plain(context));
    if (look.blockers[0]) return stop(look.blockers[0].message);
    const confirmed = card.effect.details["destructiveSteps"] as readonly number[];
    if (look.destructive && !confirmed.includes(i)) {
      return stop("it would now destroy something, which the card did not say");
    }
    return await operation.execute(step, look, plain(context));
  } catch (error) {
    return { status: "failed", message: wordsOf(error), members: {} };
  }
}
