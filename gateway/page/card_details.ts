import { branchTable } from "./card_branches.ts";
import { planSteps } from "./card_plan.ts";
import { type Child, h, ident, longList, oid, prose, section } from "./dom.ts";
import type { Card } from "./shapes.ts";
import { count } from "./text.ts";

/** What is particular to one operation. Members that nobody here knows are listed as they are. */
export function details(card: Card): HTMLElement | null {
  const all = card.effect!.details;
  const special = SPECIAL[card.operationType];
  const known = new Set(special?.members ?? []);
  const rest = Object.entries(all).filter(([name]) => !known.has(name));
  const parts: Child[] = [special?.draw(all, card)];
  if (rest.length > 0) parts.push(facts(rest.map(([name, value]) => [words(name), shown(value)])));
  const place = h("div", { class: "details" }, parts);
  return place.childElementCount === 0 ? null : place;
}

type Details = Readonly<Record<string, unknown>>;
interface Special {
  /** Members that are drawn here, or shown elsewhere on the card. */
  readonly members: readonly string[];
  readonly draw: (all: Details, card: Card) => Child;
}

const SPECIAL: Readonly<Record<string, Special>> = {
  push: {
    members: [
      "remote",
      "url",
      "branch",
      "lease",
      "overwrittenCommits",
      "setUpstream",
      "remoteStateSource",
    ],
    draw: (all) => [
      section(
        "Where it is pushed",
        { class: "target" },
        facts([
          ["Remote", ident(text(all["remote"]))],
          ["Address", ident(text(all["url"]))],
          ["Branch", ident(text(all["branch"]))],
          [
            "Force",
            all["lease"] === null ? "no: the remote refuses what would lose commits" : h(
              "strong",
              { class: "danger-text" },
              "yes, only while the remote is at the id below",
            ),
          ],
          ...(all["lease"] === null ? [] : [["Lease", oid(text(all["lease"]))] as Fact]),
          ...(all["lease"] === null ? [] : [
            [
              "Overwrites",
              `${count(Number(all["overwrittenCommits"]), "commit")} on the remote`,
            ] as Fact,
          ]),
          ["Upstream", all["setUpstream"] === true ? "is set to this branch" : "stays as it is"],
        ]),
        h("p", { class: "muted" }, `The remote's state is ${text(all["remoteStateSource"])}.`),
      ),
    ],
  },
  commit: {
    members: ["message", "messageLength", "author", "takes", "concludes"],
    draw: (all) => [
      message(all),
      section(
        "What goes in",
        {},
        facts([
          ["Takes", text(all["takes"])],
          ...authorFact(all),
          ...(all["concludes"]
            ? [["Concludes", `the ${text(all["concludes"])} in progress`] as Fact]
            : []),
        ]),
      ),
    ],
  },
  worktree: {
    members: ["worktreePath", "newBranch", "startsAt"],
    draw: (all) =>
      section(
        "The new work tree",
        {},
        facts([
          ["Folder", ident(text(all["worktreePath"]))],
          ["Branch", all["newBranch"] === true ? "a new one" : "exists already"],
          ["Starts at", oid(typeof all["startsAt"] === "string" ? all["startsAt"] : null)],
        ]),
      ),
  },
  branch: {
    members: ["startPoint", "checkout"],
    draw: (all) =>
      section(
        "The new branch",
        {},
        facts([
          ["Starts at", ident(text(all["startPoint"]))],
          ["Switch to it", all["checkout"] === true ? "yes" : "no"],
        ]),
      ),
  },
  branchDelete: { members: ["branches"], draw: (all, card) => branchTable(all["branches"], card) },
  plan: {
    members: ["steps", "destructiveSteps", "shownAs"],
    draw: planSteps,
  },
  reset: {
    members: ["mode", "diffReads", "commitsOnNoOtherBranch", "commitsGained", "unstaged"],
    draw: (all) =>
      section(
        "What a reset does here",
        {},
        h("p", {}, RESET[text(all["mode"])] ?? text(all["mode"])),
        facts([
          ...number(
            "Commits let go",
            all["commitsOnNoOtherBranch"],
            "on no other branch or tag",
            true,
          ),
          ...number("Commits gained", all["commitsGained"], "that the branch does not have now"),
          ...number("Files unstaged", all["unstaged"], ""),
        ]),
      ),
  },
  discard: { members: ["untrackedRemoved", "ignoredFiles", "diffReads"], draw: () => null },
  merge: {
    members: ["kind", "mergeBase", "changesFiles", "message", "messageLength", "author"],
    draw: (all) => [
      section(
        "How it is merged",
        {},
        facts([
          ["Result", text(all["kind"])],
          [
            "Common base",
            oid(typeof all["mergeBase"] === "string" ? all["mergeBase"] : null, "none"),
          ],
          [
            "Your files",
            all["changesFiles"] === true
              ? "change: the branch is checked out here"
              : "stay: the branch is checked out nowhere",
          ],
          ...authorFact(all),
          ...(typeof all["message"] === "string"
            ? [["Message", prose(all["message"])] as Fact]
            : []),
        ]),
      ),
    ],
  },
  rebase: {
    members: [
      "onto",
      "ontoCommit",
      "publishedCommits",
      "mergeCommits",
      "alreadyApplied",
      "becomeEmpty",
    ],
    draw: (all) =>
      section(
        "What is rewritten",
        {},
        facts([
          ["Onto", [
            ident(text(all["onto"])),
            " ",
            typeof all["ontoCommit"] === "string" ? oid(all["ontoCommit"]) : null,
          ]],
          ...number("Published", all["publishedCommits"], "on a remote branch already", true),
          ...number(
            "Merge commits",
            all["mergeCommits"],
            "left out: their commits are replayed one by one",
          ),
          ...number(
            "Already there",
            all["alreadyApplied"],
            "skipped, because the new base has the same change",
          ),
          ...number(
            "Become empty",
            all["becomeEmpty"],
            "left out, because nothing of them is left",
          ),
        ]),
      ),
  },
  patch: {
    members: ["applyToIndex", "changesOfKind", "places"],
    draw: (all) => [
      lines("Created, deleted and changed kinds", all["changesOfKind"]),
      lines("Where pieces really land", all["places"]),
    ],
  },
  submodulePointer: {
    members: [
      "direction",
      "recorded",
      "checkedOut",
      "submoduleBranch",
      "message",
      "messageLength",
      "author",
      "commitsAhead",
      "commitsBehind",
    ],
    draw: (all) => [submodule(all), typeof all["message"] === "string" ? message(all) : null],
  },
};

const RESET: Readonly<Record<string, string>> = {
  soft: "Only the branch moves. What is staged and your files stay; the difference becomes staged.",
  mixed: "The branch moves and nothing is staged any more. Your files stay as they are.",
  hard:
    "The branch moves, and tracked files become what the target holds: uncommitted work in them is overwritten.",
};

type Fact = readonly [string, Child];

/** Names and values side by side. */
export function facts(list: readonly Fact[]): HTMLElement {
  return h(
    "dl",
    { class: "facts" },
    list.map(([name, value]) => h("div", {}, h("dt", {}, name), h("dd", {}, value))),
  );
}

function submodule(all: Details): HTMLElement {
  const back = all["direction"] === "return";
  const id = (value: unknown) => oid(typeof value === "string" ? value : null, "none");
  return section(
    "The submodule",
    {},
    facts([
      ["Recorded now", id(all["recorded"])],
      ["Checked out now", [
        id(all["checkedOut"]),
        typeof all["submoduleBranch"] === "string" ? [" on ", ident(all["submoduleBranch"])] : null,
      ]],
      [
        "What happens",
        back
          ? "the recorded commit is checked out in the submodule again"
          : "the checked-out commit is recorded in a new commit of the parent",
      ],
      ...number("Ahead", all["commitsAhead"], "newly recorded"),
      ...number("Behind", all["commitsBehind"], "no longer part of what is recorded", true),
      ...authorFact(all),
    ]),
  );
}

/** A commit message as it will be, with a word when the card holds only its beginning. */
function message(all: Details): HTMLElement {
  const shown = text(all["message"]);
  const length = Number(all["messageLength"] ?? shown.length);
  return section(
    "Commit message",
    { class: "message" },
    prose(shown, { class: "file-text" }),
    length > shown.length
      ? h(
        "p",
        { class: "notes warning" },
        `It has ${length.toLocaleString("en")} characters; the rest is not shown here.`,
      )
      : null,
  );
}

function authorFact(all: Details): Fact[] {
  return typeof all["author"] === "string" ? [["Author", ident(all["author"])]] : [];
}

/** "3 commits that …"; nothing for none, "not known" for what was not found out. */
function number(name: string, value: unknown, words: string, warn = false): Fact[] {
  if (value === 0 || value === undefined) return [];
  if (value === null) return [[name, "not known"]];
  const said = `${Number(value).toLocaleString("en")} ${words}`.trim();
  return [[name, warn ? h("strong", { class: "danger-text" }, said) : said]];
}

function lines(title: string, value: unknown): HTMLElement | null {
  const list = array(value) as unknown[];
  if (list.length === 0) return null;
  return section(
    title,
    {},
    longList(list, 10, (line) => h("li", {}, ident(text(line))), { class: "paths" }, "lines"),
  );
}

function array(value: unknown): readonly unknown[] {
  return Array.isArray(value) ? value : [];
}

function text(value: unknown): string {
  return typeof value === "string" ? value : value === undefined ? "" : JSON.stringify(value);
}

function shown(value: unknown): Child {
  if (value === null) return h("span", { class: "muted" }, "none");
  if (typeof value === "boolean") return value ? "yes" : "no";
  if (typeof value === "string") return /^[0-9a-f]{40,64}$/.test(value) ? oid(value) : prose(value);
  return prose(typeof value === "number" ? String(value) : JSON.stringify(value, null, 2));
}

/** `publishedCommits` as "Published commits". */
function words(name: string): string {
  const spaced = name.replace(/([A-Z])/g, (letter) => ` ${letter.toLowerCase()}`);
  return spaced.charAt(0).toUpperCase() + spaced.slice(1);
}
