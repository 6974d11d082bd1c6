import type { CardTools } from "./card_tools.ts";
import { parseDiff } from "./diff_parse.ts";
import { diffView, invert, tally } from "./diff_view.ts";
import { button, h, icon, ident, longList, prose, section } from "./dom.ts";
import type { Card, FileEffect } from "./shapes.ts";

/** Files and changes of a card, as they will really be. */

const STATUS_WORDS: Readonly<Record<string, string>> = {
  A: "added",
  M: "modified",
  D: "deleted",
  R: "renamed",
  C: "copied",
  T: "type changes",
  U: "conflicted",
  "?": "untracked, removed",
};

/** A discard or a hard reset undoes what its diff shows: it is turned round so that it reads as it will be. */
function turned(card: Card): boolean {
  return card.operationType === "discard" ||
    (card.operationType === "reset" && card.effect?.details["mode"] === "hard");
}

/** Every file that is touched; what is lost for good is one click away. */
export function files(card: Card, tools: CardTools): HTMLElement | null {
  const { files, filesTotal } = card.effect!;
  if (filesTotal === 0) return null;
  const title = turned(card)
    ? `Files that lose their changes (${filesTotal.toLocaleString("en")})`
    : `Files (${filesTotal.toLocaleString("en")})`;
  return section(
    title,
    { class: "files" },
    longList(
      files,
      20,
      (file) => fileRow(file, turned(card), tools),
      { class: "file-list" },
      "files",
    ),
    filesTotal > files.length
      ? h(
        "p",
        { class: "muted" },
        `${(filesTotal - files.length).toLocaleString("en")} more files are not listed.`,
      )
      : null,
  );
}

function fileRow(file: FileEffect, turn: boolean, tools: CardTools): HTMLElement {
  const status = turn && (file.status === "A" || file.status === "D")
    ? file.status === "A" ? "D" : "A"
    : file.status;
  const words = STATUS_WORDS[status] ?? status;
  const row = h(
    "li",
    {},
    h(
      "span",
      { class: `file-status file-${status === "?" ? "untracked" : status}`, title: words },
      status,
    ),
    h("span", { class: "sr" }, words),
    file.origPath ? [ident(file.origPath), h("span", { class: "arrow" }, "→")] : null,
    ident(file.path),
    file.binary
      ? h("span", { class: "badge" }, "binary")
      : turn
      ? tally(file.deleted, file.added)
      : tally(file.added, file.deleted),
    file.modes
      ? h("span", { class: "badge strong" }, `mode ${file.modes.old} → ${file.modes.new}`)
      : null,
    file.pathBytes ? h("span", { class: "badge strong" }, "name is not UTF-8") : null,
    file.note ? h("span", { class: "muted" }, file.note) : null,
  );
  if (file.status === "?") row.append(lostContent(file.path, tools));
  return row;
}

/** A file that nothing but a restore point brings back: its content is one click away. */
function lostContent(path: string, tools: CardTools): HTMLElement {
  const place = h("div", { class: "lost-content" });
  const show = button("Show content", null, {
    class: "small",
    "aria-expanded": "false",
    async onclick() {
      const open = show.getAttribute("aria-expanded") === "true";
      show.setAttribute("aria-expanded", String(!open));
      show.textContent = open ? "Show content" : "Hide content";
      if (open) return place.replaceChildren();
      try {
        const { text, note, truncated } = await tools.lostFile(path);
        place.replaceChildren(
          text === null ? h("p", { class: "muted" }, note) : prose(text, { class: "file-text" }),
          ...(truncated
            ? [h("p", { class: "muted" }, "The file is longer than is shown here.")]
            : []),
        );
      } catch (error) {
        place.replaceChildren(h("p", { class: "error" }, (error as Error).message));
      }
    },
  });
  return h("div", { class: "lost" }, show, place);
}

/** The changes; null where there are none to show. */
export function diffs(card: Card, tools: CardTools): HTMLElement | null {
  const { diff, diffTruncated } = card.effect!;
  if (!diff) return null;
  const heading = turned(card) ? "What happens to these files" : "Changes";
  const draw = (text: string) => {
    const parsed = parseDiff(text);
    return diffView(turned(card) ? parsed.map(invert) : parsed, { heading });
  };
  const place = h("div", {}, draw(diff));
  if (!diffTruncated) return place;
  const told = h(
    "p",
    { class: "notes warning" },
    icon("warning"),
    " The changes are longer than is shown here. ",
  );
  const load = button("Show all of them", null, {
    class: "small",
    async onclick() {
      load.disabled = true;
      load.textContent = "Loading …";
      try {
        place.replaceChildren(draw(await tools.wholeDiff()));
      } catch (error) {
        load.disabled = false;
        load.textContent = "Show all of them";
        told.append(h("span", { class: "error" }, ` ${(error as Error).message}`));
      }
    },
  });
  told.append(load);
  place.append(told);
  return place;
}
