/**
 * Writes `common/token_table.ts`: the facts about the o200k vocabulary that `common/token_budget.ts`
 * leans on. Run by hand when the tokenizer changes: `deno run -A scripts/token_table.ts`. Every fact
 * is checked again, against the tokenizer itself, by `tests/tools/token_budget_test.ts`.
 */
import ranks from "gpt-tokenizer/bpeRanks/o200k_base";
import { countTokens } from "gpt-tokenizer/encoding/o200k_base";

const WORDS = 2_600;
const CAPITALISED = 500;

const texts = (ranks as unknown as (string | readonly number[])[])
  .filter((token): token is string => typeof token === "string");
const vocabulary = new Set(texts);
const count = (text: string) => countTokens(text, { disallowedSpecial: new Set() });

const PRINTABLE = /^[\x20-\x7e]+$/;
const PREFIXES = Array.from({ length: 128 }, (_, i) => String.fromCharCode(i))
  .filter((c) => !/[A-Za-z0-9]/.test(c));

/** A word that stays whole: one token alone or after a space, at most two after any other sign. */
function whole(word: string): boolean {
  return vocabulary.has(word) && vocabulary.has(" " + word) &&
    PREFIXES.every((sign) => count(sign + word) <= 2);
}

const bytesOf = (token: string | readonly number[]) =>
  typeof token === "string" ? new TextEncoder().encode(token) : Uint8Array.from(token);
const otherPairs = btoa(
  (ranks as unknown as (string | readonly number[])[]).filter((token) => token?.length > 0)
    .map((token) => String.fromCharCode(...bytesOf(token)))
    .filter((bytes) => bytes.length === 2 && !PRINTABLE.test(bytes)).sort().join(""),
);
const pairs = texts.filter((t) => t.length === 2 && PRINTABLE.test(t)).sort();
const triples = texts.filter((t) => /^[ a-z][a-z]{2}$/.test(t)).sort();
const glue = texts.filter((t) => t.length > 2 && /^[ "{}\[\]:,]+$/.test(t) && !/ {2}/.test(t))
  .sort();

const catalog = await Deno.readTextFile(
  new URL("../registry/generated/catalog.ts", import.meta.url),
);
const own = new Set(catalog.match(/[A-Z]?[a-z]{3,}/g) ?? []);
const byRank = texts.filter((t) => /^ [A-Za-z][a-z]{3,}$/.test(t)).map((t) => t.slice(1));
function pick(form: RegExp, most: number): string[] {
  const picked = [...own].filter((word) => form.test(word) && whole(word));
  for (const word of byRank) {
    if (picked.length >= most) break;
    if (form.test(word) && !own.has(word) && whole(word)) picked.push(word);
  }
  return picked.sort();
}
const words = [...pick(/^[a-z]{4,}$/, WORDS), ...pick(/^[A-Z][a-z]{2,}$/, CAPITALISED)];

const lines = (name: string, doc: string, text: string) =>
  `/** ${doc} */\nexport const ${name} =\n  ${JSON.stringify(text)};\n`;
await Deno.writeTextFile(
  new URL("../common/token_table.ts", import.meta.url),
  `// Written by scripts/token_table.ts; do not edit.\n// deno-fmt-ignore-file\n\n` + [
    lines("PAIRS", "Pairs of printable ASCII characters that are one token.", pairs.join("")),
    lines(
      "TRIPLES",
      "Triples of letters, or of a space and letters, that are one token.",
      triples.join(""),
    ),
    lines(
      "GLUE",
      "Runs of JSON's own signs that are one token, separated by line ends.",
      glue.join("\n"),
    ),
    lines(
      "WORDS",
      "Words that are one token alone and after a space, and at most two after a sign.",
      words.join(" "),
    ),
    lines(
      "OTHER_PAIRS",
      "Pairs of bytes, not both printable ASCII, that are one token; base64.",
      otherPairs,
    ),
  ].join("\n"),
);
