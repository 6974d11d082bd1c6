import { h, ident, oid, section } from "./dom.ts";
import type { Card } from "./shapes.ts";

/** What a deletion of branches found out about each. */

/** @param value the rows as the gateway sends them */
export function branchTable(value: unknown, card: Card): HTMLElement {
  const rows = array(value) as {
    repoPath: string;
    branch: string;
    tipOid: string | null;
    skip: string | null;
    subject: string | null;
  }[];
  const several = new Set(rows.map((row) => row.repoPath)).size > 1 ||
    rows.some((row) => row.repoPath !== card.repoPath);
  const titles = [
    "Branch",
    ...(several ? ["Repository"] : []),
    "Tip",
    "Last commit",
    "What happens",
  ];
  return section(
    "Branches as they are now",
    { class: "branch-table" },
    h(
      "table",
      { class: "plain stack" },
      h("thead", {}, h("tr", {}, titles.map((title) => h("th", { scope: "col" }, title)))),
      h(
        "tbody",
        {},
        rows.slice(0, 400).map((row) =>
          h(
            "tr",
            { class: row.skip === null ? "going" : "staying" },
            h("th", { scope: "row" }, ident(row.branch)),
            several ? h("td", { "data-title": "Repository" }, ident(row.repoPath)) : null,
            h("td", { "data-title": "Tip" }, oid(row.tipOid)),
            h("td", { "data-title": "Last commit" }, row.subject ?? ""),
            h(
              "td",
              { "data-title": "What happens" },
              row.skip === null
                ? h("span", { class: "gone" }, "deleted; its commits are kept elsewhere")
                : h("span", {}, `stays: ${SKIPS[row.skip] ?? row.skip}`),
            ),
          )
        ),
      ),
    ),
  );
}

const SKIPS: Readonly<Record<string, string>> = {
  unknown: "there is no such branch",
  unmerged: "it has commits that are nowhere else",
  checked_out: "it is checked out in a work tree",
  unreadable_repository: "the repository cannot be opened",
  protected: "it is protected",
};

function array(value: unknown): readonly unknown[] {
  return Array.isArray(value) ? value : [];
}
