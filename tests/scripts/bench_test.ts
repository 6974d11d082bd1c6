import assert from "node:assert/strict";
import { interleave, median } from "../../scripts/bench/measure.ts";
import { FROM_SOURCE } from "../../scripts/bench/server.ts";
import { gates, json, judge, type Measurement, table } from "../../scripts/bench/result.ts";
import { ROOT } from "../../scripts/lib/deno.ts";
import { countTokens, listTokens } from "../../scripts/bench/tokens.ts";

const row = (ours: number, base: number | null, budget: Measurement["budget"]): Measurement => ({
  name: "a row",
  unit: "ms",
  ours,
  base: base === null ? null : { name: "plain", value: base },
  budget,
});

Deno.test("a ratio budget holds up to its factor and is missed above it", () => {
  assert.equal(judge(row(13, 10, { kind: "ratio", max: 1.3 })), "pass");
  assert.equal(judge(row(13.1, 10, { kind: "ratio", max: 1.3 })), "miss");
});

Deno.test("a ratio budget with a surplus takes whichever allows more", () => {
  const budget = { kind: "ratio", max: 1.15, orPlus: 3 } as const;
  assert.equal(judge(row(5, 2, budget)), "pass");
  assert.equal(judge(row(5.1, 2, budget)), "miss");
  assert.equal(judge(row(114, 100, budget)), "pass");
});

Deno.test("a number without a budget is only reported", () => {
  assert.equal(judge(row(1e9, null, null)), "reported");
});

Deno.test("a surplus over the empty program is judged but never fails a run", () => {
  const slow = row(100, 10, { kind: "plus", value: 45 });
  assert.equal(judge(slow), "miss");
  assert.equal(gates(slow, "all"), false);
});

Deno.test("a quick run fails on tokens alone, a whole run on every ratio", () => {
  const ratio = row(20, 10, { kind: "ratio", max: 1.3 });
  const tokens = { ...row(400, null, { kind: "most", value: 350 }), unit: "tokens" };
  assert.deepEqual([gates(ratio, "all"), gates(ratio, "tokens")], [true, false]);
  assert.deepEqual([gates(tokens, "all"), gates(tokens, "tokens")], [true, true]);
});

Deno.test("the table fits 80 columns and names verdict, ratio and budget", () => {
  const text = table([row(13.1, 10, { kind: "ratio", max: 1.3 }), row(7, null, null)]);
  assert.match(text, /a row +13\.1 +10\.0 ms +1\.31x +<=1\.3x +miss/);
  assert.match(text, /a row +7\.0 .*reported/);
  for (const line of text.split("\n")) assert(line.length <= 80, line);
});

Deno.test("the JSON carries numbers and verdicts", () => {
  const parsed = JSON.parse(json([row(20, 10, { kind: "ratio", max: 1.3 })], { cores: 2 }));
  assert.equal(parsed.results[0].ratio, 2);
  assert.equal(parsed.results[0].verdict, "miss");
  assert.equal(parsed.machine.cores, 2);
});

Deno.test("the median is the middle value, and of an even number the mean of two", () => {
  assert.equal(median([3, 1, 2]), 2);
  assert.equal(median([4, 1, 2, 3]), 2.5);
  assert.throws(() => median([]));
});

Deno.test("interleaving runs every way equally often and gives each its own median", async () => {
  const order: string[] = [];
  const way = (name: string, ms: number) => () => {
    order.push(name);
    return Promise.resolve(ms);
  };
  const ms = await interleave({ a: way("a", 1), b: way("b", 2) }, 4);
  assert.deepEqual(ms, { a: 1, b: 2 });
  assert.deepEqual(order, ["a", "b", "b", "a", "a", "b", "b", "a"]);
});

Deno.test("tokens of a list count names, descriptions and input schemas, not output schemas", () => {
  const tool = { name: "x", description: "d", inputSchema: { type: "object" } };
  const wide = { ...tool, outputSchema: { type: "object", properties: { a: {} } } };
  assert.equal(listTokens([tool]), listTokens([wide]));
  assert(listTokens([{ ...tool, description: "much longer text here" }]) > listTokens([tool]));
});

Deno.test("text that names a special token is counted as text", () => {
  assert(countTokens("<|endoftext|>") > 1);
});

Deno.test("the benchmark starts the server with the flags of the task that hosts use", async () => {
  const { tasks } = JSON.parse(await Deno.readTextFile(`${ROOT}/deno.json`));
  const given = FROM_SOURCE.args.filter((word) => word.startsWith("-") && word !== "--config");
  const task = tasks.sidecar.split(" ").filter((word: string) => word.startsWith("-"));
  assert.deepEqual(given.sort(), task.sort());
});
