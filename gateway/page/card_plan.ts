import { h, icon, ident, longList, oid, section } from "./dom.ts";
import type { Note, RefEffect } from "./shapes.ts";
import { count, refName } from "./text.ts";
import { operationName } from "./words.ts";

/** The steps of a plan, and the boxes that the decision reads. */

interface Step {
  readonly operationType: string;
  readonly summary: string;
  readonly destructive: boolean;
  readonly refs?: readonly RefEffect[];
  readonly files?: readonly { readonly path: string; readonly status: string }[];
  readonly filesTotal?: number;
  readonly commitsTotal?: number;
  /** What would stand in its way if it were the first step. */
  readonly asThingsAreNow?: readonly Note[];
}

/** Numbered steps; the destructive ones have a box to tick, which the decision reads. */
export function planSteps(all: Readonly<Record<string, unknown>>): HTMLElement {
  const steps = array(all["steps"]) as Step[];
  const destructive = new Set(array(all["destructiveSteps"]) as number[]);
  return section(
    `Steps, in this order (${steps.length})`,
    { class: "plan" },
    h(
      "p",
      { class: "muted" },
      "One approval for all of them. They run one after the other and stop at the first that fails. ",
      typeof all["shownAs"] === "string" ? `Shown is ${all["shownAs"]}.` : "",
    ),
    h("ol", {}, steps.map((step, i) => planStep(step, i, destructive.has(i)))),
  );
}

function planStep(step: Step, i: number, destructive: boolean): HTMLElement {
  const files = step.files ?? [];
  const more = (step.filesTotal ?? files.length) - files.length;
  return h(
    "li",
    { class: destructive ? "destructive" : "" },
    h(
      "div",
      { class: "step-head" },
      h(
        "span",
        { class: "operation" },
        icon(step.operationType),
        operationName(step.operationType),
      ),
      ident(step.summary),
    ),
    (step.asThingsAreNow ?? []).map((note) =>
      h("p", { class: "step-note" }, icon("warning"), " As things are now: ", note.message)
    ),
    (step.refs ?? []).map((ref) =>
      h(
        "p",
        {},
        ident(refName(ref.ref)),
        " ",
        oid(ref.before),
        h("span", { class: "arrow" }, "→"),
        oid(ref.after, "deleted"),
      )
    ),
    step.commitsTotal ? h("p", { class: "muted" }, count(step.commitsTotal, "commit")) : null,
    files.length === 0 ? null : longList(
      files,
      10,
      (file) => h("li", {}, h("span", { class: "file-status" }, file.status), ident(file.path)),
      { class: "file-list" },
      "files",
    ),
    more > 0 ? h("p", { class: "muted" }, `and ${count(more, "more file")}`) : null,
    destructive
      ? h(
        "label",
        { class: "check" },
        h("input", { type: "checkbox", "data-step": i }),
        ` I want step ${i + 1}, which destroys something`,
      )
      : null,
  );
}

function array(value: unknown): readonly unknown[] {
  return Array.isArray(value) ? value : [];
}
