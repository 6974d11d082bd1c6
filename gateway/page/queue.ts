import { ask, messageOf } from "./api.ts";
import { button, fill, h, icon, ident, say } from "./dom.ts";
import { arrange, type Group, isUrgent } from "./queue_order.ts";
import type { Proposal } from "./shapes.ts";
import { baseName, clock, count } from "./text.ts";
import { operationName, riskName, statusName } from "./words.ts";

/** The list of what waits for a person. Entries stay the same elements, so focus is never lost. */

export class Queue {
  readonly element: HTMLElement;
  readonly #list = h("div", { class: "queue-lists" });
  readonly #items = new Map<string, { signature: string; element: HTMLElement }>();
  readonly #open = new Set<string>();
  /** "Reject all" of a group, kept while its members stay the same: a question stays asked. */
  readonly #feet = new Map<string, { members: string; element: HTMLElement }>();
  #proposals: readonly Proposal[] = [];
  #unlisted = 0;
  #receivedAt = 0;
  #selected: string | null = null;
  #order = "";

  constructor() {
    this.element = h("nav", { class: "queue", "aria-label": "Proposals" }, this.#list);
  }

  /** Milliseconds that a proposal has left, counted from the gateway's last answer. */
  left = (proposal: Proposal): number =>
    proposal.timeLeftMs - (performance.now() - this.#receivedAt);

  /** Ids in the order shown, for the keyboard. */
  get order(): string[] {
    return [...this.#list.querySelectorAll<HTMLElement>("a[data-id]")].filter((one) =>
      one.offsetParent !== null
    ).map((one) => one.dataset["id"]!);
  }

  /** @param total how many there are, listed or not */
  update(proposals: readonly Proposal[], total: number, selected: string | null): void {
    this.#proposals = proposals;
    this.#unlisted = total - proposals.length;
    this.#receivedAt = performance.now();
    this.#selected = selected;
    this.#draw();
  }

  select(selected: string | null): void {
    this.#selected = selected;
    for (const { element } of this.#items.values()) {
      const link = element.querySelector("a");
      if (!link) continue;
      if (link.dataset["id"] === selected) link.setAttribute("aria-current", "true");
      else link.removeAttribute("aria-current");
    }
  }

  /** Once a second: the time left, and the order when something became urgent. */
  tick(): void {
    for (const proposal of this.#proposals) {
      if (proposal.status !== "pending") continue;
      const time = this.#items.get(proposal.previewId)?.element.querySelector(".time");
      if (time) {
        time.textContent = clock(this.left(proposal));
        time.classList.toggle("soon", isUrgent({ ...proposal, risk: "low" }, this.left(proposal)));
      }
    }
    if (this.#orderNow() !== this.#order) this.#draw();
  }

  #orderNow(): string {
    return arrange(this.#pending(), this.left).map((group) => group.key).join(" ");
  }

  #pending(): Proposal[] {
    return this.#proposals.filter((one) => one.status === "pending");
  }

  #draw(): void {
    const focused = document.activeElement instanceof HTMLElement &&
        this.#list.contains(document.activeElement)
      ? document.activeElement
      : null;
    const pending = this.#pending();
    const interrupted = this.#proposals.filter((one) =>
      (one.status === "executing" && !one.running) || (one.status === "approved" && !one.running)
    );
    const running = this.#proposals.filter((one) => one.running);
    this.#order = this.#orderNow();
    const seen = new Set<string>();
    const item = (proposal: Proposal) => this.#item(proposal, seen);
    const lists = [
      this.#section("Interrupted: needs your word", interrupted.map(item)),
      this.#section("Being carried out", running.map(item)),
      this.#section(
        pending.length > 0 ? `Waiting for you (${pending.length})` : "",
        arrange(pending, this.left).map((group) =>
          group.proposals.length === 1 ? item(group.proposals[0]!) : this.#group(group, item)
        ),
      ),
    ].filter((one) => one !== null);
    for (const id of this.#items.keys()) if (!seen.has(id)) this.#items.delete(id);
    if (this.#unlisted > 0) {
      lists.push(h("p", { class: "muted" }, `${this.#unlisted} older ones are not listed.`));
    }
    this.#list.replaceChildren(...(lists.length > 0 ? lists : [empty()]));
    if (focused?.isConnected) focused.focus({ preventScroll: true });
    this.select(this.#selected);
  }

  #section(title: string, items: HTMLElement[]): HTMLElement | null {
    if (items.length === 0) return null;
    return h("section", {}, h("h2", {}, title), h("ul", {}, items));
  }

  #item(proposal: Proposal, seen: Set<string>): HTMLElement {
    seen.add(proposal.previewId);
    const signature = JSON.stringify([
      proposal.status,
      proposal.headline,
      proposal.risk,
      proposal.running,
    ]);
    const known = this.#items.get(proposal.previewId);
    if (known?.signature === signature) return known.element;
    const element = h(
      "li",
      {},
      h(
        "a",
        { href: `#/p/${proposal.previewId}`, "data-id": proposal.previewId },
        h(
          "span",
          { class: "row" },
          h(
            "span",
            { class: "operation" },
            icon(proposal.operationType),
            operationName(proposal.operationType),
          ),
          proposal.status === "pending"
            ? h("span", { class: "time" }, clock(this.left(proposal)))
            : h(
              "span",
              { class: "state" },
              proposal.running ? "running" : statusName(proposal.status),
            ),
        ),
        h("span", { class: "headline" }, ident(proposal.headline ?? proposal.reason)),
        h(
          "span",
          { class: "row small" },
          h(
            "span",
            { class: "where" },
            ident(proposal.agentId),
            h("span", { class: "muted" }, " in "),
            ident(baseName(proposal.repoPath), { title: proposal.repoPath }),
          ),
          h("span", { class: `risk risk-${proposal.risk}` }, riskName(proposal.risk)),
        ),
      ),
    );
    this.#items.set(proposal.previewId, { signature, element });
    return element;
  }

  #foot(group: Group): HTMLElement {
    const members = group.proposals.map((one) => one.previewId).sort().join(" ");
    const known = this.#feet.get(group.key);
    if (known?.members === members) return known.element;
    const element = rejectAll(group);
    this.#feet.set(group.key, { members, element });
    return element;
  }

  /** Many of the same: one entry to open, or to reject together. Never to approve together. */
  #group(group: Group, item: (proposal: Proposal) => HTMLElement): HTMLElement {
    const first = group.proposals[0]!;
    const open = this.#open.has(group.key);
    const list = h("ul", { hidden: !open }, group.proposals.map(item));
    const toggle = h(
      "button",
      {
        type: "button",
        class: "group-head",
        "aria-expanded": String(open),
        onclick: () => {
          if (this.#open.has(group.key)) this.#open.delete(group.key);
          else this.#open.add(group.key);
          this.#draw();
          this.#list.querySelector<HTMLElement>(`[data-group="${CSS.escape(group.key)}"]`)?.focus();
        },
        "data-group": group.key,
      },
      h(
        "span",
        { class: "row" },
        h(
          "span",
          { class: "operation" },
          icon(first.operationType),
          `${group.proposals.length} × ${operationName(first.operationType)}`,
        ),
        h("span", { class: "flood" }, "many at once"),
      ),
      h(
        "span",
        { class: "headline" },
        ident(first.agentId),
        " asks for much of the same in ",
        ident(baseName(first.repoPath)),
      ),
    );
    return h("li", { class: "group" }, toggle, list, open ? this.#foot(group) : null);
  }
}

function rejectAll(group: Group): HTMLElement {
  const box = h("div", { class: "group-foot" });
  const many = group.proposals.length;
  const offer = () => {
    const first = button(`Reject all ${many} …`, null, { class: "small", onclick: confirm });
    fill(box, first);
    return first;
  };
  const confirm = () => {
    const sure = button(`Yes, reject all ${many}`, "cross", { class: "small reject" });
    sure.addEventListener("click", () => void rejectThem(group, sure, box));
    fill(box, sure, " ", button("Back", null, { class: "small", onclick: () => offer().focus() }));
    sure.focus();
  };
  offer();
  return box;
}

async function rejectThem(group: Group, sure: HTMLButtonElement, box: HTMLElement): Promise<void> {
  sure.disabled = true;
  let done = 0;
  let failure: unknown = null;
  for (const { previewId } of group.proposals) {
    try {
      await ask("POST", `proposals/${previewId}/reject`, { reason: "Too many at once." });
      done++;
    } catch (error) {
      // One that ended meanwhile is no reason to keep the others.
      failure = error;
    }
  }
  say(`${count(done, "proposal")} rejected`);
  if (failure !== null) fill(box, h("span", { class: "error" }, messageOf(failure)));
}

/** Nothing waits: what to do so that something can. */
export function empty(): HTMLElement {
  return h(
    "div",
    { class: "empty" },
    icon("shield"),
    h("h2", {}, "Nothing waits for you"),
    h(
      "p",
      {},
      "When an agent proposes a change, it appears here by itself and nothing happens until you approve it.",
    ),
    h(
      "p",
      { class: "muted" },
      "Agents propose with the operation.preview tools of fluxgit-sidecar; they find this gateway by themselves. Leave this window open.",
    ),
  );
}
