import { ask, messageOf } from "./api.ts";
import { facts } from "./card_details.ts";
import { button, type Child, fill, h, icon, ident, longList, oid, prose } from "./dom.ts";
import { pathName, refs } from "./card.ts";
import { type RestoreAction, restorePreview } from "./restore_view.ts";
import type { BranchTip, Proposal, RestoreHistory, RestorePoint } from "./shapes.ts";
import { ago, refName } from "./text.ts";
import { NOT_COVERED, operationName, statusName } from "./words.ts";

/** What was done, what was decided, and the way back. One repository at a time. */

interface Repositories {
  readonly repositories: readonly { readonly repoPath: string; readonly present: boolean }[];
}

export interface HistoryTools {
  readonly proposals: () => readonly Proposal[];
  /** The repository to show first; null for the one used last. */
  readonly repoPath: string | null;
  readonly show: (repoPath: string) => void;
  /** What to preview at once, after "Undo" on a card. */
  readonly action: RestoreAction | null;
}

/** Timeline with previews of every way back. */
export function historyView(tools: HistoryTools): HTMLElement {
  const body = h("div", {}, h("p", { class: "muted" }, "Looking …"));
  void load(body, tools).catch((error) => fill(body, h("p", { class: "error" }, messageOf(error))));
  return h(
    "section",
    { class: "page history" },
    h("h2", { tabindex: "-1", id: "view-title" }, "History and undo"),
    body,
  );
}

async function load(body: HTMLElement, tools: HistoryTools): Promise<void> {
  const { repositories } = await ask<Repositories>("GET", "restore");
  const ended = tools.proposals().filter((one) => one.endedAtMs !== null);
  const paths = [
    ...new Set([...ended.map((one) => one.repoPath), ...repositories.map((one) => one.repoPath)]),
  ];
  const chosen = tools.repoPath ??
    ended.toSorted((a, b) => b.endedAtMs! - a.endedAtMs!)[0]?.repoPath ?? paths[0];
  if (chosen === undefined) {
    return fill(
      body,
      h(
        "div",
        { class: "empty" },
        icon("restore"),
        h("h2", {}, "Nothing was done yet"),
        h("p", {}, "What is approved, rejected or undone appears here, with the way back."),
      ),
    );
  }
  const picker: HTMLSelectElement = h("select", {
    id: "repository",
    onchange: () => tools.show(picker.value),
  }, paths.map((path) => h("option", { value: path, selected: path === chosen }, path)));
  picker.querySelectorAll("option").forEach((option, i) => option.value = paths[i]!);
  const place = h("div", {}, h("p", { class: "muted" }, "Looking …"));
  fill(
    body,
    paths.length > 1
      ? h("p", { class: "picker" }, h("label", { for: "repository" }, "Repository "), picker)
      : h("p", {}, pathName(chosen)),
    place,
  );
  const history = await ask<RestoreHistory>(
    "GET",
    `restore?repoPath=${encodeURIComponent(chosen)}`,
  );
  drawRepository(place, chosen, history, ended.filter((one) => one.repoPath === chosen), tools);
}

type Entry =
  | { readonly at: number; readonly point: RestorePoint; readonly proposal: Proposal | null }
  | { readonly at: number; readonly point: null; readonly proposal: Proposal };

function drawRepository(
  place: HTMLElement,
  repoPath: string,
  history: RestoreHistory,
  ended: readonly Proposal[],
  tools: HistoryTools,
): void {
  const points = history.list?.points ?? [];
  const byId = new Map(ended.map((one) => [one.previewId, one]));
  const entries: Entry[] = points.map((point) => ({
    at: point.createdAtMs,
    point,
    proposal: point.previewId === null ? null : byId.get(point.previewId) ?? null,
  }));
  const inPoints = new Set(points.map((point) => point.previewId));
  for (const proposal of ended) {
    if (!inPoints.has(proposal.previewId)) {
      entries.push({ at: proposal.endedAtMs!, point: null, proposal });
    }
  }
  entries.sort((a, b) => b.at - a.at);
  const preview = h("div", { class: "preview-place" });
  const open = (action: RestoreAction) =>
    restorePreview(preview, repoPath, action, () => tools.show(repoPath));
  fill(
    place,
    history.kind === "corrupt"
      ? h(
        "p",
        { class: "notes blocker", role: "alert" },
        "The list of restore points cannot be read: ",
        history.reason,
      )
      : null,
    h(
      "div",
      { class: "buttons" },
      button("Undo the last operation", "restore", {
        disabled: !canUndo(points),
        onclick: () => open({ kind: "undo" }),
      }),
      button("Redo", null, {
        disabled: !points.some((point) => point.undone),
        onclick: () => open({ kind: "redo" }),
      }),
      h("span", { class: "muted" }, "You see what happens before anything does."),
    ),
    preview,
    entries.length === 0
      ? h("p", { class: "muted" }, "Nothing was done in this repository yet.")
      : h(
        "ol",
        { class: "timeline" },
        entries.slice(0, 300).map((entry) => entryView(entry, open)),
      ),
    branchTips(history.list?.branchTips ?? [], open),
    entries.length > 300
      ? h("p", { class: "muted" }, `${entries.length - 300} older entries are not listed.`)
      : null,
  );
  if (tools.action) open(tools.action);
}

function entryView(entry: Entry, open: (action: RestoreAction) => void): HTMLElement {
  const { point, proposal } = entry;
  const name = point ? titleOf(point) : operationName(proposal!.operationType);
  const state = point ? pointState(point) : statusName(proposal!.status);
  const kind = point
    ? (point.undone
      ? "undone"
      : point.kind === "restore"
      ? "restore"
      : point.state === "failed"
      ? "failed"
      : "done")
    : proposal!.status;
  const time = new Date(entry.at);
  const agent = point?.agentId ?? proposal?.agentId ?? null;
  return h(
    "li",
    { class: `entry entry-${kind}` },
    h(
      "div",
      { class: "entry-head" },
      h(
        "span",
        { class: "operation" },
        icon(point?.kind === "restore" ? "restore" : point?.operation ?? proposal!.operationType),
        name,
      ),
      h("span", { class: "state" }, state),
      h(
        "time",
        { datetime: time.toISOString(), title: time.toLocaleString() },
        ago(Date.now() - entry.at),
      ),
    ),
    agent === null ? null : h("p", { class: "muted" }, "proposed by ", ident(agent)),
    proposal?.result?.message ? h("p", {}, String(proposal.result.message)) : null,
    proposal?.rejectionReason ? prose(`Reason: ${proposal.rejectionReason}`) : null,
    point === null ? null : h(
      "details",
      {},
      h("summary", {}, "Details and the way back"),
      pointFacts(point),
      point.refs.length > 0 ? refs(point.refs, point.refsTotal, ["Before", "After"]) : null,
      button("Preview going back to before this", "restore", {
        class: "small",
        onclick: () => open({ kind: "apply", id: point.id }),
      }),
    ),
  );
}

/** Branches that were deleted and can come back; the newest first. */
function branchTips(
  tips: readonly BranchTip[],
  open: (action: RestoreAction) => void,
): HTMLElement | null {
  if (tips.length === 0) return null;
  return h(
    "section",
    { class: "branch-tips" },
    h("h3", {}, `Deleted branches that can come back (${tips.length})`),
    longList(
      tips.toReversed(),
      10,
      (tip) =>
        h(
          "li",
          {},
          ident(refName(tip.ref)),
          " ",
          oid(tip.oid),
          " ",
          h("span", { class: "muted" }, ago(Date.now() - tip.deletedAtMs)),
          " ",
          button("Preview bringing it back", "restore", {
            class: "small",
            onclick: () => open({ kind: "apply", id: tip.id }),
          }),
        ),
      {},
      "branches",
    ),
  );
}

function titleOf(point: RestorePoint): string {
  if (point.kind !== "restore") return operationName(point.operation);
  return point.direction === "undo"
    ? "Undo"
    : point.direction === "redo"
    ? "Redo"
    : "Went back to an earlier point";
}

function pointState(point: RestorePoint): string {
  if (point.undone) return "undone";
  return point.state === "finished"
    ? "done"
    : point.state === "failed"
    ? "failed, put back"
    : "not finished";
}

function pointFacts(point: RestorePoint): HTMLElement {
  const head = (state: RestorePoint["head"] | null): Child =>
    state === null ? "not known" : [
      oid(state.oid, "no commit"),
      " ",
      ident(state.ref === null ? "detached" : refName(state.ref)),
    ];
  const left = Object.entries(point.notCovered).map(([name, what]) =>
    what === true ? NOT_COVERED[name] ?? name : `${what.count} × ${NOT_COVERED[name] ?? name}`
  );
  return facts([
    ["Restore point", h("code", {}, point.id)],
    ["HEAD before", head(point.head)],
    ["HEAD after", head(point.headAfter)],
    [
      "Files kept",
      point.files === null ? "none: a bare repository" : point.files.toLocaleString("en"),
    ],
    ["Not covered", left.length === 0 ? "nothing was left out" : left.join(", ")],
  ]);
}

/** Whether there is something to undo; whether it can be undone now, the preview tells. */
function canUndo(points: readonly RestorePoint[]): boolean {
  return points.some((point) =>
    point.state === "finished" && !point.undone &&
    (point.kind === "operation" || (point.kind === "restore" && point.direction === "apply"))
  );
}
