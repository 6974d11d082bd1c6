import assert from "node:assert/strict";
import { cardText, rowText } from "../../../cli/card_text.ts";
import { lineReader } from "../../../cli/line_reader.ts";
import { visible, visibleLines } from "../../../cli/screen_text.ts";

/** Everything of `security.md` S-30, and what else a terminal might act on or swallow. */
const HOSTILE: Record<string, string> = {
  escape: "\u001b[2J\u001b[31mred",
  "hyperlink (OSC 8)": "\u001b]8;;https://evil.example\u0007click\u001b]8;;\u0007",
  "clipboard (OSC 52)": "\u001b]52;c;ZXZpbA==\u0007",
  "title (OSC 0)": "\u001b]0;title\u0007",
  "C1 control sequence": "\u009b31m",
  "carriage return": "Approve nothing\rApprove all",
  backspace: "good\b\b\b\bevil",
  delete: "a\u007fb",
  "right-to-left override": "\u202egnp.exe",
  "left-to-right override": "\u202da",
  "right-to-left embedding": "\u202ba\u202c",
  isolate: "\u2066a\u2069",
  "first strong isolate": "\u2068a\u2069",
  "arabic letter mark": "\u061ca",
  "zero width space": "a\u200bb",
  "zero width joiner": "a\u200db",
  "word joiner": "a\u2060b",
  "byte order mark": "\ufeffa",
  "soft hyphen": "a\u00adb",
  "tag characters": "a\u{e0041}\u{e0042}\u{e007f}",
  "variation selector": "a\ufe0f",
  "variation selector supplement": "a\u{e0100}",
  "no-break space": "a\u00a0b",
  "ideographic space": "a\u3000b",
  "hangul filler": "a\u3164b",
  "braille blank": "a\u2800b",
  "combining grapheme joiner": "a\u034fb",
  "mongolian vowel separator": "a\u180eb",
  "invisible times": "a\u2062b",
  "musical null": "a\u{1d159}b",
  "line separator": "a\u2028b",
  "paragraph separator": "a\u2029b",
  "next line": "a\u0085b",
  "vertical tab": "a\u000bb",
  "form feed": "a\u000cb",
  nul: "a\u0000b",
  "half a surrogate": "a\ud800b",
  "private use": "a\ue000b",
  unassigned: "a\u0378b",
  noncharacter: "a\uffffb",
  "stacked marks": "a" + "\u0334".repeat(30),
  "interlinear annotation": "a\ufff9b\ufffbc",
};

/** What may stand on a line: letters, marks, digits, punctuation, symbols, the plain space. */
function assertPlain(text: string, what: string): void {
  for (const char of text) {
    const code = char.codePointAt(0)!;
    assert(
      /^[ \p{L}\p{M}\p{N}\p{P}\p{S}]$/u.test(char) &&
        !/^\p{Default_Ignorable_Code_Point}$/u.test(char),
      `${what}: U+${code.toString(16)} reached the screen`,
    );
  }
}

Deno.test("nothing that moves the cursor, hides or reorders reaches the screen as it is", () => {
  for (const [what, text] of Object.entries(HOSTILE)) {
    assertPlain(visible(text), what);
    for (const line of visibleLines(text, 10).split("\n")) assertPlain(line, what);
  }
});

Deno.test("two texts that differ look different", () => {
  const plain = "abc";
  const seen = new Map<string, string>();
  const texts = [
    plain,
    ...Object.values(HOSTILE),
    ...Object.values(HOSTILE).map((text) => text.replace(/[^\x20-\x7e]/gu, "")),
    "abc ",
    " abc",
    "a bc",
    "a  bc",
    "é",
    "e\u0301",
    "\\u{202e}gnp.exe",
    "\u202egnp.exe",
    "\\\\u{202e}gnp.exe",
    "\\u{5c}u{202e}gnp.exe",
    "\u1100\u1161",
    "가",
    "Å",
    "\u212b",
    "⇥",
  ];
  for (const text of new Set(texts)) {
    const shown = visible(text);
    const before = seen.get(shown);
    assert(before === undefined, `${JSON.stringify(before)} and ${JSON.stringify(text)}: ${shown}`);
    seen.set(shown, text);
  }
  // Tabs are arrows in diffs, and an arrow is no tab.
  assert.notEqual(visibleLines("\ta", 5), visibleLines("    a", 5));
  assert.notEqual(visibleLines("\ta", 5), visibleLines("⇥   a", 5));
});

Deno.test("ordinary text of many scripts is shown as it is", () => {
  for (
    const text of [
      "Fix the parser (#12): handle `a\\b` & <c>",
      "Größe, naïve, Œuvre, ñandú",
      "日本語のコミット",
      "Привет, мир",
      "עברית",
      "हिन्दी",
      "한국어",
      "ไทย",
      "→ ✓ 🎉 €",
      "C:\\users\\x",
    ]
  ) assert.equal(visible(text), text);
});

Deno.test("long texts are cut at whole characters and say so", () => {
  assert.equal(visible("a".repeat(10), 10), "a".repeat(10));
  assert.equal(visible("a".repeat(11), 10), "a".repeat(10) + "…");
  assert.equal(visible("😀".repeat(5), 3), "😀😀😀…");
  const lines = visibleLines("x\n".repeat(10), 3, "> ");
  assert.equal(lines, "> x\n> x\n> x\n> … 7 more lines");
  assert.equal(visibleLines("x\ny\nz", 2), "x\ny\n… 1 more line");
});

/** A card in which every text is hostile. */
function hostileCard(text: string): unknown {
  return {
    previewId: text,
    operationType: text,
    status: text,
    agentId: text,
    reason: text,
    repoPath: text,
    timeLeftMs: 1_000,
    digest: text,
    risk: text,
    words: text,
    rejectionReason: text,
    result: { message: text },
    blockers: [{ code: text, message: text, paths: [text] }],
    warnings: [{ code: text, message: text, paths: [text] }],
    recovery: {
      message: text,
      repositories: [{ repoPath: text, restorePointId: text, headBefore: text, headNow: null }],
    },
    effect: {
      summary: text,
      refs: [{ ref: text, before: text, after: text }],
      files: [
        { path: text, origPath: text, status: text, note: text, modes: { old: text, new: text } },
      ],
      filesTotal: 1,
      commits: [{ oid: text, fate: text, subject: text }],
      commitsTotal: 1,
      diff: text,
      details: { [text]: text, list: [text], table: { a: text } },
    },
  };
}

Deno.test("a whole card and a row of hostile text are plain on the screen, and show that they differ", () => {
  const row = (text: string) => ({
    previewId: text,
    operationType: text,
    status: text,
    risk: text,
    agentId: text,
    repoPath: text,
    headline: text,
  });
  for (const [what, text] of Object.entries(HOSTILE)) {
    const card = cardText(hostileCard(text));
    for (const line of (card + rowText(row(text))).split("\n")) assertPlain(line, what);
    const harmless = text.replace(/[^\x20-\x7e]/gu, "");
    assert.notEqual(card, cardText(hostileCard(harmless)), what);
    assert.notEqual(rowText(row(text)), rowText(row(harmless)), what);
  }
});

Deno.test("a card of a gateway that answers nonsense is shown all the same", () => {
  for (
    const card of [
      {},
      { effect: {} },
      { effect: { refs: 5, files: "x", filesTotal: "y", details: null }, warnings: {} },
      { blockers: [{}], warnings: [{ paths: "x" }], recovery: {}, timeLeftMs: "soon" },
      { reason: 5, words: 7, digest: {}, result: "x" },
    ]
  ) assert.equal(typeof cardText(card), "string");
});

Deno.test("lists that were cut are counted, refs included", () => {
  const refs = Array.from(
    { length: 1_500 },
    (_, i) => ({ ref: `r${i}`, before: null, after: null }),
  );
  const files = Array.from({ length: 50 }, (_, i) => ({ path: `f${i}`, status: "M" }));
  const text = cardText({ effect: { summary: "x", refs, files, filesTotal: 70, commits: [] } });
  assert.match(text, /… and 500 more refs/);
  assert.match(text, /… and 20 more files/);
});

Deno.test("lines are read one a call, however they arrive", async () => {
  const reader = (pieces: (string | Uint8Array)[]) =>
    lineReader({
      read(buffer) {
        const piece = pieces.shift();
        if (piece === undefined) return Promise.resolve(null);
        const bytes = typeof piece === "string" ? new TextEncoder().encode(piece) : piece;
        buffer.set(bytes);
        return Promise.resolve(bytes.length);
      },
    });
  const all = async (read: () => Promise<string | null>) => {
    const lines: string[] = [];
    for (let line = await read(); line !== null; line = await read()) lines.push(line);
    return lines;
  };
  assert.deepEqual(await all(reader(["a\nb\r\n", "c", "d\n\n", "e"])), ["a", "b", "cd", "", "e"]);
  assert.deepEqual(await all(reader([])), []);
  const ue = new TextEncoder().encode("ü\n");
  assert.deepEqual(await all(reader([ue.subarray(0, 1), ue.subarray(1)])), ["ü"]);
  const long = await all(reader(Array(20).fill("x".repeat(4_096))));
  assert.equal(long[0]!.length, 65_536);
});
