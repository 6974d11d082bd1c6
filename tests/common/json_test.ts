import assert from "node:assert/strict";
import {
  FloatToken,
  isIntegerToken,
  isNumberToken,
  JsonError,
  parseJson,
  parseJsonBytes,
  stringifyJson,
} from "../../common/json.ts";

Deno.test("ordinary JSON is read as JSON.parse reads it", () => {
  const texts = [
    '{"a":[1,-2,0.5,true,false,null,"x"],"b":{"c":{}}}',
    '"é😀\\u00e9\\ud83d\\ude00\\\\\\"\\n"',
    " [ ] ",
    "0",
    "-1",
    "-0.5",
    "1.25e-3",
    "9007199254740991",
    '{"":"","a b":1}',
    '["[[[[","}}}","\\\\","1.0e5","-0"]',
  ];
  for (const text of texts) assert.deepEqual(parseJson(text), JSON.parse(text), text);
});

Deno.test("texts that are not JSON are refused with a printable reason", () => {
  const texts = [
    "",
    " ",
    "{",
    "}",
    "[1,]",
    '{"a":1,}',
    "{'a':1}",
    "01",
    "1.",
    ".5",
    "+1",
    "- 1",
    "1e",
    "--1",
    "0x10",
    "NaN",
    "Infinity",
    "tru",
    '"a',
    '"\\x"',
    '"\\u12"',
    '"a\u0001b"',
    '"a\nb"',
    "[1] 2",
    '{"a":1}x',
    "\ufeff{}",
    "{}\ufeff",
    "\u00a0{}",
    "\\u0041",
    "[1 2]",
    '{"a" 1}',
    "//x\n1",
    "1-1",
    "1.2.3",
  ];
  for (const text of texts) {
    assert.throws(() => parseJson(text), (error) => {
      assert(error instanceof JsonError, text);
      assert.match(error.message, /^[\x20-\x7e]{1,900}$/, text);
      return true;
    });
  }
});

Deno.test("nesting of 127 levels is read and 128 levels are refused", () => {
  for (const [open, close] of [["[", "]"], ['{"a":', "}"]] as const) {
    const nested = (depth: number) =>
      open.repeat(depth - 1) + (open === "[" ? "[]" : "{}") + close.repeat(depth - 1);
    parseJson(nested(127));
    assert.throws(() => parseJson(nested(128)), JsonError);
  }
  // Depth is what is open at once, not how many were opened; brackets in strings do not count.
  parseJson(`[${Array(1_000).fill("[{}]").join(",")}]`);
  parseJson(JSON.stringify("[".repeat(1_000)));
  assert.throws(() => parseJson("[".repeat(4_000_000)), JsonError);
});

Deno.test("surrogates without their partner are refused, pairs and escaped backslashes are not", () => {
  for (
    const text of [
      '"\\ud800"',
      '"\\udc00"',
      '"\\ud800x"',
      '"\\ud800\\ud800"',
      '"\\udc00\\ud800"',
      '"\\uD83D\\u0041"',
      '{"\\udfff":1}',
      '{"a":"\\ud800","a":1}',
      '"\\\\\\ud800"',
      '"\ud800"',
      '["ok","\\ud83d\\ude00\\ude00"]',
    ]
  ) {
    assert.throws(() => parseJson(text), JsonError, text);
  }
  assert.equal(parseJson('"\\uD83D\\uDE00"'), "😀");
  assert.equal(parseJson('"\\\\ud800"'), "\\ud800");
  assert.equal(parseJson('"\\\\\\\\udc00"'), "\\\\udc00");
  assert.equal(parseJson('"\\u0000"'), "\0");
});

Deno.test("integer tokens keep all their digits within -2^63 and 2^64-1", () => {
  const exact: [string, unknown][] = [
    ["9007199254740991", 9007199254740991],
    ["9007199254740992", 9007199254740992n],
    ["-9007199254740992", -9007199254740992n],
    ["-9223372036854775808", -(2n ** 63n)],
    ["18446744073709551615", 2n ** 64n - 1n],
  ];
  for (const [text, value] of exact) {
    assert.strictEqual(parseJson(text), value);
    assert(isIntegerToken(parseJson(text)));
    assert.deepEqual(parseJson(`{"a":[1,${text}]}`), { a: [1, value] });
    assert.equal(stringifyJson(parseJson(text)), text);
  }
});

Deno.test("numbers that are integral but not written as integers are boxed", () => {
  const texts = [
    "5.0",
    "1e3",
    "1E3",
    "-0",
    "-0.0",
    "0.0",
    "0e0",
    "15e1",
    "1.5e1",
    "150e-1",
    "1e300",
    "1e-400",
    "18446744073709551616",
    "-9223372036854775809",
    "1" + "0".repeat(308),
  ];
  for (const text of texts) {
    for (
      const value of [parseJson(text), (parseJson(`[0,{"k":${text}}]`) as [0, { k: unknown }])[1].k]
    ) {
      assert(value instanceof FloatToken, text);
      assert(value instanceof Number, text);
      assert(!isIntegerToken(value), text);
      assert(isNumberToken(value), text);
      assert(Object.is(value.valueOf(), Number(text)), text);
    }
  }
  for (const text of ["0.5", "-1.25", "1e-3", "12.5e0"]) {
    const value = parseJson(text);
    assert.equal(value, Number(text));
    assert(!isIntegerToken(value) && isNumberToken(value));
  }
  assert(!isIntegerToken("5") && !isIntegerToken(null) && !isIntegerToken([5]));
  assert(isIntegerToken(parseJson("0")) && isIntegerToken(parseJson("-7")));
});

Deno.test("numbers outside the range of a double are refused wherever they stand", () => {
  const nines = "9".repeat(400);
  for (
    const text of [
      "1e309",
      "-1e309",
      "1e99999999999",
      nines,
      `-${nines}`,
      '{"a":1e400,"a":1}',
      "[1,2e308]",
    ]
  ) {
    assert.throws(() => parseJson(text), JsonError, text);
  }
  assert.equal(parseJson('"1e309"'), "1e309");
});

Deno.test("the last of equal keys wins, with and without unusual numbers", () => {
  assert.deepEqual(parseJson('{"a":1,"a":{"b":2}}'), { a: { b: 2 } });
  const value = parseJson('{"a":{"b":5.0},"a":[7.0,8],"b":1.0,"b":2}') as {
    a: unknown[];
    b: unknown;
  };
  assert(value.a[0] instanceof FloatToken);
  assert.equal(value.a[0].valueOf(), 7);
  assert.equal(value.a[1], 8);
  assert.equal(value.b, 2);
});

Deno.test("__proto__ is a key like any other", () => {
  for (const text of ['{"__proto__":{"polluted":1}}', '{"__proto__":{"polluted":1.0}}']) {
    const value = parseJson(text) as Record<string, unknown>;
    assert.deepEqual(Object.keys(value), ["__proto__"]);
    assert.equal(Object.getPrototypeOf(value), Object.prototype);
    assert.equal(value.polluted, undefined);
  }
});

Deno.test("bytes must be UTF-8 without a byte order mark, and a refusal leaves no trace", () => {
  const bytes = (...values: number[]) => new Uint8Array(values);
  for (
    const broken of [
      bytes(0x22, 0xff, 0x22),
      bytes(0x22, 0xc3),
      bytes(0x22, 0xed, 0xa0, 0x80, 0x22),
      bytes(0x22, 0xc0, 0xaf, 0x22),
      bytes(0xef, 0xbb, 0xbf, 0x31),
      bytes(0x22, 0xf4, 0x90, 0x80, 0x80, 0x22),
      bytes(),
    ]
  ) {
    assert.throws(() => parseJsonBytes(broken), JsonError);
    assert.equal(parseJsonBytes(new TextEncoder().encode('"é"')), "é");
  }
});

Deno.test("writing gives compact JSON with big integers as digits and no lone surrogate", () => {
  assert.equal(
    stringifyJson({ a: 2n ** 64n - 1n, b: [-5n, 1.5], c: "é" }),
    '{"a":18446744073709551615,"b":[-5,1.5],"c":"é"}',
  );
  assert.equal(
    stringifyJson([new FloatToken(5), new FloatToken(-0), new FloatToken(1e21)]),
    "[5,0,1e+21]",
  );
  assert.equal(
    stringifyJson({ "\ud800": "a\udc00b", ok: "😀" }),
    '{"\ufffd":"a\ufffdb","ok":"😀"}',
  );
  assert.equal(stringifyJson("\\ud800"), '"\\\\ud800"');
  assert.equal(stringifyJson("\\\ud800\\"), '"\\\\\ufffd\\\\"');
  const circle: Record<string, unknown> = {};
  circle.self = circle;
  for (const value of [undefined, () => 1, circle]) {
    assert.throws(() => stringifyJson(value), TypeError);
  }
});

Deno.test("what was written is read back the same, for generated values with a fixed seed", async () => {
  const { default: fc } = await import("fast-check");
  const values = fc.jsonValue({ stringUnit: "binary", maxDepth: 6 });
  fc.assert(
    fc.property(values, (value) => {
      const text = stringifyJson(value);
      assert.equal(stringifyJson(parseJson(text)), text);
    }),
    { seed: 20260728, numRuns: 2_000 },
  );
});
