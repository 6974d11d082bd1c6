import { ask, messageOf } from "./api.ts";
import { facts } from "./card_details.ts";
import { fill, h, ident } from "./dom.ts";
import type { LedgerState } from "./shapes.ts";

/** The ledger's head and whether it is written. */
export function ledgerView(): HTMLElement {
  const place = h("div", {}, h("p", { class: "muted" }, "Looking …"));
  void ask<LedgerState>("GET", "ledger").then((state) => draw(place, state), (error) => {
    fill(place, h("p", { class: "error" }, messageOf(error)));
  });
  return h(
    "section",
    { class: "page" },
    h("h2", { tabindex: "-1", id: "view-title" }, "Ledger"),
    h(
      "p",
      {},
      "Every decision and every execution is written to a chain of entries, each bound to the one before, so that a change to any of them shows.",
    ),
    place,
  );
}

function draw(place: HTMLElement, state: LedgerState): void {
  if (state.status === "off") {
    return fill(
      place,
      h("p", { class: "notes warning" }, "The ledger is switched off: decisions are not recorded."),
    );
  }
  const head = state.head ?? null;
  fill(
    place,
    state.status === "ok" ? h("p", { class: "notes good" }, "The ledger is written.") : h(
      "p",
      { class: "notes blocker", role: "alert" },
      `The ledger is degraded: ${state.reason ?? "the reason is not known"}`,
    ),
    facts([
      [
        "Last entry",
        head ? `number ${head.sequence}` : "none was read or written by this gateway yet",
      ],
      ["Its hash", head ? ident(String(head.hash)) : "–"],
      ["Written by this gateway", String(state.written ?? 0)],
      ["Waiting to be written", String(state.waiting ?? 0)],
      ["Lost", String(state.lost ?? 0)],
    ]),
    head
      ? h(
        "p",
        { class: "muted" },
        "Keep number and hash somewhere else to be able to prove later that nothing before was changed: ",
        h(
          "code",
          {},
          `fluxgit-sidecar verify-audit LEDGER --expect-head ${head.sequence}:${
            String(head.hash).replace("sha256:", "")
          }`,
        ),
      )
      : null,
  );
}
