import assert from "node:assert/strict";
import fc from "fast-check";
import { parseJson } from "../../common/json.ts";
import { relay, RELAY_CHARS, statusOf } from "../../gateway/bridge/foreign.ts";

Deno.test("a small value is relayed whole, as plain JSON", () => {
  fc.assert(fc.property(fc.jsonValue({ maxDepth: 5 }), (value) => {
    const text = JSON.stringify(value);
    // Integers that JavaScript cannot hold become text.
    fc.pre(text.length < RELAY_CHARS && !/\d{16}/.test(text));
    assert.deepEqual(relay(parseJson(text)), { value: JSON.parse(text), cut: [] });
  }));
  const numbers = parseJson('{"a":5.0,"b":12345678901234567890,"c":-0.0}');
  assert.deepEqual(relay(numbers).value, { a: 5, b: "12345678901234567890", c: -0 });
});

Deno.test("whatever is relayed stays under the limit, and something is said when it lost anything", () => {
  const wide = (n: number) =>
    Object.fromEntries(Array.from({ length: n }, (_, i) => [`k${i}`, "v".repeat(50)]));
  const tree = (depth: number): unknown => depth === 0 ? "leaf" : Array(6).fill(tree(depth - 1));
  const values: unknown[] = [
    "x".repeat(1_000_000),
    { a: "x".repeat(1_000_000), status: "pending" },
    Array(100_000).fill("item"),
    wide(20_000),
    { ["k".repeat(200_000)]: 1 },
    tree(7),
    "\u0001".repeat(60_000),
  ];
  for (const value of values) {
    const { value: short, cut } = relay(value);
    assert.ok(JSON.stringify(short).length <= RELAY_CHARS);
    assert.ok(cut.length > 0 && cut.length <= 20);
    for (const { kept, of } of cut) assert.ok(kept < of);
  }
  assert.equal(
    (relay({ a: "x".repeat(1_000_000), status: "pending" }).value as { status: string })
      .status,
    "pending",
  );
});

Deno.test("too deep a value ends in null, a cut text stays well-formed, and names cannot reach the prototype", () => {
  let deep: unknown = "bottom";
  for (let i = 0; i < 100; i++) deep = [deep];
  const { value, cut } = relay(deep);
  assert.equal(JSON.stringify(value).match(/\[/g)?.length, 32);
  assert.equal(cut.length, 1);
  const emoji = relay("😀".repeat(40_000)).value as string;
  assert.ok(emoji.isWellFormed());
  const named = relay(parseJson('{"__proto__":{"status":"completed"}}')).value;
  assert.deepEqual(JSON.stringify(named), '{"__proto__":{"status":"completed"}}');
  assert.equal(statusOf(named), null);
  assert.equal(statusOf(Object.create({ status: "completed" })), null);
});

Deno.test("places are named printably, whatever the other side calls its members", () => {
  const { cut } = relay({ "a\u001b[31m\n": "x".repeat(1_000_000) });
  assert.deepEqual(
    cut,
    [{ list: "a\\u{1b}[31m\\u{a}", kept: 65_536, of: 1_000_000 }].map((one) => ({
      ...one,
      kept: cut[0]!.kept,
    })),
  );
});
