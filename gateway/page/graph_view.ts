import { h, ident, longList, oid, svg } from "./dom.ts";
import { type GraphNode, type GraphRow, layGraph } from "./graph.ts";
import type { Card, CommitEffect } from "./shapes.ts";
import { refName, shortId } from "./text.ts";

/** Commits of a card drawn as a graph, with where the refs are and where they will be. */

/** Size of one row and one lane. CSS pixels. */
const ROW = 30, LANE = 16, LEFT = 12;

interface Entry extends GraphNode {
  readonly fate: string;
  readonly subject: string;
  readonly author: string | null;
  readonly real: boolean;
}

const FATES: Readonly<Record<string, string>> = {
  merged: "merged",
  lost: "lost",
  replayed: "rewritten",
  pushed: "pushed",
  overwritten: "overwritten",
  kept: "stays",
  made: "new",
};

/** The commits as a graph; null when the card has none. */
export function graphView(card: Card): HTMLElement | null {
  const effect = card.effect;
  if (!effect || effect.commits.length === 0) return null;
  const entries = entriesOf(card);
  const rows = layGraph(entries);
  const labels = labelsOf(card);
  const width = Math.max(...rows.map((row) => row.width), 1) * LANE + LEFT;
  const list = longList(
    entries,
    25,
    (entry, i) => rowView(entry, rows[i]!, width, labels.get(entry.id) ?? []),
    { class: "graph" },
    "commits",
  );
  const left = effect.commitsTotal - effect.commits.length;
  return h(
    "section",
    { class: "commits" },
    h("h3", {}, `Commits (${effect.commitsTotal.toLocaleString("en")})`),
    list,
    left > 0
      ? h("p", { class: "muted" }, `${left.toLocaleString("en")} older ones are not listed.`)
      : null,
  );
}

function entriesOf(card: Card): Entry[] {
  const effect = card.effect!;
  const ref = effect.refs[0];
  const shown = new Set(effect.commits.map((commit) => commit.oid));
  const entries: Entry[] = [];
  const tip = effect.commits[0]!.oid;
  if (ref?.after === "new" && card.operationType === "merge") {
    const squash = effect.details["kind"] === "one new commit";
    entries.push({
      id: "new",
      parents: [ref.before, squash ? null : tip].filter((id): id is string => id !== null),
      fate: "made",
      subject: squash ? "one new commit with all of these changes" : "merge commit",
      author: null,
      real: false,
    });
  }
  const onto = effect.details["ontoCommit"];
  const rebased = card.operationType === "rebase" && typeof onto === "string" && !shown.has(onto)
    ? onto
    : null;
  if (rebased !== null && ref?.after === "new") {
    const subject = "the same changes, rewritten";
    entries.push({
      id: "new",
      parents: [rebased],
      fate: "made",
      subject,
      author: null,
      real: false,
    });
  }
  entries.push(...effect.commits.map(entryOf));
  if (rebased !== null) {
    const subject = "what they are put onto";
    entries.push({ id: rebased, parents: [], fate: "kept", subject, author: null, real: true });
    shown.add(rebased);
  }
  const anchors = new Map<string, string>();
  if (ref?.before && !shown.has(ref.before)) anchors.set(ref.before, "where it is now");
  if (ref?.after && ref.after !== "new" && !shown.has(ref.after)) {
    anchors.set(ref.after, "where it will be");
  }
  const base = effect.details["mergeBase"];
  const common = typeof base === "string" && !shown.has(base) && !anchors.has(base) ? base : null;
  for (const [id, subject] of anchors) {
    // Both sides come together in their common base, however many commits lie between.
    const parents = common === null ? [] : [common];
    entries.push({ id, parents, fate: "kept", subject, author: null, real: true });
  }
  if (common !== null) {
    const subject = "where both sides part";
    entries.push({ id: common, parents: [], fate: "kept", subject, author: null, real: true });
  }
  return entries;
}

function entryOf(commit: CommitEffect): Entry {
  return {
    id: commit.oid,
    parents: commit.parents,
    fate: commit.fate,
    subject: commit.subject,
    author: commit.author,
    real: true,
  };
}

/** Refs before and after, by commit. */
function labelsOf(card: Card): Map<string, { text: string; when: "now" | "then" }[]> {
  const labels = new Map<string, { text: string; when: "now" | "then" }[]>();
  const add = (id: string | null, text: string, when: "now" | "then") => {
    if (id !== null) labels.set(id, [...labels.get(id) ?? [], { text, when }]);
  };
  for (const ref of card.effect!.refs.slice(0, 20)) {
    add(ref.before, refName(ref.ref), "now");
    add(ref.after, refName(ref.ref), "then");
  }
  return labels;
}

function rowView(
  entry: Entry,
  row: GraphRow,
  width: number,
  labels: readonly { text: string; when: "now" | "then" }[],
): HTMLElement {
  return h(
    "li",
    { class: `fate-${entry.fate}` },
    h("span", { class: "lanes" }, drawRow(row, width, entry)),
    entry.real ? oid(entry.id) : h("span", { class: "new-id" }, "new"),
    h("span", { class: "fate" }, FATES[entry.fate] ?? entry.fate),
    labels.map((label) =>
      h(
        "span",
        { class: `ref-label ${label.when}` },
        label.when === "now" ? "now: " : "then: ",
        ident(label.text),
      )
    ),
    h(
      "span",
      { class: "subject", title: entry.real ? `${shortId(entry.id)} ${entry.subject}` : null },
      entry.subject,
    ),
    entry.author === null ? null : h("span", { class: "author muted" }, entry.author),
  );
}

function drawRow(row: GraphRow, width: number, entry: Entry): SVGElement {
  const x = (lane: number) => LEFT + lane * LANE - LANE / 4;
  const middle = ROW / 2;
  const drawn = svg("svg", { width, height: ROW, "aria-hidden": "true", focusable: "false" });
  const line = (d: string, lane: number) =>
    drawn.append(svg("path", { d, class: `lane lane-${lane % 4}` }));
  for (const { from, to } of row.through) line(`M${x(from)} 0L${x(to)} ${ROW}`, from);
  for (const from of row.into) line(curve(x(from), 0, x(row.lane), middle), from);
  for (const to of row.out) line(curve(x(row.lane), middle, x(to), ROW), to);
  drawn.append(
    svg("circle", {
      cx: x(row.lane),
      cy: middle,
      r: 4.5,
      class: `node node-${entry.fate}`,
    }),
  );
  return drawn;
}

function curve(x1: number, y1: number, x2: number, y2: number): string {
  if (x1 === x2) return `M${x1} ${y1}L${x2} ${y2}`;
  const half = (y1 + y2) / 2;
  return `M${x1} ${y1}C${x1} ${half} ${x2} ${half} ${x2} ${y2}`;
}
