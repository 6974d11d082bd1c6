import assert from "node:assert/strict";
import fc from "fast-check";
import { visible as onTerminal } from "../../../cli/screen_text.ts";
import { layGraph } from "../../../gateway/page/graph.ts";
import { arrange } from "../../../gateway/page/queue_order.ts";
import type { Proposal } from "../../../gateway/page/shapes.ts";
import { clock, count, pieces, spoken, visible } from "../../../gateway/page/text.ts";

Deno.test("page and terminal agree on which characters are shown as their code", () => {
  const hidden = (text: string) => pieces(text).some((piece) => piece.code !== undefined);
  for (let code = 0; code <= 0x10ffff; code++) {
    if (code >= 0xd800 && code <= 0xdfff) continue;
    const char = String.fromCodePoint(code);
    const text = `x${char}x`;
    if (hidden(text) !== (onTerminal(text) !== text)) {
      assert.fail(
        `U+${code.toString(16)} is ${hidden(text) ? "hidden" : "plain"} on the page only`,
      );
    }
  }
});

Deno.test("what is made visible holds every character and nothing that hides", () => {
  fc.assert(fc.property(fc.string({ unit: "binary" }), (text) => {
    const parts = pieces(text, true);
    assert.equal(parts.map((part) => part.text).join(""), text);
    const hides = [...visible(text)].filter((char) =>
      /^[\p{C}\p{Zl}\p{Zp}\p{Default_Ignorable_Code_Point}]$/u.test(char)
    );
    assert.deepEqual(hides, []);
  }));
});

Deno.test("times and counts read as people say them", () => {
  assert.equal(clock(299_001), "5:00");
  assert.equal(clock(-5), "0:00");
  assert.equal(spoken(61_000), "1 minute 1 second");
  assert.equal(spoken(120_000), "2 minutes");
  assert.equal(count(1, "file"), "1 file");
  assert.equal(count(1_200, "file"), "1,200 files");
});

function proposal(id: string, more: Partial<Proposal> = {}): Proposal {
  return {
    previewId: id,
    operationType: "merge",
    status: "pending",
    agentId: `agent-${id}`,
    repoPath: "/repo",
    repoId: "repo",
    reason: "",
    createdAtMs: Number(id) || 0,
    expiresAtMs: 0,
    endedAtMs: null,
    timeLeftMs: 200_000,
    ageMs: 0,
    risk: "low",
    headline: null,
    running: false,
    ...more,
  };
}

Deno.test("urgent ones come first, then the newest", () => {
  const all = [
    proposal("1"),
    proposal("4"),
    proposal("2", { risk: "high" }),
    proposal("3", { timeLeftMs: 30_000 }),
  ];
  const order = arrange(all, (one) => one.timeLeftMs).map((group) => group.key);
  assert.deepEqual(order, ["3", "2", "4", "1"]);
});

Deno.test("many of one kind from one agent are one entry, other ones stay apart", () => {
  const flood = Array.from({ length: 30 }, (_, i) => proposal(String(i), { agentId: "busy" }));
  const groups = arrange([...flood, proposal("99")], (one) => one.timeLeftMs);
  assert.deepEqual(groups.map((group) => group.proposals.length), [1, 30]);
});

Deno.test("a graph draws a line from each commit to each parent that is shown", () => {
  const rows = layGraph([
    { id: "new", parents: ["main", "b"] },
    { id: "b", parents: ["a"] },
    { id: "a", parents: ["base"] },
    { id: "main", parents: ["base"] },
    { id: "base", parents: [] },
  ]);
  assert.deepEqual(rows.map((row) => row.lane), [0, 1, 1, 0, 1]);
  assert.deepEqual(rows[0]!.out, [0, 1]);
  assert.deepEqual(rows[4]!.into, [1]);
  // A commit that is shown is reached by the lane that its children left for it.
  assert.deepEqual(rows[3]!.into, [0]);
});

Deno.test("a graph of any history stays narrow enough to draw", () => {
  const nodes = Array.from(
    { length: 100 },
    (_, i) => ({ id: `c${i}`, parents: [`x${i}`, `y${i}`] }),
  );
  for (const row of layGraph(nodes)) assert.ok(row.width <= 9 && row.lane <= 8);
});
