import { diffs, files } from "./card_files.ts";
import type { CardTools } from "./card_tools.ts";
import { details } from "./card_details.ts";
import { h, icon, ident, longList, oid, prose, section } from "./dom.ts";
import { graphView } from "./graph_view.ts";
import type { Card, Note, Proposal, RefEffect } from "./shapes.ts";
import { baseName, count, refName } from "./text.ts";
import { NOT_COVERED, operationName, riskName } from "./words.ts";

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
        { class: card.operationType === "plan" ? "details" : "pair" },
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
export function refs(
  list: readonly RefEffect[],
  total = list.length,
  [before, after]: readonly [string, string] = ["Now", "Then"],
): HTMLElement {
  return section(
    list.length === 1 ? "Where the ref goes" : `Where ${total.toLocaleString("en")} refs go`,
    { class: "refs" },
    h(
      "table",
      { class: "plain stack" },
      h(
        "thead",
        {},
        h("tr", {}, ["Ref", before, after].map((title) => h("th", { scope: "col" }, title))),
      ),
      h(
        "tbody",
        {},
        list.slice(0, 200).map((ref) =>
          h(
            "tr",
            {},
            h("th", { scope: "row" }, ident(refName(ref.ref), { title: ref.ref })),
            h("td", { "data-title": before }, oid(ref.before, "does not exist")),
            h(
              "td",
              { "data-title": after },
              ref.after === null ? h("span", { class: "gone" }, "deleted") : oid(ref.after),
            ),
          )
        ),
      ),
    ),
    total > 200 ? h("p", { class: "muted" }, `${total - 200} more are not listed.`) : null,
  );
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
  const agents = [
    ...card.otherAgents?.agents ?? [],
    ...card.otherAgents?.worktreeAgents ?? [],
  ];
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
            ident(agent.agent),
            ` (${agent.state})`,
            agent.worktree ? [" in ", ident(agent.worktree)] : null,
            agent.overlappingPaths && agent.overlappingPaths.length > 0
              ? [
                " touches ",
                agent.overlappingPaths.slice(0, 5).flatMap((
                  path,
                  i,
                ) => [i > 0 ? ", " : "", ident(path)]),
              ]
              : null,
            agent.overlappingBranches?.length
              ? [" works on branch ", ident(agent.overlappingBranches[0] ?? "")]
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
