import type { Action, StepAction } from "./types.ts";

/**
 * Shorter forms for what is kept and answered after the fact: an ended proposal needs no whole patch,
 * and no answer may exceed what a sidecar reads (`operations.md` T4).
 */

const KEPT_TEXT = 2_000;
const KEPT_ITEMS = 100;
/** Most characters of a stored result, as JSON. */
export const MAX_RESULT = 512 * 1_024;
/** Longest message of a result. Characters. */
const MAX_MESSAGE = 4_000;

/** The action of an ended proposal with long texts and lists cut; it can be shown, not carried out. */
export function slimAction(action: Action): Action {
  switch (action.operationType) {
    case "plan":
      return { ...action, steps: action.steps.map(slimStep) };
    case "commit":
      return {
        ...action,
        message: action.message.slice(0, KEPT_TEXT),
        paths: action.paths?.slice(0, KEPT_ITEMS) ?? null,
      };
    case "discard":
    case "patch":
      return slimStep(action);
    default:
      return action;
  }
}

function slimStep<A extends StepAction>(step: A): A {
  if (step.operationType === "patch") {
    return { ...step, patchContent: step.patchContent.slice(0, KEPT_TEXT) };
  }
  if (step.operationType === "discard") return { ...step, paths: step.paths.slice(0, KEPT_ITEMS) };
  return step;
}

/**
 * A result that fits an answer. What is too long is cut, the longest members first, and `truncated`
 * names them with their real lengths.
 */
export function boundedResult(result: Record<string, unknown>): Record<string, unknown> {
  const out: Record<string, unknown> = { ...result };
  const cut: Record<string, number> = {};
  if (typeof out["message"] === "string" && out["message"].length > MAX_MESSAGE) {
    out["message"] = out["message"].slice(0, MAX_MESSAGE) + "…";
  }
  const sizes = () =>
    Object.entries(out).map(([name, value]) => [name, size(value)] as const)
      .sort((a, b) => b[1] - a[1]);
  for (let turn = 0; turn < 64 && size(out) > MAX_RESULT; turn++) {
    const [name] = sizes().find(([member]) => !KEPT_MEMBERS.has(member)) ?? [];
    if (name === undefined) break;
    const value = out[name];
    if (Array.isArray(value) && value.length > 1) {
      cut[name] ??= value.length;
      out[name] = value.slice(0, Math.floor(value.length / 2));
    } else if (typeof value === "string" && value.length > 1_000) {
      cut[name] ??= value.length;
      out[name] = value.slice(0, 1_000);
    } else {
      cut[name] ??= 1;
      delete out[name];
    }
  }
  return Object.keys(cut).length === 0 ? out : { ...out, truncated: cut };
}

const KEPT_MEMBERS: ReadonlySet<string> = new Set([
  "status",
  "message",
  "restorePoint",
  "restorePointId",
]);

function size(value: unknown): number {
  return JSON.stringify(value)?.length ?? 0;
}
