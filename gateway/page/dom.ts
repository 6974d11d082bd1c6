/// <reference no-default-lib="true" />
/// <reference lib="dom" />
/// <reference lib="dom.iterable" />
/// <reference lib="esnext" />
/**
 * The only way that anything gets onto the page: elements are built, markup is never parsed, and every
 * text and attribute passes through {@link pieces}, so nothing of a stranger's can hide.
 */

import { codePoint, meaning, pieces, shortId, visible } from "./text.ts";

export type Child = Node | string | number | null | undefined | false | readonly Child[];

/** Attributes; functions become listeners of the event after `on`. */
export type Attributes = Readonly<
  Record<string, string | number | boolean | null | undefined | ((event: Event) => unknown)>
>;

/** Makes an element. */
export function h<K extends keyof HTMLElementTagNameMap>(
  tag: K,
  attributes: Attributes = {},
  ...children: Child[]
): HTMLElementTagNameMap[K] {
  const element = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes)) {
    if (value === null || value === undefined || value === false) continue;
    if (typeof value === "function") {
      element.addEventListener(name.slice(2), value as EventListener);
    } else element.setAttribute(name, value === true ? "" : visible(String(value)));
  }
  append(element, children);
  return element;
}

/** Makes an SVG element; its attributes are numbers and fixed words of ours. */
export function svg(
  tag: string,
  attributes: Readonly<Record<string, string | number>> = {},
  ...children: Element[]
): SVGElement {
  const element = document.createElementNS("http://www.w3.org/2000/svg", tag);
  for (const [name, value] of Object.entries(attributes)) element.setAttribute(name, String(value));
  element.append(...children);
  return element;
}

/** Adds children; texts are made visible, line ends included. */
export function append(parent: Element | DocumentFragment, children: readonly Child[]): void {
  for (const child of children) {
    if (child === null || child === undefined || child === false) continue;
    if (child instanceof Node) parent.append(child);
    else if (Array.isArray(child)) append(parent, child);
    else appendText(parent, String(child), false);
  }
}

/** Replaces everything inside. */
export function fill(parent: Element, ...children: Child[]): void {
  parent.replaceChildren();
  append(parent, children);
}

/** Text with hidden characters shown. `lines`: line ends and tabs are kept as they are. */
export function appendText(
  parent: Element | DocumentFragment,
  text: string,
  lines: boolean,
): void {
  for (const piece of pieces(text, lines)) {
    if (piece.code === undefined) parent.append(piece.text);
    else parent.append(hiddenMark(piece.text));
  }
}

function hiddenMark(char: string): HTMLElement {
  const mark = document.createElement("span");
  mark.className = "hidden-char";
  mark.title = meaning(char);
  mark.textContent = codePoint(char);
  return mark;
}

/**
 * A name that must be read exactly: path, ref, id. Letters outside ASCII are underlined, since they
 * may only look like the ones that they imitate; the order of characters is never changed.
 */
export function ident(text: string, attributes: Attributes = {}): HTMLElement {
  const element = h("span", { ...attributes, class: `ident ${attributes["class"] ?? ""}`.trim() });
  const [, lead, middle, trail] = /^( *)(.*?)( *)$/su.exec(text)!;
  for (const space of lead!) element.append(hiddenMark(space));
  for (const part of middle!.split(/([^\x20-\x7e]+)/u)) {
    if (part === "") continue;
    if (/^[\x20-\x7e]/.test(part)) {
      element.append(part);
      continue;
    }
    const odd = h("span", { class: "non-ascii", title: "not plain ASCII: read it closely" });
    appendText(odd, part, false);
    element.append(odd);
  }
  for (const space of trail!) element.append(hiddenMark(space));
  return element;
}

/** Texts longer than this are folded. Characters. */
const FOLD_AT = 1_200;

/** A stranger's prose: line ends kept, very long ones folded. */
export function prose(text: string, attributes: Attributes = {}): HTMLElement {
  const element = h("div", { ...attributes, class: `prose ${attributes["class"] ?? ""}`.trim() });
  appendText(element, text.slice(0, FOLD_AT), true);
  if (text.length > FOLD_AT) {
    const more = h("button", {
      type: "button",
      class: "link",
      onclick: () => {
        more.remove();
        appendText(element, text.slice(FOLD_AT), true);
      },
    }, `Show all ${text.length.toLocaleString("en")} characters`);
    element.append("… ", more);
  }
  return element;
}

/** An object id, short, with the whole one on hover. */
export function oid(id: string | null, nothing = "nothing"): HTMLElement {
  if (id === null) return h("span", { class: "muted" }, nothing);
  if (id === "new") return h("span", { class: "new-id" }, "a new commit");
  return h("code", { class: "oid", title: id }, shortId(id));
}

/** Builds a section of a card with its heading. */
export function section(title: string, attributes: Attributes, ...children: Child[]): HTMLElement {
  return h("section", attributes, h("h3", {}, title), children);
}

/** A list that shows its first entries and the rest at a click, a batch at a time. */
export function longList<T>(
  items: readonly T[],
  first: number,
  make: (item: T, index: number) => HTMLElement,
  attributes: Attributes = {},
  what = "entries",
): HTMLElement {
  const list = h("ul", attributes);
  const holder = h("div", {}, list);
  let shown = 0;
  const show = (until: number) => {
    const rows = document.createDocumentFragment();
    for (; shown < Math.min(until, items.length); shown++) rows.append(make(items[shown]!, shown));
    list.append(rows);
  };
  show(first);
  if (shown < items.length) {
    const more = h("button", {
      type: "button",
      class: "link more",
      onclick: () => {
        show(shown + 200);
        if (shown >= items.length) more.remove();
        else more.textContent = label();
      },
    });
    const label = () => `Show more (${(items.length - shown).toLocaleString("en")} ${what} left)`;
    more.textContent = label();
    holder.append(more);
  }
  return holder;
}

/** Small pictures, drawn in the colour of the text. Paths are in a box of 16 by 16. */
const ICONS: Readonly<Record<string, string>> = {
  merge:
    "M4.5 5.5v5M4.5 5.5a1.7 1.7 0 1 0 0-3.4 1.7 1.7 0 0 0 0 3.4M4.5 14a1.7 1.7 0 1 0 0-3.4 1.7 1.7 0 0 0 0 3.4M11.5 10a1.7 1.7 0 1 0 0-3.4 1.7 1.7 0 0 0 0 3.4M4.5 5.5c.3 2 2 2.8 5.300 2.8",
  rebase: "M4 3v6a3 3 0 0 0 3 3h6M10 9l3 3-3 3M4 3h0",
  discard: "M3 4h10M6 4V2.5h4V4M4.5 4l.7 9.5h5.6L11.5 4M7 7v4M9 7v4",
  reset: "M3 3v4h4M3.5 7A5.5 5.5 0 1 1 3 10.5",
  patch: "M8 2v7M4.5 5.5h7M4 13h8",
  plan: "M6 4h8M6 8h8M6 12h8M2.5 4h0M2.5 8h0M2.5 12h0",
  worktree: "M2 4.5h5l1.5 2H14v7H2zM2 4.5V3h4l1 1.5",
  commit: "M1.5 8h4M10.5 8h4M10.5 8a2.5 2.5 0 1 1-5 0 2.5 2.5 0 0 1 5 0",
  push: "M8 13V4M4.5 7.5 8 4l3.5 3.5M3 14h10",
  branch:
    "M4.5 5.5v5M4.5 5.5a1.7 1.7 0 1 0 0-3.4 1.7 1.7 0 0 0 0 3.4M4.5 14a1.7 1.7 0 1 0 0-3.4 1.7 1.7 0 0 0 0 3.4M11.5 6.5a1.7 1.7 0 1 0 0-3.4 1.7 1.7 0 0 0 0 3.4M11.5 6.5c0 3-6.5 1.5-7 4",
  branchDelete:
    "M4.5 5.5v5M4.5 5.5a1.7 1.7 0 1 0 0-3.4 1.7 1.7 0 0 0 0 3.4M4.5 14a1.7 1.7 0 1 0 0-3.4 1.7 1.7 0 0 0 0 3.4M9.5 3l4 4M13.5 3l-4 4M4.5 10.5c0-2.5 2.5-2.5 4.5-3",
  submodulePointer: "M2.5 5 8 2l5.5 3v6L8 14l-5.5-3zM2.5 5 8 8l5.5-3M8 8v6",
  restore: "M2.5 8a5.5 5.5 0 1 0 1.800-4M2.5 2.5V5.5h3M8 5v3l2 1.5",
  shield: "M8 1.5 13 3.5v4c0 3.5-2 5.5-5 7-3-1.5-5-3.5-5-7v-4zM5.5 8l2 2 3.5-4",
  warning: "M8 2 14.5 13.5h-13zM8 6.5v3M8 11.5h0",
  stop: "M5.5 2h5L14 5.5v5L10.5 14h-5L2 10.5v-5zM8 5v3.5M8 11h0",
  check: "M3 8.5 6.5 12 13 4.5",
  cross: "M4 4l8 8M12 4l-8 8",
  clock: "M14 8A6 6 0 1 1 2 8a6 6 0 0 1 12 0M8 4.5V8l2.5 1.5",
  back: "M9.5 3.5 5 8l4.5 4.5",
  file: "M4 1.5h5L12.5 5v9.5H4zM9 1.5V5h3.5",
  bell: "M4 11V7a4 4 0 0 1 8 0v4l1 1.5H3zM6.5 14h3",
  bellOff: "M4 11V7a4 4 0 0 1 8 0v4l1 1.5H3zM6.5 14h3M2 2l12 12",
  help:
    "M6 6a2 2 0 1 1 2.700 1.900c-.5.2-.7.6-.7 1.100v.5M8 12h0M14 8A6 6 0 1 1 2 8a6 6 0 0 1 12 0",
  out: "M6.5 3H3v10h3.5M7 8h6.5M11 5.5 13.5 8 11 10.5",
  people:
    "M6 8a2.5 2.5 0 1 0 0-5 2.5 2.5 0 0 0 0 5M1.5 13.5c0-5 9-5 9 0M10.5 3.300a2.300 2.300 0 0 1 0 4.400M12 9.5c1.700.6 2.5 2 2.5 4",
};

/** A picture that says nothing that the text beside it does not. */
export function icon(name: string): SVGElement {
  const drawn = svg("svg", {
    viewBox: "0 0 16 16",
    class: "icon",
    "aria-hidden": "true",
    focusable: "false",
  });
  drawn.append(svg("path", { d: ICONS[name] ?? ICONS["file"]! }));
  return drawn;
}

/** A button with a picture. */
export function button(
  label: string,
  picture: string | null,
  attributes: Attributes,
): HTMLButtonElement {
  return h(
    "button",
    { type: "button", ...attributes },
    picture ? icon(picture) : null,
    h("span", { class: "label" }, label),
  );
}

/** Says something to screen readers, politely; the same words twice are said twice. */
export function say(text: string): void {
  const place = document.getElementById("said");
  if (!place) return;
  const line = h("p", {}, text);
  place.append(line);
  while (place.childElementCount > 5) place.firstElementChild!.remove();
}
