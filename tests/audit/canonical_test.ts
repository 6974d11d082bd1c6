import assert from "node:assert/strict";
import fc from "fast-check";
import { canonicalBytes, canonicalJson, compareKeys, doubleText } from "../../audit/canonical.ts";
import { fingerprint } from "../../audit/hash.ts";
import { byteUnits, LineFault, LineReader, readRecord } from "../../audit/line.ts";
import { LineScanner } from "../../audit/line_scan.ts";
import { parseStrictJson, parseStrictJsonBytes } from "../../audit/strict_json.ts";
import { parseJson } from "../../common/json.ts";
import { canonical, parse } from "./second_verifier.ts";
import { UNSIGNED_LINE } from "./vectors.ts";

const encoder = new TextEncoder();
const bytesOf = (text: string) => encoder.encode(text);

Deno.test("numbers keep their kind and get the shortest digits", () => {
  const cases: Record<string, string> = {
    "1": "1",
    "-7": "-7",
    "1.0": "1.0",
    "-0": "-0.0",
    "-0.0": "-0.0",
    "0.0": "0.0",
    "0e5": "0.0",
    "1e3": "1000.0",
    "9007199254740993": "9007199254740993",
    "18446744073709551615": "18446744073709551615",
    "18446744073709551616": "1.8446744073709552e19",
    "-9223372036854775808": "-9223372036854775808",
    "-9223372036854775809": "-9.223372036854776e18",
    "1000000000000000.0": "1000000000000000.0",
    "1e15": "1000000000000000.0",
    "1e16": "1e16",
    "123456789012345680.0": "1.2345678901234568e17",
    "12.34": "12.34",
    "0.00001": "0.00001",
    "0.000001": "1e-6",
    "1.5e-7": "1.5e-7",
    "1.5E300": "1.5e300",
    "5e-324": "5e-324",
    "1.7976931348623157e308": "1.7976931348623157e308",
  };
  for (const [token, written] of Object.entries(cases)) {
    assert.equal(canonicalJson(parseStrictJson(token)), written, token);
    assert.equal(new TextDecoder().decode(canonical(parse(bytesOf(token)))), written, token);
  }
  assert.throws(() => parseStrictJson("1e400"), /out of range/);
});

Deno.test("JavaScript values are written as the same JSON read from a text", () => {
  assert.equal(
    canonicalJson({ a: 2n ** 63n, b: new Number(1), c: 1, d: 1.5 }),
    '{"a":9223372036854775808,"b":1.0,"c":1,"d":1.5}',
  );
  // What a worker receives is a copy; boxed numbers stay boxed in it.
  assert.equal(
    canonicalJson(structuredClone(parseJson('{"b":1.0,"a":18446744073709551615}'))),
    '{"a":18446744073709551615,"b":1.0}',
  );
  assert.equal(
    canonicalJson([undefined, () => 1, NaN, Infinity, null, true]),
    "[null,null,null,null,null,true]",
  );
  assert.equal(canonicalJson({ a: undefined, b: 1 }), '{"b":1}');
  assert.equal(doubleText(-1e21), "-1e21");
});

Deno.test("keys are sorted by code point, also where UTF-16 sorts otherwise", () => {
  const keys = ["\u{1f600}", "\uffff", "\ue000", "\ud7ff", "a", "Z", "10", "9", ""];
  const byBytes = [...keys].sort((a, b) => {
    const [x, y] = [bytesOf(a).toHex(), bytesOf(b).toHex()];
    return x < y ? -1 : x > y ? 1 : 0;
  });
  assert.deepEqual([...keys].sort(compareKeys), byBytes);
  assert.notDeepEqual([...keys].sort(), byBytes, "the case would not matter otherwise");
});

Deno.test("hostile shapes neither break the writer nor hide in it", () => {
  const own = parseStrictJson('{"__proto__":{"a":1},"constructor":2}');
  assert.equal(canonicalJson(own), '{"__proto__":{"a":1},"constructor":2}');
  assert.notEqual(fingerprint(own), fingerprint({ constructor: 2 }));
  // NFC and NFD are two texts, and stay two.
  assert.notEqual(fingerprint("\u00e9"), fingerprint("e\u0301"));
  // A surrogate without its partner becomes U+FFFD; keys that thereby meet are written once.
  assert.equal(canonicalJson("a\ud800b"), '"a\ufffdb"');
  assert.equal(canonicalJson(JSON.parse(`{"\\ud800":1,"\\ud801":2}`)), '{"\ufffd":2}');
  let deep: unknown = 1;
  for (let level = 0; level < 50_000; level++) deep = [deep];
  assert.equal(canonicalJson(deep).length, 100_001);
  const circle: unknown[] = [];
  circle.push(circle);
  assert.throws(() => canonicalJson(circle), TypeError);
});

Deno.test("texts that two readers may understand differently are refused", () => {
  const refused = [
    '{"a":1,"a":1}',
    '{"a":1,"\\u0061":2}',
    '{"x":[{"b":1,"c":{"d":1,"d":2}}]}',
    '{"__proto__":1,"__proto__":2}',
    '"\\ud800"',
    '"\\ud800\\u0041"',
    '{"a":1} x',
    '\ufeff{"a":1}',
    '{"a":01}',
    '{"a":1,}',
    "{'a':1}",
    '{"a":"\t"}',
    "",
    "[".repeat(128) + "]".repeat(128),
  ];
  for (const text of refused) {
    assert.throws(() => parseStrictJson(text), { name: "JsonError" }, text.slice(0, 40));
    assert.throws(() => parse(bytesOf(text)), text.slice(0, 40));
  }
  assert.throws(() => parseStrictJsonBytes(Uint8Array.of(0x22, 0xff, 0x22)), /UTF-8/);
  // Control: near misses that are good JSON.
  for (const text of ['{"a":1,"A":1}', '{"a":{"a":{"a":1}}}', '[{"a":1},{"a":1}]', '"a\\":{}"']) {
    parseStrictJson(text);
  }
});

const anyJson = fc.json({ maxDepth: 4, stringUnit: "binary" });
const tameJson = fc.json({
  maxDepth: 4,
  stringUnit: "grapheme-ascii",
});
const tameNumber = fc.integer().map(String);
const oddNumber = fc.oneof(
  fc.double().filter(Number.isFinite).map((value) => String(value)),
  fc.bigInt({ min: -(2n ** 70n), max: 2n ** 70n }).map(String),
  fc.constantFrom("1.0", "-0", "1e16", "1E-7", "100e-2"),
);

Deno.test("both canonical writers agree on any JSON text", () => {
  fc.assert(
    fc.property(anyJson, oddNumber, (json, number) => {
      const bytes = bytesOf(`{"json":${json},"number":${number}}`);
      let mine: Uint8Array;
      try {
        mine = canonicalBytes(parseStrictJsonBytes(bytes));
      } catch {
        assert.throws(() => parse(bytes));
        return;
      }
      assert.equal(mine.toHex(), canonical(parse(bytes)).toHex());
      // Canonical text is its own canonical form.
      assert.deepEqual(canonicalBytes(parseStrictJsonBytes(mine)), mine);
    }),
    { numRuns: 1_000 },
  );
});

Deno.test("the quick reader takes only canonical lines, and then gives the slow reader's bytes", () => {
  const scanner = new LineScanner();
  const reader = new LineReader();
  let quick = 0;
  const member = fc.constantFrom(
    '"entryHash":"sha256:00"',
    '"signature":"AA"',
    '"signatureKeyId":"03"',
    '"signatureVersion":3',
    '"signatureVersion":2',
    '"signatureVersion":1',
    '"auditChainVersion":1',
  );
  const line = fc.tuple(
    fc.uniqueArray(member, { maxLength: 5, selector: (text) => text.split(":")[0] }),
    fc.oneof(anyJson, tameJson, fc.string({ unit: "binary" }).map((text) => JSON.stringify(text))),
    fc.oneof(oddNumber, tameNumber, tameNumber),
    fc.boolean(),
  ).map(([members, json, number, tidy]) => {
    const text = `{${[...members, `"json":${json}`, `"n":${number}`].join(",")}}`;
    if (!tidy) return bytesOf(text);
    try {
      return canonicalBytes(parseStrictJson(text));
    } catch {
      return bytesOf(text);
    }
  });
  fc.assert(
    fc.property(line, (bytes) => {
      const text = byteUnits(bytes);
      if (!scanner.scan(text, 0, bytes.length)) return;
      quick++;
      const slow = readRecord(bytes);
      const fast = reader.read(bytes, text, 0, bytes.length);
      assert.deepEqual(canonicalBytes(slow.record()), bytes, "only canonical lines are taken");
      for (const view of ["hashedBytes", "signedBytes", "wholeBytes"] as const) {
        assert.equal(
          new TextDecoder().decode(fast[view]()),
          new TextDecoder().decode(slow[view]()),
          view,
        );
      }
      for (const name of ["entryHash", "signature", "signatureVersion", "sequence"] as const) {
        assert.equal(fast.members[name], slow.members[name], name);
      }
    }),
    { numRuns: 2_000 },
  );
  assert.ok(quick > 300, `the quick way was taken ${quick} times`);
});

Deno.test("the quick reader gives up on whatever is not canonical", () => {
  const scanner = new LineScanner();
  const takes = (text: string) => {
    const bytes = bytesOf(text);
    return scanner.scan(byteUnits(bytes), 0, bytes.length);
  };
  assert.equal(takes(UNSIGNED_LINE), true, "control");
  assert.equal(takes('{"a":"\u00e9\u{1f600}","b":"\\u001f\\n"}'), true, "control");
  const odd = [
    '{"b":1,"a":1}',
    '{"a":1,"a":1}',
    '{"a": 1}',
    ' {"a":1}',
    '{"a":1} ',
    '{"a":1.0}',
    '{"a":-0}',
    '{"a":01}',
    '{"a":1e3}',
    '{"a":9007199254740993}',
    '{"a":"\\/"}',
    '{"a":"\\u0041"}',
    '{"a":"\\u001F"}',
    '{"a":"\\u000a"}',
    '{"a":"\t"}',
    '{"a":{"c":1,"b":1}}',
    '{"a":[1,]}',
    '{"a":tru}',
    '{"a":1}}',
    '{"a":1',
    '{"a"',
    "{",
    "{}",
    "[]",
    "",
    '{"\u00e9":1}',
    '{"sequence":"1"}',
    '{"signature":null}',
  ];
  for (const text of odd) assert.equal(takes(text), false, text);
});

Deno.test("a line is judged the same whichever way it is read", () => {
  const reader = new LineReader();
  const read = (text: string | Uint8Array) => {
    const bytes = typeof text === "string" ? bytesOf(text) : text;
    return reader.read(bytes, byteUnits(bytes), 0, bytes.length);
  };
  assert.throws(() => read("  \r"), new LineFault("blank line"));
  assert.throws(() => read("[1]"), new LineFault("not a JSON object"));
  assert.throws(() => read("{"), new LineFault("not valid JSON"));
  assert.throws(() => read(Uint8Array.of(...bytesOf('{"a":"'), 0xc3, ...bytesOf('"}'))), {
    message: "not valid JSON",
  });
  assert.throws(() => read(`{"a":"${"x".repeat(262_144)}"}`), /longer than 262144 bytes/);
  // CRLF is spacing, so such a line is only not canonical.
  assert.equal(read(UNSIGNED_LINE + "\r").members.sequence, 1);
  // Members of Object.prototype are no members of a record.
  assert.equal(readRecord(bytesOf('{"a":1}')).members.signature, undefined);
  assert.equal("toString" in readRecord(bytesOf('{"a":1}')).record(), false);
});
