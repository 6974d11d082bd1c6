import { type DiffFile, type DiffHunk, type DiffLine, modeWords } from "./diff_parse.ts";
import { changedWords, pairLines, type Stretch } from "./diff_words.ts";
import { append, appendText, h, icon, ident } from "./dom.ts";
import { count } from "./text.ts";

/** Diffs as a table a file. Only what is open is in the document, and long ones come in pieces. */

const STORED = "fluxgit-diff";
/** A file with more lines than this is folded at first. */
const LONG_FILE = 400;
/** Files are open at first until so many lines are shown. */
const OPEN_LINES = 1_000;
/** Lines that are put into the document at once. */
const BATCH = 500;

export type DiffMode = "unified" | "split";

/** How this person likes diffs; narrow windows are always unified. */
export function diffMode(): DiffMode {
  if (matchMedia("(max-width: 1100px)").matches) return "unified";
  try {
    return localStorage.getItem(STORED) === "split" ? "split" : "unified";
  } catch {
    return "unified";
  }
}

/** Changes and keeps the way of showing; every diff on the page follows. */
export function setDiffMode(mode: DiffMode): void {
  try {
    localStorage.setItem(STORED, mode);
  } catch { /* it holds for this card only */ }
  document.dispatchEvent(new CustomEvent("diffmode", { detail: mode }));
}

/** Swaps the sides: what a restore or a discard does to the files is the opposite of their diff. */
export function invert(file: DiffFile): DiffFile {
  const changes = { added: "deleted", deleted: "added" } as const;
  const swap = (line: DiffLine): DiffLine => ({
    kind: line.kind === "+" ? "-" : line.kind === "-" ? "+" : line.kind,
    text: line.text,
    old: line.new,
    new: line.old,
  });
  return {
    ...file,
    path: file.oldPath ?? file.path,
    oldPath: file.oldPath === null ? null : file.path,
    change: file.change === "added" || file.change === "deleted"
      ? changes[file.change]
      : file.change,
    modes: file.modes && { old: file.modes.new, new: file.modes.old },
    added: file.deleted,
    deleted: file.added,
    hunks: file.hunks.map((hunk) => ({
      header: hunk.header.replace(/^@@ -(\S+) \+(\S+) @@/, "@@ -$2 +$1 @@"),
      lines: oldFirst(hunk.lines.map(swap)),
    })),
  };
}

/** Deleted lines stand before added ones again. */
function oldFirst(lines: readonly DiffLine[]): DiffLine[] {
  const out: DiffLine[] = [];
  let run: DiffLine[] = [];
  const close = () => {
    let last: DiffLine["kind"] = " ";
    const sided = run.map((line) => ({
      line,
      side: line.kind === "\\" ? last : (last = line.kind),
    }));
    for (const side of ["-", "+"] as const) {
      out.push(...sided.filter((one) => one.side === side).map((one) => one.line));
    }
    run = [];
  };
  for (const line of lines) {
    if (line.kind !== " " && (line.kind !== "\\" || run.length > 0)) run.push(line);
    else {
      close();
      out.push(line);
    }
  }
  close();
  return out;
}

/** All files of a diff with their switch. */
export function diffView(files: readonly DiffFile[], options: { heading: string }): HTMLElement {
  const added = files.reduce((sum, file) => sum + file.added, 0);
  const deleted = files.reduce((sum, file) => sum + file.deleted, 0);
  const root = h("section", { class: "diffs" });
  const modeButton = (mode: DiffMode, label: string) =>
    h("button", {
      type: "button",
      "data-mode": mode,
      "aria-pressed": String(diffMode() === mode),
      onclick: () => setDiffMode(mode),
    }, label);
  const buttons = [modeButton("unified", "Unified"), modeButton("split", "Split")];
  root.append(
    h(
      "div",
      { class: "diffs-head" },
      h("h3", {}, options.heading),
      h("span", { class: "tally" }, tally(added, deleted)),
      h("div", { class: "segmented", role: "group", "aria-label": "How diffs are shown" }, buttons),
    ),
  );
  let shown = 0;
  for (const file of files) {
    const lines = file.added + file.deleted;
    const open = lines <= LONG_FILE && shown + lines <= OPEN_LINES;
    if (open) shown += lines;
    root.append(fileView(file, open));
  }
  const follow = () => {
    if (!root.isConnected) return document.removeEventListener("diffmode", follow);
    for (const one of buttons) {
      one.setAttribute("aria-pressed", String(one.dataset["mode"] === diffMode()));
    }
  };
  document.addEventListener("diffmode", follow);
  return root;
}

/** `+12 −3`. */
export function tally(added: number | null, deleted: number | null): HTMLElement {
  if (added === null && deleted === null) return h("span", {});
  return h(
    "span",
    { class: "plus-minus" },
    h("span", { class: "plus" }, `+${(added ?? 0).toLocaleString("en")}`),
    " ",
    h("span", { class: "minus" }, `−${(deleted ?? 0).toLocaleString("en")}`),
  );
}

function fileView(file: DiffFile, open: boolean): HTMLElement {
  const body = h("div", { class: "diff-body", hidden: !open });
  let drawn: DiffMode | null = null;
  const draw = () => {
    if (drawn === diffMode()) return;
    drawn = diffMode();
    body.replaceChildren(fileBody(file, drawn));
  };
  const name = file.path === "" ? "Text beside the changes" : null;
  const lines = file.added + file.deleted;
  const toggle = h(
    "button",
    {
      type: "button",
      class: "diff-file-name",
      "aria-expanded": String(open),
      onclick: () => {
        body.hidden = !body.hidden;
        toggle.setAttribute("aria-expanded", String(!body.hidden));
        if (body.hidden) {
          drawn = null;
          body.replaceChildren();
        } else draw();
      },
    },
    icon("file"),
    file.oldPath !== null ? [ident(file.oldPath), h("span", { class: "arrow" }, "→")] : null,
    name ?? ident(file.path),
    h("span", { class: `change change-${file.change}` }, name ? "" : file.change),
    ...modeBadges(file),
    file.path === ""
      ? null
      : file.binary
      ? h("span", { class: "badge" }, "binary")
      : tally(file.added, file.deleted),
    open || lines <= LONG_FILE ? null : h("span", { class: "muted" }, "folded: long"),
  );
  const element = h(
    "div",
    { class: "diff-file", "data-path": file.path },
    h("h4", {}, toggle),
    body,
  );
  if (open) draw();
  const follow = () => {
    if (!element.isConnected) return document.removeEventListener("diffmode", follow);
    if (!body.hidden) draw();
  };
  document.addEventListener("diffmode", follow);
  return element;
}

function modeBadges(file: DiffFile): HTMLElement[] {
  if (file.modes && file.modes.old !== file.modes.new) {
    return [h(
      "span",
      { class: "badge strong" },
      `${modeWords(file.modes.old)} → ${modeWords(file.modes.new)}`,
    )];
  }
  if (file.mode && file.mode !== "100644") {
    return [h("span", { class: "badge strong" }, modeWords(file.mode))];
  }
  return [];
}

function fileBody(file: DiffFile, mode: DiffMode): HTMLElement {
  const box = h("div", {});
  if (file.notes.length > 0) {
    const notes = h("pre", { class: "diff-notes" });
    appendText(notes, file.notes.slice(0, 200).join("\n"), true);
    box.append(notes);
  }
  if (file.binary) {
    box.append(h("p", { class: "muted pad" }, "A binary file: its content is not shown."));
  } else if (file.hunks.length === 0 && file.path !== "") {
    box.append(h("p", { class: "muted pad" }, emptyWords(file)));
  }
  if (file.hunks.length === 0) return box;
  const table = h("table", { class: `diff ${mode}` });
  table.append(
    h("caption", { class: "sr" }, `Changes of ${file.path}`),
    h(
      "colgroup",
      {},
      (mode === "split" ? ["num", "sign", "", "num", "sign", ""] : ["num", "num", "sign", ""]).map(
        (name) => h("col", { class: name }),
      ),
    ),
    h(
      "thead",
      { class: "sr" },
      h(
        "tr",
        {},
        (mode === "split"
          ? ["Old line", "Old change", "Old text", "New line", "New change", "New text"]
          : ["Old line", "New line", "Change", "Text"]).map((title) =>
            h("th", { scope: "col" }, title)
          ),
      ),
    ),
  );
  const rows = rowsOf(file.hunks, mode);
  const place = h("tbody", {});
  table.append(place);
  box.append(table);
  let at = 0;
  const more = h("button", { type: "button", class: "link pad", onclick: () => show() });
  const show = () => {
    const batch = document.createDocumentFragment();
    for (const end = Math.min(at + BATCH, rows.length); at < end; at++) batch.append(rows[at]!());
    place.append(batch);
    if (at >= rows.length) more.remove();
    else more.textContent = `Show more (${count(rows.length - at, "line")} left)`;
  };
  show();
  if (at < rows.length) box.append(more);
  return box;
}

function emptyWords(file: DiffFile): string {
  if (file.change === "renamed") return "Renamed; the content stays the same.";
  if (file.modes) return "Only the mode changes.";
  if (file.change === "added") return "A new file without content.";
  if (file.change === "deleted") return "A file without content is removed.";
  return "No lines to show.";
}

/** Makers of rows: a row is built only when it is shown. */
function rowsOf(hunks: readonly DiffHunk[], mode: DiffMode): (() => HTMLElement)[] {
  const rows: (() => HTMLElement)[] = [];
  for (const hunk of hunks) {
    rows.push(() => {
      const cell = h("td", { colspan: mode === "split" ? 6 : 4 });
      appendText(cell, hunk.header, true);
      return h("tr", { class: "hunk" }, cell);
    });
    for (const { left, right } of unless(hunk, mode)) rows.push(() => row(left, right, mode));
  }
  return rows;
}

interface Pair {
  readonly left: Side | null;
  readonly right: Side | null;
}
interface Side {
  readonly line: DiffLine;
  readonly words: () => readonly Stretch[] | null;
}

/** Pairs with their words; in the unified way all deleted lines of a run come before the added ones. */
function unless(hunk: DiffHunk, mode: DiffMode): Pair[] {
  const pairs: Pair[] = [];
  let later: Pair[] = [];
  const none = () => null;
  for (const { left, right } of pairLines(hunk.lines)) {
    if (left !== null && left === right) {
      pairs.push(...later, {
        left: { line: left, words: none },
        right: { line: left, words: none },
      });
      later = [];
      continue;
    }
    let words: ReturnType<typeof changedWords> | undefined;
    const both = left?.kind === "-" && right?.kind === "+";
    const look = () => words ??= both ? changedWords(left.text, right.text) : null;
    const a = left && { line: left, words: () => look()?.left ?? null };
    const b = right && { line: right, words: () => look()?.right ?? null };
    if (mode === "split") pairs.push({ left: a, right: b });
    else {
      if (a) pairs.push({ left: a, right: null });
      if (b) later.push({ left: null, right: b });
    }
  }
  pairs.push(...later);
  return pairs;
}

function row(left: Side | null, right: Side | null, mode: DiffMode): HTMLElement {
  if (mode === "split") {
    return h("tr", {}, cells(left, "old"), cells(right, "new"));
  }
  const side = (left ?? right)!;
  const { line } = side;
  return h(
    "tr",
    { class: kindClass(line.kind) },
    h("td", { class: "num" }, line.old),
    h("td", { class: "num" }, line.new),
    h("td", { class: "sign" }, line.kind === " " ? "" : line.kind === "-" ? "−" : line.kind),
    code(side),
  );
}

function cells(side: Side | null, which: "old" | "new"): HTMLElement[] {
  if (!side) {
    return [h("td", { class: "void num" }), h("td", { class: "void" }), h("td", { class: "void" })];
  }
  const { line } = side;
  const kind = kindClass(line.kind);
  return [
    h("td", { class: `num ${kind}` }, which === "old" ? line.old : line.new),
    h(
      "td",
      { class: `sign ${kind}` },
      line.kind === " " ? "" : line.kind === "-" ? "−" : line.kind,
    ),
    code(side, kind),
  ];
}

function code(side: Side, kind = ""): HTMLElement {
  const cell = h("td", { class: `code ${kind}` });
  const stretches = side.words();
  if (stretches === null) appendText(cell, side.line.text, true);
  else {
    append(
      cell,
      stretches.map((part) => {
        const span = h(part.changed ? "mark" : "span", {});
        appendText(span, part.text, true);
        return span;
      }),
    );
  }
  return cell;
}

function kindClass(kind: DiffLine["kind"]): string {
  return kind === "+" ? "add" : kind === "-" ? "del" : kind === "\\" ? "remark" : "same";
}
