import fc from "fast-check";
import ranks from "gpt-tokenizer/bpeRanks/o200k_base";
import { countTokens } from "gpt-tokenizer/encoding/o200k_base";
import assert from "node:assert/strict";
import { cuttableList, estimateTokens, fitTokens } from "../../common/token_budget.ts";
import { GLUE, OTHER_PAIRS, PAIRS, TRIPLES, WORDS } from "../../common/token_table.ts";
import { CodedError } from "../../common/errors.ts";

const real = (text: string) => countTokens(text, { disallowedSpecial: new Set() });
const SEED = 20_260_728;

function neverBelow(text: string): void {
  const bound = estimateTokens(text), count = real(text);
  assert(bound >= count, `${bound} < ${count} for ${JSON.stringify(text).slice(0, 400)}`);
}

/** Holds the bound for `runs` texts of a kind, the same ones in every run. */
function holdsFor(kind: string, texts: fc.Arbitrary<string>, runs = 300): void {
  Deno.test(`the token estimate is never below the real count for ${kind}`, () => {
    fc.assert(fc.property(texts, neverBelow), { seed: SEED, numRuns: runs });
  });
}

const hex = (n: number) =>
  fc.array(fc.integer({ min: 0, max: 15 }), { minLength: n, maxLength: n })
    .map((digits) => digits.map((d) => d.toString(16)).join(""));
const bytes = fc.uint8Array({ maxLength: 300 });
const latin1 = (raw: Uint8Array) => Array.from(raw, (b) => String.fromCharCode(b)).join("");
const letters = (from: string, maxLength = 200) =>
  fc.array(fc.constantFrom(...from), { maxLength }).map((l) => l.join(""));
const codePoints = (from: number, to: number) =>
  fc.array(fc.integer({ min: from, max: to }), { maxLength: 80 })
    .map((list) => String.fromCodePoint(...list));

holdsFor("JSON of any shape", fc.json({ maxDepth: 4 }), 400);
holdsFor(
  "JSON with any Unicode",
  fc.jsonValue({ stringUnit: "binary" }).map((v) => JSON.stringify(v)),
);
holdsFor(
  "answers with ids, paths and subjects",
  fc.array(
    fc.record({
      oid: hex(40),
      sha: hex(7),
      status: fc.constantFrom(" M", "??", "A ", "UU"),
      path: fc.array(letters("abcdefghijklmnopqrstuvwxyz-_.0123456789", 14), { minLength: 1 })
        .map((parts) => parts.join("/")),
      subject: fc.lorem({ maxCount: 12 }),
      n: fc.nat(),
    }),
    { maxLength: 12 },
  ).map((list) => JSON.stringify({ data: { list } })),
);
holdsFor("hexadecimal ids", fc.oneof(hex(40), hex(64), hex(7)));
holdsFor("base64", bytes.map((raw) => btoa(latin1(raw))));
holdsFor("random lower-case letters", letters("abcdefghijklmnopqrstuvwxyz"), 500);
holdsFor(
  "random mixed letters",
  letters("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"),
  500,
);
holdsFor("rare letters", letters("jqxzvkwJQXZVKW"), 500);
holdsFor("punctuation and spaces", letters(" \t\r\n!\"#$%&'()*+,-./:;<=>?@[\\]^_`{|}~"), 500);
holdsFor("words with apostrophes", letters("abcdefst'LRVe re'ller Ss"), 300);
holdsFor("numbers", fc.array(fc.bigInt()).map((list) => list.join(",")));
holdsFor(
  "Chinese, Japanese and Korean",
  fc.oneof(
    codePoints(0x4e00, 0x9fff),
    codePoints(0x3040, 0x30ff),
    codePoints(0xac00, 0xd7a3),
  ),
);
holdsFor("rare ideographs", codePoints(0x20000, 0x2fa1d));
holdsFor("other scripts", codePoints(0x80, 0x1fff));
holdsFor("emoji", codePoints(0x1f300, 0x1faff));
holdsFor("any code points", fc.string({ unit: "binary", maxLength: 200 }), 500);
holdsFor("random bytes read as text", bytes.map((raw) => new TextDecoder().decode(raw)));
holdsFor("bytes read as Latin-1", bytes.map(latin1));
holdsFor("halves of surrogate pairs", codePoints(0xd780, 0xe010));
holdsFor(
  "letters of several scripts in one word",
  letters("aeiouTHéßжиЯ日本語のéüÅ한글ไทยعر", 60),
);

Deno.test("the token estimate is never below the real count for code and prose", async () => {
  for (
    const file of ["common/json.ts", "registry/table.ts", "LICENSE", "docs/tools.md", "deno.json"]
  ) {
    const text = await Deno.readTextFile(new URL(`../../${file}`, import.meta.url));
    neverBelow(text);
    for (let i = 0; i < text.length; i += 97) neverBelow(text.slice(i, i + 97));
  }
});

Deno.test("the token estimate stays within twice the real count for JSON, code and English", async () => {
  for (const file of ["common/json.ts", "registry/table.ts", "docs/tools.md", "deno.json"]) {
    const text = await Deno.readTextFile(new URL(`../../${file}`, import.meta.url));
    assert(
      estimateTokens(text) <= 2 * real(text),
      `${file}: ${estimateTokens(text)}, ${real(text)}`,
    );
  }
});

Deno.test("every token that the estimate knows is one token of o200k", () => {
  const vocabulary = new Set(
    (ranks as unknown as (string | number[])[]).filter((token) => token?.length > 0).map((token) =>
      latin1(typeof token === "string" ? new TextEncoder().encode(token) : Uint8Array.from(token))
    ),
  );
  const runs = (text: string, n: number) => text.match(new RegExp(`[^]{${n}}`, "g")) ?? [];
  const known = [
    ...runs(PAIRS, 2),
    ...runs(atob(OTHER_PAIRS), 2),
    ...runs(TRIPLES, 3),
    ...GLUE.split("\n"),
  ];
  assert(known.length > 5_000);
  assert.deepEqual(known.filter((token) => !vocabulary.has(token)), []);
});

Deno.test("every word that the estimate knows is one token alone and after a space, at most two after a sign", () => {
  const signs = Array.from({ length: 128 }, (_, i) => String.fromCharCode(i))
    .filter((c) => !/[A-Za-z0-9]/.test(c));
  const words = WORDS.split(" ");
  assert(words.length > 2_000);
  for (const word of words) {
    assert.equal(real(word), 1, word);
    assert.equal(real(" " + word), 1, word);
    for (const sign of signs) assert(real(sign + word) <= 2, sign + word);
  }
});

Deno.test("the estimate stops early at a ceiling and takes hostile runs in its stride", () => {
  assert(estimateTokens("word ".repeat(1_000_000), 100) > 100);
  for (const run of ["A", " ", "\n", "'", "a'", "é", "\u0301", "1", "/", "Aa"]) {
    // A pattern that backtracks over a run would take hours here, not milliseconds.
    const bound = estimateTokens(run.repeat(200_000));
    assert(bound > 0);
    neverBelow(run.repeat(50));
  }
});

const envelope = (repoPath: string, data: unknown) =>
  JSON.stringify({
    tool: "repo.conflictPreflight",
    readOnly: true,
    source: "local-git",
    repoPath,
    data,
  });

Deno.test("a fitted payload never exceeds its tokens, and fitting is deterministic", () => {
  const entry = fc.record({
    path: fc.oneof(letters("abcdefgh/.-_", 40), codePoints(0x4e00, 0x9fff), hex(40)),
    n: fc.nat(),
  });
  const input = fc.record({
    least: fc.array(entry, { maxLength: 40 }),
    most: fc.array(entry, { maxLength: 40 }),
    repoPath: letters("abcdefghij/", 60),
    maxTokens: fc.integer({ min: 200, max: 1_500 }),
  });
  let fitted = 0, shortened = 0;
  fc.assert(
    fc.property(input, ({ least, most, repoPath, maxTokens }) => {
      const once = () => {
        const data = {
          head: "main",
          least: [...least],
          most: [...most],
          next: null as string | null,
        };
        const cut = fitTokens(
          () => {
            data.next = data.most.at(-1)?.path ?? null;
            return data;
          },
          maxTokens,
          [cuttableList("least", data.least), cuttableList("most", data.most)],
          repoPath,
        );
        return { payload: envelope(repoPath, cut.length > 0 ? { ...data, cut } : data), cut, data };
      };
      const { payload, cut, data } = once();
      assert(real(payload) <= maxTokens, `${real(payload)} > ${maxTokens}`);
      assert.equal(once().payload, payload);
      // Nothing of the more important list goes while the other still has something.
      if (data.most.length < most.length) assert.equal(data.least.length, 0);
      for (const { list, kept, of } of cut) {
        assert.equal(kept, list === "least" ? data.least.length : data.most.length);
        assert.equal(of, list === "least" ? least.length : most.length);
        assert(kept < of);
      }
      fitted++;
      if (cut.length > 0) shortened++;
    }),
    { seed: SEED, numRuns: 300 },
  );
  assert(shortened > 50 && shortened < fitted, `${shortened} of ${fitted} were shortened`);
});

Deno.test("an answer that fits is left whole, and no bound means no cutting", () => {
  const data = { list: ["a", "b"] };
  assert.deepEqual(fitTokens(() => data, 200, [cuttableList("list", data.list)]), []);
  assert.deepEqual(data.list, ["a", "b"]);
  const long = { list: Array.from({ length: 5_000 }, (_, i) => `entry ${i}`) };
  assert.deepEqual(fitTokens(() => long, undefined, [cuttableList("list", long.list)]), []);
  assert.equal(long.list.length, 5_000);
});

Deno.test("what cannot be shortened under the bound is refused with the number needed", () => {
  const data = { text: "important ".repeat(400) };
  assert.throws(
    () => fitTokens(() => data, 200, []),
    (error) =>
      error instanceof CodedError && error.code === -32602 &&
      /4\d\d/.test(String(error.data?.["details"])),
  );
});
