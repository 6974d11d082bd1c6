import { button, h } from "./dom.ts";

/** Small comforts: a sound, and the keyboard's help. */

const SOUND = "fluxgit-sound", KEYS = "fluxgit-keys";

function stored(name: string): string | null {
  try {
    return localStorage.getItem(name);
  } catch {
    return null;
  }
}

function store(name: string, value: string): void {
  try {
    localStorage.setItem(name, value);
  } catch { /* it holds until the window is closed */ }
}

let soundOn = stored(SOUND) === "on";
let keysOn = stored(KEYS) !== "off";

/** Whether single keys do something (WCAG 2.1.4: they can be switched off). */
export function keysEnabled(): boolean {
  return keysOn;
}

/** Two soft tones when something new waits; only when a person switched them on. */
export function chime(): void {
  if (!soundOn) return;
  try {
    const audio = new AudioContext();
    const gain = audio.createGain();
    gain.gain.value = 0.06;
    gain.connect(audio.destination);
    [660, 880].forEach((frequency, i) => {
      const tone = audio.createOscillator();
      tone.frequency.value = frequency;
      tone.connect(gain);
      tone.start(audio.currentTime + i * 0.14);
      tone.stop(audio.currentTime + i * 0.14 + 0.12);
    });
    setTimeout(() => void audio.close(), 600);
  } catch { /* no sound here */ }
}

/** Switches the sound on and off. */
export function soundButton(): HTMLButtonElement {
  const made = button("Sound", soundOn ? "bell" : "bellOff", {
    class: "quiet",
    "aria-pressed": String(soundOn),
    title: "A sound when a proposal comes",
    onclick: () => {
      soundOn = !soundOn;
      store(SOUND, soundOn ? "on" : "off");
      made.replaceWith(soundButton());
      chime();
    },
  });
  return made;
}

const SHORTCUTS: readonly (readonly [string, string])[] = [
  ["j / k", "next or previous proposal"],
  ["a", "go to what has to be done to approve; Enter then approves"],
  ["r", "reject, with a reason"],
  ["s", "split or unified diff"],
  ["1 2 3", "queue, history, ledger"],
  ["?", "this help"],
];

/** Opens the help; closing brings the focus back to where it was. */
export function openHelp(): void {
  const box = h("input", {
    type: "checkbox",
    checked: keysOn,
    onchange: () => {
      keysOn = box.checked;
      store(KEYS, keysOn ? "on" : "off");
    },
  });
  const dialog: HTMLDialogElement = h(
    "dialog",
    { "aria-labelledby": "help-title", class: "help" },
    h("h2", { id: "help-title" }, "Keyboard"),
    h(
      "dl",
      { class: "facts" },
      SHORTCUTS.map(([keys, what]) =>
        h("div", {}, h("dt", {}, h("kbd", {}, keys)), h("dd", {}, what))
      ),
    ),
    h("label", { class: "check" }, box, " Single keys do these things"),
    h("div", { class: "buttons" }, button("Close", null, { onclick: () => dialog.close() })),
  );
  dialog.addEventListener("close", () => dialog.remove());
  document.body.append(dialog);
  dialog.showModal();
}
