import { ApiError, ask, messageOf } from "./api.ts";
import { CardPane } from "./card_pane.ts";
import { diffMode, setDiffMode } from "./diff_view.ts";
import { button, fill, h, icon, say } from "./dom.ts";
import { chime, keysEnabled, openHelp, soundButton } from "./extras.ts";
import { historyView } from "./history.ts";
import { ledgerView } from "./ledger_view.ts";
import { Queue } from "./queue.ts";
import type { RestoreAction } from "./restore_view.ts";
import type { Proposal } from "./shapes.ts";
import { type Connection, EventStream, type GatewayEvent } from "./stream.ts";
import { count } from "./text.ts";
import { operationName } from "./words.ts";

/** The signed-in page: what is open, what is known, and what happens when something changes. */

type View = "queue" | "history" | "ledger";

/** Changes that come close together are fetched once. Milliseconds. */
const GATHER_MS = 120;
/** Without any event the list is fetched again after this long, in case one was missed. */
const REFRESH_MS = 30_000;

const CONNECTIONS: Readonly<Record<Connection, readonly [string, string]>> = {
  connecting: ["Connecting …", "waiting"],
  live: ["Live", "live"],
  lost: ["Connection lost: trying again", "lost"],
  ended: ["The gateway has ended: waiting for it to be started again", "lost"],
  too_many: ["Too many windows are open: close one", "lost"],
};

export class Desk {
  readonly #queue = new Queue();
  readonly #pane: CardPane;
  readonly #split: HTMLElement;
  readonly #connection = h("span", { class: "connection", role: "status" });
  readonly #stream: EventStream;
  readonly #timers: ReturnType<typeof setInterval>[] = [];
  readonly #stop = new AbortController();
  #proposals: readonly Proposal[] = [];
  #known: Set<string> | null = null;
  #gathering: ReturnType<typeof setTimeout> | null = null;
  #fetching = false;
  #again = false;
  #view: View | null = null;
  #repoPath: string | null = null;
  #action: RestoreAction | null = null;

  constructor(
    readonly top: HTMLElement,
    readonly main: HTMLElement,
    readonly signOut: () => Promise<void>,
  ) {
    this.#pane = new CardPane({
      left: (id) => {
        const found = this.#proposals.find((one) => one.previewId === id);
        return found ? this.#queue.left(found) : null;
      },
      neighbours: (card) =>
        this.#proposals.filter((one) =>
          one.status === "pending" && one.repoPath === card.repoPath &&
          one.previewId !== card.previewId
        ),
      refresh: () => this.#gather(),
      next: () => this.#step(1, true),
      undo: (repoPath) => {
        this.#repoPath = repoPath;
        this.#action = { kind: "undo" };
        location.hash = "#/history";
      },
    });
    this.#split = h("div", { class: "desk" }, this.#queue.element, this.#pane.element);
    fill(
      top,
      h("span", { class: "brand" }, icon("shield"), h("h1", {}, "Approvals")),
      h(
        "nav",
        { "aria-label": "Views", class: "views" },
        (["queue", "history", "ledger"] as const).map((view) =>
          h(
            "a",
            { href: `#/${view}`, "data-view": view },
            { queue: "Queue", history: "History", ledger: "Ledger" }[view],
          )
        ),
      ),
      this.#connection,
      h(
        "span",
        { class: "tools" },
        soundButton(),
        button("Keys", "help", { class: "quiet", onclick: openHelp, title: "Keyboard shortcuts" }),
        button("Sign out", "out", { class: "quiet", onclick: () => void this.signOut() }),
      ),
    );
    this.#stream = new EventStream((event) => this.#event(event), (state) => this.#state(state));
    const { signal } = this.#stop;
    addEventListener("hashchange", () => this.#route(), { signal });
    addEventListener("focus", () => this.#gather(), { signal });
    document.addEventListener("keydown", (event) => this.#key(event), { signal });
    document.getElementById("skip")?.addEventListener("click", (event) => {
      event.preventDefault();
      main.focus();
    }, { signal });
    this.#timers.push(
      setInterval(() => this.#tick(), 1_000),
      setInterval(() => this.#gather(), REFRESH_MS),
    );
    this.#route();
    this.#stream.start();
    this.#gather();
  }

  close(): void {
    this.#stream.stop();
    this.#stop.abort();
    this.#pane.close();
    for (const timer of this.#timers) clearInterval(timer);
    if (this.#gathering !== null) clearTimeout(this.#gathering);
  }

  #event(event: GatewayEvent): void {
    if (event.type === "proposal" || event.type === "hello") this.#gather();
    if (event.type === "restore" && this.#view === "history") this.#refreshHistory();
  }

  /** Not while somebody reads a preview or what came of it. */
  #refreshHistory(): void {
    const busy = this.main.querySelector(".preview-place:not(:empty), details[open]");
    if (!busy && !this.main.contains(document.activeElement)) this.#show("history");
  }

  #state(state: Connection): void {
    const [text, kind] = CONNECTIONS[state];
    this.#connection.className = `connection ${kind}`;
    fill(
      this.#connection,
      h("span", { class: "dot", "aria-hidden": "true" }),
      h("span", { class: "label" }, text),
    );
  }

  #gather(): void {
    this.#gathering ??= setTimeout(() => {
      this.#gathering = null;
      void this.#fetch();
    }, GATHER_MS);
  }

  async #fetch(): Promise<void> {
    if (this.#fetching) {
      this.#again = true;
      return;
    }
    this.#fetching = true;
    try {
      const { proposals, total } = await ask<{ proposals: Proposal[]; total: number }>(
        "GET",
        "proposals?state=all",
      );
      if (this.#stop.signal.aborted) return;
      this.#proposals = proposals;
      this.#announce();
      this.#queue.update(proposals, total, this.#pane.id);
      this.#pane.seen(proposals.find((one) => one.previewId === this.#pane.id) ?? null);
      this.#title();
      if (this.#view === "queue" && this.#pane.id === null) this.#blank();
    } catch (error) {
      if (!(error instanceof ApiError)) say(messageOf(error));
    } finally {
      this.#fetching = false;
      if (this.#again) {
        this.#again = false;
        this.#gather();
      }
    }
  }

  /** Says what is new; nothing at the first look. */
  #announce(): void {
    const pending = this.#proposals.filter((one) => one.status === "pending");
    const fresh = this.#known === null
      ? []
      : pending.filter((one) => !this.#known!.has(one.previewId));
    this.#known = new Set(this.#proposals.map((one) => one.previewId));
    if (fresh.length === 0) return;
    chime();
    say(
      fresh.length === 1
        ? `New proposal: ${operationName(fresh[0]!.operationType)} by ${fresh[0]!.agentId}`
        : `${fresh.length} new proposals`,
    );
  }

  #title(): void {
    const waiting = this.#proposals.filter((one) => one.status === "pending").length;
    document.title = waiting > 0 ? `(${waiting}) Approvals` : "Approvals";
  }

  #tick(): void {
    this.#queue.tick();
    this.#pane.tick();
  }

  #route(): void {
    const id = /^#\/p\/([A-Za-z0-9_-]{1,128})$/.exec(location.hash)?.[1] ?? null;
    const view = location.hash === "#/history"
      ? "history"
      : location.hash === "#/ledger"
      ? "ledger"
      : "queue";
    if (view !== this.#view || view !== "queue") this.#show(view);
    if (view === "queue") {
      document.documentElement.dataset["card"] = id === null ? "none" : "open";
      this.#queue.select(id);
      if (id === null) {
        this.#pane.open(null);
        this.#blank();
      } else this.#pane.open(id);
    }
  }

  #blank(): void {
    const waiting = this.#proposals.filter((one) => one.status === "pending").length;
    this.#pane.blank(
      waiting === 0 ? h("p", { class: "muted center" }, "Proposals that come open here.") : h(
        "p",
        { class: "muted center" },
        `${count(waiting, "proposal")} wait${
          waiting === 1 ? "s" : ""
        } for you. Choose one, or press j.`,
      ),
    );
  }

  #show(view: View): void {
    this.#view = view;
    document.documentElement.dataset["card"] = "none";
    for (const link of this.top.querySelectorAll<HTMLElement>("a[data-view]")) {
      if (link.dataset["view"] === view) link.setAttribute("aria-current", "page");
      else link.removeAttribute("aria-current");
    }
    if (view === "queue") return fill(this.main, this.#split);
    this.#pane.open(null);
    const action = this.#action;
    this.#action = null;
    fill(
      this.main,
      view === "ledger" ? ledgerView() : historyView({
        proposals: () => this.#proposals,
        repoPath: this.#repoPath,
        action,
        show: (repoPath) => {
          this.#repoPath = repoPath;
          this.#show("history");
        },
      }),
    );
    document.getElementById("view-title")?.focus();
  }

  /** Opens the proposal after or before the open one. */
  #step(by: number, only = false): void {
    const order = this.#queue.order;
    const at = this.#pane.id === null ? -1 : order.indexOf(this.#pane.id);
    const next = order[at < 0 ? (by > 0 ? 0 : order.length - 1) : at + by] ??
      (only ? order[0] : undefined);
    location.hash = next === undefined || next === this.#pane.id
      ? (only ? "#/queue" : location.hash)
      : `#/p/${next}`;
  }

  #key(event: KeyboardEvent): void {
    if (event.ctrlKey || event.metaKey || event.altKey || !keysEnabled()) return;
    const target = event.target as HTMLElement;
    if (document.querySelector("dialog[open]")) return;
    if (target.matches("input:not([type=checkbox]), textarea, select")) return;
    const views: Readonly<Record<string, View>> = { "1": "queue", "2": "history", "3": "ledger" };
    if (views[event.key]) location.hash = `#/${views[event.key]}`;
    else if (event.key === "?") openHelp();
    else if (event.key === "s") setDiffMode(diffMode() === "split" ? "unified" : "split");
    else if (this.#view === "queue" && event.key === "j") this.#step(1);
    else if (this.#view === "queue" && event.key === "k") this.#step(-1);
    else if (this.#view === "queue" && event.key === "a") this.#pane.focusApprove();
    else if (this.#view === "queue" && event.key === "r") this.#pane.focusReject();
    else return;
    event.preventDefault();
  }
}
