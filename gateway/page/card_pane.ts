import { ApiError, ask, messageOf, send } from "./api.ts";
import { cardBody, cardHead, pathName } from "./card.ts";
import { facts } from "./card_details.ts";
import { type Decision, decisionBar, type Outcome, reconcileBar } from "./decision.ts";
import { button, type Child, fill, h, icon, ident, oid, prose, say } from "./dom.ts";
import type { Card, Coverage, Overrides, Proposal, Recovery, Result } from "./shapes.ts";
import { clock, spoken } from "./text.ts";
import { ENDINGS, operationName, statusName } from "./words.ts";

/** The open card: fetched, watched for changes, decided, and told how it ended. */

export interface PaneTools {
  readonly left: (id: string) => number | null;
  readonly neighbours: (card: Card) => readonly Proposal[];
  readonly refresh: () => void;
  readonly next: () => void;
  readonly undo: (repoPath: string) => void;
}

/** The repository is looked at again this often while a card is open. Milliseconds. */
const LOOK_AGAIN_MS = 8_000;

export class CardPane {
  readonly element = h("div", { class: "pane" });
  id: string | null = null;
  #card: Card | null = null;
  #decision: Decision | null = null;
  #overrides: Overrides = {};
  #status: Proposal["status"] | null = null;
  /** This window's own decision is under way: what events say about it is no news. */
  #mine = false;
  #lookedAt = 0;
  #looking = false;
  #abort = new AbortController();
  readonly #time = h("span", { class: "time big", role: "timer" });

  constructor(readonly tools: PaneTools) {}

  close(): void {
    this.#abort.abort();
  }

  /** Opens a card, or none. */
  open(id: string | null): void {
    if (id === this.id) return;
    this.#abort.abort();
    this.#abort = new AbortController();
    this.id = id;
    this.#card = null;
    this.#decision = null;
    this.#overrides = {};
    this.#status = null;
    this.#mine = false;
    if (id === null) return this.element.replaceChildren();
    fill(
      this.element,
      h("p", { class: "muted center", role: "status" }, "Looking at the repository …"),
    );
    void this.#load(null, true);
  }

  /** Shown while no card is open. */
  blank(content: HTMLElement): void {
    if (this.id === null) this.element.replaceChildren(content);
  }

  focusApprove(): void {
    this.#decision?.focusApprove();
  }

  focusReject(): void {
    this.#decision?.focusReject();
  }

  tick(): void {
    if (this.id === null || this.#card?.status !== "pending") return;
    const left = this.tools.left(this.id) ?? this.#card.timeLeftMs;
    this.#time.textContent = clock(left);
    this.#time.setAttribute("aria-label", `${spoken(left)} left`);
    this.#time.classList.toggle("soon", left < 60_000);
    if (!document.hidden && !this.#mine && performance.now() - this.#lookedAt > LOOK_AGAIN_MS) {
      void this.#load(null, false);
    }
  }

  /** What the list says about the open card. */
  seen(proposal: Proposal | null): void {
    if (proposal === null || this.#card === null || this.#mine) return;
    const before = this.#status;
    this.#status = proposal.status;
    if (before === null || before === proposal.status) return;
    // Decided elsewhere, expired or withdrawn while somebody looks at it.
    const words = proposal.status === "executing" || proposal.status === "approved"
      ? "It was approved in another window or terminal and is being carried out."
      : proposal.status === "expired" || proposal.status === "cancelled"
      ? ENDINGS[proposal.status]!
      : `It was decided in another window or terminal: ${statusName(proposal.status)}.`;
    void this.#load(words, false, true);
  }

  /**
   * Fetches the card and draws it when it is another than the one shown.
   *
   * @param told what to say above it
   * @param force draw in any case
   */
  async #load(told: string | null, focus: boolean, force = false): Promise<void> {
    const id = this.id;
    if (id === null || (this.#looking && !force && !focus)) return;
    this.#looking = true;
    const { signal } = this.#abort;
    try {
      const query = this.#overrides.applyToIndex === undefined
        ? ""
        : `?applyToIndex=${this.#overrides.applyToIndex}`;
      const card = await ask<Card>("GET", `proposals/${id}${query}`, undefined, signal);
      if (this.id !== id || (this.#mine && !force)) return;
      const before = this.#card;
      const changed = before !== null && before.status === card.status && different(before, card);
      if (before !== null && !force && !changed && before.status === card.status) return;
      this.#card = card;
      this.#status = card.status;
      const news = told ??
        (changed
          ? "The card changed while you looked at it, because the repository changed. Look at it again."
          : null);
      this.#draw(card, news);
      if (focus) {
        this.element.querySelector<HTMLElement>("#card-title")?.focus({ preventScroll: true });
      }
    } catch (error) {
      if (signal.aborted || this.id !== id) return;
      if (this.#card === null || (error instanceof ApiError && error.status === 404)) {
        this.#card = null;
        this.#decision = null;
        fill(
          this.element,
          back(),
          h("p", { class: "notes blocker", role: "alert" }, messageOf(error)),
        );
      }
    } finally {
      this.#lookedAt = performance.now();
      this.#looking = false;
    }
  }

  #draw(card: Card, told: string | null): void {
    const id = card.previewId;
    const live = card.status === "pending" || card.status === "approved";
    const body = live || card.effect === null
      ? cardBody(card, {
        neighbours: this.tools.neighbours(card),
        lostFile: (path) => ask("GET", `proposals/${id}/file?path=${encodeURIComponent(path)}`),
        wholeDiff: async () => await (await send("GET", `proposals/${id}/diff`)).text(),
        coverage: () => ask<Coverage>("GET", `proposals/${id}/coverage`),
      })
      : h(
        "div",
        { class: "card-body" },
        card.recovery ? remains(card.recovery) : null,
        endedBody(card),
      );
    fill(this.#time, live ? clock(card.timeLeftMs) : "");
    this.#time.hidden = card.status !== "pending";
    const bar = this.#bar(card, body);
    fill(
      this.element,
      h(
        "article",
        { class: `card card-${card.status}`, "aria-labelledby": "card-title" },
        back(),
        told ? h("p", { class: "notes news", role: "alert" }, told) : null,
        cardHead(card, this.#time),
        live || interrupted(card) ? null : outcomeView(card, {
          next: this.tools.next,
          undo: () => this.tools.undo(card.repoPath),
        }),
        body,
        bar,
      ),
    );
    this.element.scrollTop = 0;
  }

  #bar(card: Card, body: HTMLElement): HTMLElement | null {
    this.#decision = null;
    const tools = {
      changed: (why: string) => {
        this.#mine = false;
        this.#card = null;
        this.tools.refresh();
        void this.#load(`${why.charAt(0).toUpperCase()}${why.slice(1)}.`, false, true);
      },
      decided: (outcome: Outcome) => void this.#decided(outcome),
      override: (overrides: Overrides) => {
        this.#overrides = overrides;
        void this.#load("The card was computed again for your choice.", false, true);
      },
    };
    if (interrupted(card)) {
      return reconcileBar(card, tools);
    }
    if (card.status !== "pending" && card.status !== "approved") return null;
    const decision = decisionBar(card, body, tools);
    this.#decision = decision;
    // From the click on, what happens to this proposal is this window's own doing.
    decision.element.addEventListener("deciding", () => this.#mine = true);
    decision.element.addEventListener("undecided", () => this.#mine = false);
    return decision.element;
  }

  async #decided(outcome: Outcome): Promise<void> {
    this.tools.refresh();
    const words = outcome.status === "completed"
      ? "Done."
      : outcome.status === "failed"
      ? "It did not work."
      : "Rejected.";
    say(`${words} ${outcome.result?.message ?? ""}`);
    await this.#load(null, false, true);
    this.#mine = false;
    this.element.querySelector<HTMLElement>("#outcome-title")?.focus();
  }
}

/** Its execution was cut off, and nothing carries it out now. */
function interrupted(card: Card): boolean {
  return card.status === "executing" && card.running !== true;
}

/** What an interrupted execution left behind. */
function remains(recovery: Recovery): HTMLElement {
  return h(
    "section",
    { class: "remains" },
    h("h3", {}, icon("warning"), "How the repository looks now"),
    h("p", {}, recovery.message),
    recovery.repositories.map((place) =>
      facts([
        ["Repository", pathName(place.repoPath)],
        ["HEAD before", oid(place.headBefore, "no commit")],
        ["HEAD now", oid(place.headNow, "not known")],
        [
          "Compared",
          place.unchanged === null
            ? "it could not be told whether anything changed"
            : place.unchanged
            ? "everything is as before"
            : "something changed",
        ],
        ["Restore point", ident(place.restorePointId)],
      ])
    ),
    h("p", { class: "muted" }, "The history has the way back, with a preview."),
  );
}

/** On narrow screens the way back to the queue. */
function back(): HTMLElement {
  return h("a", { class: "back", href: "#/queue" }, icon("back"), "Queue");
}

/** Two cards differ when an approval of one would not be one of the other. */
function different(a: Card, b: Card): boolean {
  const key = (card: Card) =>
    JSON.stringify([card.digest, card.blockers, card.warnings, card.words]);
  return key(a) !== key(b);
}

function outcomeView(
  card: Card,
  actions: { next: () => void; undo: () => void },
): HTMLElement {
  const good = card.status === "completed";
  const message = card.result?.message;
  const undoable = card.status === "completed" && typeof card.result?.restorePointId === "string";
  return h(
    "section",
    { class: `outcome outcome-${card.status}` },
    h(
      "h3",
      { id: "outcome-title", tabindex: "-1" },
      icon(
        good
          ? "check"
          : card.status === "expired"
          ? "clock"
          : card.status === "executing"
          ? "clock"
          : "cross",
      ),
      card.status === "executing" && card.running
        ? "It is being carried out …"
        : ENDINGS[card.status] ?? statusName(card.status),
    ),
    message ? prose(String(message)) : null,
    card.rejectionReason ? h("blockquote", {}, prose(card.rejectionReason)) : null,
    card.result ? resultFacts(card.result) : null,
    h(
      "div",
      { class: "buttons" },
      undoable ? button("Undo …", "restore", { onclick: actions.undo }) : null,
      button("Next", null, { onclick: actions.next }),
    ),
  );
}

function resultFacts(result: Result): HTMLElement | null {
  const rows = Object.entries(result).filter(([name, value]) =>
    !["message", "status"].includes(name) &&
    (typeof value === "string" || typeof value === "number")
  ).slice(0, 12).map(([name, value]): Child =>
    h("div", {}, h("dt", {}, RESULT_NAMES[name] ?? name), h("dd", {}, ident(String(value))))
  );
  return rows.length === 0 ? null : h("dl", { class: "facts" }, rows);
}

const RESULT_NAMES: Readonly<Record<string, string>> = {
  restorePointId: "Restore point",
  commitSha: "New commit",
  mergeCommit: "Merge commit",
  newHeadSha: "HEAD is now",
  treeSha: "Tree",
  replayedCommits: "Replayed commits",
  worktreePath: "Folder",
  branch: "Branch",
  pushedRef: "Pushed",
  remote: "Remote",
  mode: "Mode",
  summary: "What was done",
};

function endedBody(card: Card): HTMLElement {
  return h(
    "section",
    { class: "reason" },
    h("h3", {}, `What was proposed: ${operationName(card.operationType)}`),
    h("blockquote", {}, prose(card.reason)),
  );
}
