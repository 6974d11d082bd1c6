import {
  canRedo,
  canUndo,
  type HeadState,
  type RestoreList,
  type RestorePoint,
} from "../restore/mod.ts";
import { visible } from "./screen_text.ts";

/** Restore points and previews as text for a terminal. */

/** The whole list, newest first; branch tips after the points. */
export function listText(list: RestoreList, head: HeadState): string {
  const lines = [...list.points].reverse().map((point) => rowText(point, head));
  if (list.branchTips.length > 0) {
    lines.push("", "Tips of deleted branches:");
    for (const tip of [...list.branchTips].reverse()) {
      lines.push(
        `${tip.id}  ${timeText(tip.deletedAtMs)}  ${short(tip.oid)}  ${visible(tip.ref, 200)}`,
      );
    }
  }
  return lines.map((line) => line + "\n").join("");
}

function rowText(point: RestorePoint, head: HeadState): string {
  const what = canUndo(point, head)
    ? "undo"
    : canRedo(point, head)
    ? "redo"
    : point.undone
    ? "undone"
    : point.state === "finished"
    ? ""
    : point.state;
  return [
    point.id,
    timeText(point.createdAtMs),
    visible(operationText(point), 24).padEnd(16),
    what.padEnd(8),
    `${headText(point.head)} -> ${point.headAfter ? headText(point.headAfter) : "?"}`,
  ].join("  ");
}

/** Everything that is known of one point. */
export function pointText(point: RestorePoint, head: HeadState): string {
  const lines = [
    `Restore point ${point.id}`,
    `Made        ${timeText(point.createdAtMs)}, before ${visible(operationText(point), 60)}`,
    `State       ${point.state}${point.undone ? ", undone" : ""}`,
    `HEAD        ${headText(point.head)} -> ${
      point.headAfter ? headText(point.headAfter) : "not known"
    }`,
  ];
  if (point.previewId !== null) lines.push(`Proposal    ${visible(point.previewId, 128)}`);
  if (point.agentId !== null) {
    lines.push(
      `Agent       says it is ${visible(point.agentId, 128)} (self-declared, not verified)`,
    );
  }
  if (point.files !== null) {
    lines.push(
      `Files       ${point.files} covered, ${point.copiedFiles} of them (${point.copiedBytes} bytes) read for it`,
    );
  }
  if (point.refsTotal > 0) {
    lines.push("", `Refs that the operation moved (${point.refsTotal}):`);
    for (const change of point.refs.slice(0, 60)) lines.push(`  ${refText(change)}`);
    if (point.refsTotal > 60) lines.push(`  … ${point.refsTotal - 60} more`);
  }
  const left = notCoveredLines(point);
  if (left.length > 0) lines.push("", "Not covered:", ...left);
  lines.push(
    "",
    canUndo(point, head)
      ? "It can be undone: fluxgit-sidecar restore undo"
      : canRedo(point, head)
      ? "It can be done again: fluxgit-sidecar restore redo"
      : `It can be gone back to: fluxgit-sidecar restore apply ${point.id}`,
  );
  return lines.join("\n") + "\n";
}

const WORDS: Readonly<Record<string, string>> = {
  ignored: "ignored files and folders",
  nestedRepositories: "repositories inside the work tree",
  submodules: "what is checked out in submodules",
  refusedNames: "names that git refuses",
  operationState: "files of an operation in progress",
  brokenRefs: "refs that were broken already",
};

function notCoveredLines(point: RestorePoint): string[] {
  const lines: string[] = [];
  for (const [key, words] of Object.entries(WORDS)) {
    const named = point.notCovered[key as keyof typeof point.notCovered];
    if (typeof named !== "object") continue;
    const names = named.first.slice(0, 10).map((name) => visible(name, 100)).join(", ");
    lines.push(`  ${named.count} ${words}: ${names}${named.count > 10 ? ", …" : ""}`);
  }
  if (point.notCovered.historyKeptByReflogOnly) {
    lines.push("  history is kept by git's own reflog alone: no hard links are possible here");
  }
  return lines;
}

/** A preview as the gateway sends it; members of another process are read with care. */
// deno-lint-ignore no-explicit-any
export function previewText(preview: any, what: string): string {
  const lines = [`This will ${what}:`];
  const head = preview?.head;
  if (head && (head.from.ref !== head.to.ref || head.from.oid !== head.to.oid)) {
    lines.push(`  HEAD ${headText(head.from)} -> ${headText(head.to)}`);
  }
  for (const change of items(preview?.refs)) lines.push(`  ref ${refText(change)}`);
  if (preview?.refsTotal > 60) lines.push(`  … ${Number(preview.refsTotal) - 60} more refs`);
  const files = preview?.files ?? {};
  lines.push(...named("files are created again", files.created));
  lines.push(...named("files are overwritten", files.overwritten));
  lines.push(...named("files are removed", files.removed));
  lines.push(...named("files that the point does not know stay", files.left));
  if (preview?.lines) {
    lines.push(`  lines: +${Number(preview.lines.added)} -${Number(preview.lines.deleted)}`);
  }
  if (preview?.index === "changes") lines.push("  what is staged changes");
  lines.push(...named("files of an operation in progress change", preview?.operationState));
  if (preview?.stash?.changes) {
    lines.push(`  the stash changes; ${Number(preview.stash.newerKept)} newer entries stay`);
  }
  if (preview?.commitsLeftBehind !== 0) {
    const count = preview?.commitsLeftBehind;
    lines.push(
      `  ${count === null ? "an unknown number of" : Number(count)} commits are on no branch then`,
    );
  }
  for (const left of items(preview?.refsLeft)) {
    lines.push(`  ref ${visible(String(left.ref), 200)} stays: ${REASONS[left.reason] ?? "kept"}`);
  }
  for (const blocker of items(preview?.blockers)) {
    lines.push(`Cannot be done: ${visible(String(blocker.message), 400)}`);
    lines.push(...named("in the way", blocker));
  }
  lines.push(
    preview?.nothingToDo === true
      ? "Everything is as in the point already."
      : "A restore point of the present is made first: all of this can be taken back.",
  );
  return lines.join("\n") + "\n";
}

const REASONS: Readonly<Record<string, string>> = {
  made_after_the_point: "it was made after the point",
  checked_out_in_another_work_tree: "another work tree has it checked out",
};

// deno-lint-ignore no-explicit-any
function named(words: string, value: any): string[] {
  if (!value || !(value.count > 0)) return [];
  const names = items(value.first).slice(0, 20).map((name) => `    ${visible(String(name), 200)}`);
  const more = value.count > names.length ? [`    … ${value.count - names.length} more`] : [];
  return [`  ${Number(value.count)} ${words}:`, ...names, ...more];
}

// deno-lint-ignore no-explicit-any
function items(value: unknown): any[] {
  return Array.isArray(value) ? value.slice(0, 60) : [];
}

function operationText(point: RestorePoint): string {
  return point.direction === null || point.direction === "apply"
    ? point.operation
    : `${point.operation} (${point.direction})`;
}

// deno-lint-ignore no-explicit-any
function refText(change: any): string {
  const side = (oid: unknown) => typeof oid === "string" ? short(oid) : "(none)";
  return `${visible(String(change.ref), 200)}: ${side(change.before)} -> ${side(change.after)}`;
}

// deno-lint-ignore no-explicit-any
function headText(head: any): string {
  const oid = typeof head?.oid === "string" ? short(head.oid) : "(unborn)";
  return typeof head?.ref === "string"
    ? `${visible(head.ref.replace(/^refs\/heads\//, ""), 80)} ${oid}`
    : `(detached) ${oid}`;
}

function short(oid: string): string {
  return visible(oid.slice(0, 12), 12);
}

function timeText(ms: number): string {
  const date = new Date(ms);
  return Number.isNaN(date.getTime()) ? "?" : date.toISOString().replace(/\.\d+Z$/, "Z");
}
