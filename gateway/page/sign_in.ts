import { ApiError, messageOf, signIn } from "./api.ts";
import { h, icon } from "./dom.ts";

/** The door: a pairing code that only the gateway's own terminal shows. */

/** @param why what happened before, in plain words; null at the first visit */
export function signInView(why: string | null, done: () => void): HTMLElement {
  const message = h("p", { class: "error", role: "alert", id: "code-message" });
  const input = h("input", {
    id: "code",
    type: "text",
    autocomplete: "off",
    autocapitalize: "characters",
    spellcheck: "false",
    maxlength: 20,
    "aria-describedby": "code-help code-message",
    required: true,
  });
  const submit = h("button", { type: "submit", class: "approve" }, "Sign in");
  const form = h(
    "form",
    { class: "sign-in-form", novalidate: true },
    h("label", { for: "code" }, "Pairing code"),
    input,
    submit,
    message,
  );
  form.addEventListener("submit", async (event) => {
    event.preventDefault();
    if (input.value.trim() === "") {
      message.textContent = "Type the eight characters of the pairing code.";
      return input.focus();
    }
    submit.disabled = true;
    message.textContent = "";
    try {
      await signIn({ code: input.value });
      done();
    } catch (error) {
      message.textContent = capital(messageOf(error)) + ".";
      input.select();
      input.focus();
      // Wrong tries make everybody wait: say when it is worth another one.
      const seconds = error instanceof ApiError ? /(\d+) s\b/.exec(error.message)?.[1] : undefined;
      if (seconds !== undefined) countDown(Number(seconds));
    } finally {
      submit.disabled = false;
    }
  });

  function countDown(seconds: number): void {
    const timer = setInterval(() => {
      if (!message.isConnected) return clearInterval(timer);
      seconds--;
      message.textContent = seconds > 0
        ? `Wrong codes were given: try again in ${seconds} s.`
        : "You can try again now.";
      if (seconds <= 0) clearInterval(timer);
    }, 1_000);
  }

  return h(
    "div",
    { class: "sign-in" },
    icon("shield"),
    h("h1", {}, "Approvals"),
    why === null ? null : h("p", { class: "notes warning", role: "status" }, why),
    h(
      "p",
      { id: "code-help" },
      "Open the link that the gateway's terminal shows, or type its pairing code here. Only a person at that terminal can approve what agents propose.",
    ),
    form,
    h(
      "p",
      { class: "muted" },
      "The link works once. For a new one, type ",
      h("kbd", {}, "link"),
      " at the gateway's terminal; for a new code, ",
      h("kbd", {}, "code"),
      ".",
    ),
  );
}

function capital(text: string): string {
  return text.charAt(0).toUpperCase() + text.slice(1);
}
