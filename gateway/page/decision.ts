import { ApiError, ask, messageOf } from "./api.ts";
import { append, button, h, icon, ident, say } from "./dom.ts";
import type { Card, Overrides, Proposal, Result } from "./shapes.ts";

/** The bar below a card: approve what is shown, or reject it. Bound to the digest of what was shown. */

/** A button that just appeared cannot be pressed by a click that was meant for something else. */
const SETTLE_MS = 500;

export interface DecisionTools {
  /** The card is no longer what was shown, or was decided elsewhere: it must be fetched again. */
  readonly changed: (why: string) => void;
  readonly decided: (outcome: Outcome) => void;
  /** A switch on the card was moved: it must be computed again. */
  readonly override: (overrides: Overrides) => void;
}

export interface Outcome {
  readonly previewId: string;
  readonly status: Proposal["status"];
  readonly result: Result | null;
  readonly rejectionReason: string | null;
}

export interface Decision {
  readonly element: HTMLElement;
  /** For the keyboard: goes to what has to be done to approve, or to the rejection. */
  readonly focusApprove: () => void;
  readonly focusReject: () => void;
}

/**
 * @param card as it is shown
 * @param body where a plan's boxes stand
 */
export function decisionBar(card: Card, body: HTMLElement, tools: DecisionTools): Decision {
  const message = h("p", { class: "decision-message", role: "status" });
  const approve = button("Approve", "check", { class: "approve", disabled: true });
  const reject = button("Reject …", "cross", { class: "reject", "aria-expanded": "false" });
  const blocked = card.blockers.length > 0 || card.digest === null;
  const input = card.words === null ? null : h("input", {
    id: "words",
    type: "text",
    autocomplete: "off",
    autocapitalize: "off",
    spellcheck: "false",
    maxlength: 1_000,
  });
  const bar = h("section", { class: "decision", "aria-label": "Your decision" });
  const reason = rejectForm();

  if (!blocked) setTimeout(() => approve.disabled = false, SETTLE_MS);
  approve.addEventListener("click", () => void tryApprove());
  reject.addEventListener("click", () => openReject(reason.element.hidden === true));
  input?.addEventListener("keydown", (event) => {
    if (event.key === "Enter") void tryApprove();
  });

  append(bar, [
    switches(),
    input === null ? null : h(
      "div",
      { class: "typed" },
      h(
        "label",
        { for: "words" },
        "This cannot be taken back easily. To approve, type ",
        h("strong", {}, ident(card.words!)),
      ),
      input,
    ),
    h("div", { class: "buttons" }, approve, reject, message),
    reason.element,
  ]);
  if (blocked) tell("It can only be rejected, or left until it can be approved.");

  function tell(text: string, kind = ""): void {
    message.className = `decision-message ${kind}`;
    message.replaceChildren();
    append(message, [text]);
  }

  function switches(): HTMLElement | null {
    if (card.operationType !== "patch" || !card.effect) return null;
    const box: HTMLInputElement = h("input", {
      type: "checkbox",
      checked: card.effect.details["applyToIndex"] === true,
      onchange() {
        tools.override({ applyToIndex: box.checked });
      },
    });
    return h("label", { class: "check" }, box, " Stage the changes as well");
  }

  function ticked(): number[] {
    return boxes().filter((box) => box.checked).map((box) => Number(box.dataset["step"]));
  }

  function boxes(): HTMLInputElement[] {
    return [...body.querySelectorAll<HTMLInputElement>("input[data-step]")];
  }

  async function tryApprove(): Promise<void> {
    if (approve.disabled) return;
    const open = boxes().find((box) => !box.checked);
    if (open) {
      tell("Tick the box of each step that destroys something.", "error");
      return open.focus();
    }
    if (input !== null && normal(input.value) !== card.words) {
      tell(`Type exactly: ${card.words}`, "error");
      return input.focus();
    }
    busy(true);
    tell("Being carried out …");
    bar.classList.add("working");
    bar.dispatchEvent(new Event("deciding"));
    try {
      const overrides: Overrides = {
        ...(card.overrides.applyToIndex === undefined
          ? {}
          : { applyToIndex: card.overrides.applyToIndex }),
        ...(boxes().length > 0 ? { confirmedSteps: ticked() } : {}),
      };
      const outcome = await ask<Outcome>("POST", `proposals/${card.previewId}/approve`, {
        digest: card.digest,
        ...(input === null ? {} : { words: input.value }),
        overrides,
      });
      tools.decided(outcome);
    } catch (error) {
      failed(error, "approve");
    }
  }

  function failed(error: unknown, what: "approve" | "reject"): void {
    bar.classList.remove("working");
    bar.dispatchEvent(new Event("undecided"));
    busy(false);
    const text = messageOf(error);
    if (error instanceof ApiError && (error.status === 409 || error.status === 404)) {
      return tools.changed(text);
    }
    if (error instanceof ApiError && error.status === 0 && what === "approve") {
      tell(
        "The gateway does not answer. Whether it was carried out is not known: look again when it is back.",
        "error",
      );
      return;
    }
    tell(text, "error");
    say(text);
  }

  function busy(on: boolean): void {
    approve.disabled = on || blocked;
    reject.disabled = on;
  }

  function rejectForm(): { element: HTMLElement; text: HTMLTextAreaElement } {
    const text = h("textarea", { id: "reason", rows: 2, maxlength: 4_000 });
    const send = button("Reject", "cross", { class: "reject" });
    send.addEventListener("click", async () => {
      send.disabled = true;
      busy(true);
      bar.dispatchEvent(new Event("deciding"));
      try {
        const given = text.value.trim();
        tools.decided(
          await ask<Outcome>(
            "POST",
            `proposals/${card.previewId}/reject`,
            given === "" ? {} : { reason: given },
          ),
        );
      } catch (error) {
        send.disabled = false;
        failed(error, "reject");
      }
    });
    text.addEventListener("keydown", (event) => {
      if (event.key === "Enter" && (event.ctrlKey || event.metaKey)) send.click();
      if (event.key === "Escape") openReject(false);
    });
    return {
      text,
      element: h(
        "div",
        { class: "reject-form", hidden: true },
        h("label", { for: "reason" }, "Why? The agent reads it and can do better (optional)"),
        text,
        h(
          "div",
          { class: "buttons" },
          send,
          button("Back", null, { onclick: () => openReject(false) }),
        ),
      ),
    };
  }

  function openReject(open: boolean): void {
    reason.element.hidden = !open;
    reject.setAttribute("aria-expanded", String(open));
    if (open) reason.text.focus();
    else reject.focus();
  }

  return {
    element: bar,
    focusApprove() {
      const open = boxes().find((box) => !box.checked);
      const target = open ??
        (input !== null && normal(input.value) !== card.words ? input : approve);
      target.focus();
    },
    focusReject: () => openReject(true),
  };
}

/** Asks what became of an execution that was cut off; only a person can say. */
export function reconcileBar(proposal: Card, tools: DecisionTools): HTMLElement {
  const message = h("p", { class: "decision-message", role: "status" });
  const answer = (outcome: "completed" | "failed") => async () => {
    message.textContent = "";
    try {
      tools.decided(
        await ask<Outcome>("POST", `proposals/${proposal.previewId}/reconcile`, { outcome }),
      );
    } catch (error) {
      if (error instanceof ApiError && error.status === 409) tools.changed(messageOf(error));
      else append(message, [messageOf(error)]);
    }
  };
  return h(
    "section",
    { class: "decision", "aria-label": "Your word" },
    h(
      "p",
      {},
      icon("warning"),
      " The gateway ended while this was carried out, and it is never run again by itself. Look at the repository, then say how it ended:",
    ),
    h(
      "div",
      { class: "buttons" },
      button("It was carried out", "check", { onclick: answer("completed") }),
      button("It was not", "cross", { onclick: answer("failed") }),
      message,
    ),
  );
}

function normal(text: string): string {
  return text.trim().replace(/\s+/g, " ");
}
