import { diffView, invert, tally } from "./diff_view.ts";
import { parseDiff } from "./diff_parse.ts";
import { details } from "./card_details.ts";
import { button, h, icon, ident, longList, oid, prose, section } from "./dom.ts";
import { graphView } from "./graph_view.ts";
import type { Card, Coverage, FileEffect, Note, Proposal, RefEffect } from "./shapes.ts";
import { baseName, count, refName } from "./text.ts";
import { NOT_COVERED, operationName, riskName } from "./words.ts";

/** What the card needs of the page around it. */
export interface CardTools {
  /** Content of a file that would be lost. */
  readonly lostFile: (
    path: string,
  ) => Promise<{ text: string | null; note: string | null; truncated: boolean }>;
  readonly wholeDiff: () => Promise<string>;
  readonly coverage: () => Promise<Coverage>;
  /** Other proposals that wait for the same repository. */
  readonly neighbours: readonly Proposal[];
}

/** Everything of a card but the decision: who, why, and what would really happen. */
export function cardBody(card: Card, tools: CardTools): HTMLElement {
  const effect = card.effect;
  return h(
    "div",
    { class: "card-body" },
    notes(card.blockers, "blocker", "This cannot be approved as things are"),
    notes(card.warnings, "warning", "Worth knowing"),
    section(
      "Why, in the agent's own words",
      { class: "reason" },
      h("blockquote", {}, prose(card.reason)),
    ),
    effect
      ? h(
        "div",
        { class: "pair" },
        effect.refs.length > 0 && card.operationType !== "branchDelete" ? refs(effect.refs) : null,
        details(card),
      )
      : null,
    graphView(card),
    effect ? files(card, tools) : null,
    effect ? diffs(card, tools) : null,
    h("div", { class: "pair" }, restoreCoverage(card, tools), others(card, tools.neighbours)),
  );
}

/** The head of a card: risk, operation, one line of what happens, who and where. */
export function cardHead(card: Card, timeLeft: HTMLElement): HTMLElement {
  return h(
    "header",
    { class: "card-head" },
    h(
      "div",
      { class: "card-line" },
      h("span", { class: `risk risk-${card.risk}` }, riskName(card.risk)),
      h(
        "span",
        { class: "operation" },
        icon(card.operationType),
        operationName(card.operationType),
      ),
      timeLeft,
    ),
    h("h2", { id: "card-title", tabindex: "-1" }, ident(headline(card))),
    h(
      "dl",
      { class: "who" },
      h("div", {}, h("dt", {}, "Repository"), h("dd", {}, pathName(card.repoPath))),
      h(
        "div",
        {},
        h("dt", {}, "Agent"),
        h(
          "dd",
          {},
          ident(card.agentId),
          h(
            "span",
            { class: "badge", title: "Any program can claim any name; nothing verifies it." },
            "self-declared",
          ),
        ),
      ),
    ),
  );
}

function headline(card: Card): string {
  const text = card.effect?.summary ?? operationName(card.operationType);
  return text.charAt(0).toUpperCase() + text.slice(1);
}

/** A path with its last part standing out. */
export function pathName(path: string): HTMLElement {
  const last = baseName(path);
  const before = path.endsWith(last) ? path.slice(0, -last.length) : "";
  return h(
    "span",
    { class: "path" },
    before === "" ? null : ident(before, { class: "muted" }),
    ident(before === "" ? path : last),
  );
}

function notes(list: readonly Note[], kind: "blocker" | "warning", title: string) {
  if (list.length === 0) return null;
  return h(
    "section",
    { class: `notes ${kind}`, ...(kind === "blocker" ? { role: "alert" } : {}) },
    h("h3", {}, icon(kind === "blocker" ? "stop" : "warning"), title),
    h(
      "ul",
      {},
      list.map((note) =>
        h(
          "li",
          {},
          note.message,
          note.paths && note.paths.length > 0
            ? longList(
              note.paths,
              8,
              (path) => h("li", {}, ident(path)),
              { class: "paths" },
              "paths",
            )
            : null,
        )
      ),
    ),
  );
}

/** A table of refs before and after. */
export function refs(list: readonly RefEffect[], total = list.length): HTMLElement {
  return section(
    list.length === 1 ? "Where the ref goes" : `Where ${total.toLocaleString("en")} refs go`,
    { class: "refs" },
    h(
      "table",
      { class: "plain stack" },
      h(
        "thead",
        {},
        h("tr", {}, ["Ref", "Now", "Then"].map((title) => h("th", { scope: "col" }, title))),
      ),
      h(
        "tbody",
        {},
        list.slice(0, 200).map((ref) =>
          h(
            "tr",
            {},
            h("th", { scope: "row" }, ident(refName(ref.ref), { title: ref.ref })),
            h("td", { "data-title": "Now" }, oid(ref.before, "does not exist")),
            h(
              "td",
              { "data-title": "Then" },
              ref.after === null ? h("span", { class: "gone" }, "deleted") : oid(ref.after),
            ),
          )
        ),
      ),
    ),
    total > 200 ? h("p", { class: "muted" }, `${total - 200} more are not listed.`) : null,
  );
}

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

function files(card: Card, tools: CardTools): HTMLElement | null {
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

function diffs(card: Card, tools: CardTools): HTMLElement | null {
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

function restoreCoverage(card: Card, tools: CardTools): HTMLElement | null {
  if (card.status !== "pending" && card.status !== "approved") return null;
  const place = h("p", { class: "muted" }, "Looking …");
  const root = section("If it goes wrong", { class: "coverage" }, place);
  tools.coverage().then(({ covered, notCovered }) => {
    const left = Object.entries(notCovered);
    place.replaceWith(
      h(
        "p",
        {},
        icon("shield"),
        " A restore point is made first, and without it nothing runs. It brings back ",
        covered.join(", "),
        ".",
      ),
      left.length === 0 ? h("p", {}, "It leaves nothing out.") : h(
        "div",
        {},
        h("p", {}, "It does not bring back:"),
        h(
          "ul",
          { class: "not-covered" },
          left.map(([name, what]) =>
            h(
              "li",
              {},
              `${count(what.count, "entry", "entries")}: ${NOT_COVERED[name] ?? name}`,
              what.first.length > 0
                ? h(
                  "span",
                  { class: "muted" },
                  " (",
                  what.first.slice(0, 3).flatMap((path, i) => [i > 0 ? ", " : "", ident(path)]),
                  what.count > 3 ? " …" : "",
                  ")",
                )
                : null,
            )
          ),
        ),
      ),
    );
    if (card.operationType === "push") {
      root.append(
        h(
          "p",
          {},
          "What reached the remote stays there: a restore point is of this repository only.",
        ),
      );
    }
  }, () => {
    place.textContent = "What it would cover cannot be told now.";
  });
  return root;
}

/** Other proposals for the repository, and the agents at work there as far as they are known. */
function others(card: Card, neighbours: readonly Proposal[]): HTMLElement {
  const agents = card.otherAgents?.agents ?? [];
  return section(
    "Who else works here",
    { class: "others" },
    neighbours.length === 0 ? null : h(
      "ul",
      {},
      neighbours.slice(0, 5).map((one) =>
        h(
          "li",
          {},
          h("a", { href: `#/p/${one.previewId}` }, operationName(one.operationType)),
          " by ",
          ident(one.agentId),
          " waits too",
        )
      ),
      neighbours.length > 5 ? h("li", {}, `and ${neighbours.length - 5} more`) : null,
    ),
    agents.length > 0
      ? h(
        "ul",
        {},
        agents.slice(0, 32).map((agent) =>
          h(
            "li",
            {},
            icon("people"),
            " ",
            ident(agent.name ?? agent.agentId ?? "an agent"),
            agent.overlappingPaths && agent.overlappingPaths.length > 0
              ? [
                " touches ",
                agent.overlappingPaths.slice(0, 5).flatMap((
                  path,
                  i,
                ) => [i > 0 ? ", " : "", ident(path)]),
              ]
              : null,
          )
        ),
      )
      : h(
        "p",
        { class: "muted" },
        card.otherAgents
          ? "No other agent was found."
          : neighbours.length === 0
          ? "No other proposal waits for this repository. Agents at work are not looked for."
          : "Agents at work are not looked for.",
      ),
  );
}
