import assert from "node:assert/strict";
import { CATALOG } from "../../registry/generated/catalog.ts";

/**
 * The contract of every tool as one text file, so that a change of it is a change that a reviewer
 * sees. `UPDATE_SNAPSHOTS=1` writes the file anew.
 */
const FILE = new URL("./schemas.snap", import.meta.url);
const WIDTH = 110;

Deno.test("the tools' contract is the one in schemas.snap (UPDATE_SNAPSHOTS=1 writes it anew)", async () => {
  const text = CATALOG.map((row) =>
    [
      `## ${row.name}`,
      `annotations ${row.annotations}`,
      `input ${layout(JSON.parse(row.input))}`,
      `output ${layout(JSON.parse(row.output))}`,
      "",
    ].join("\n")
  ).join("\n");
  if (Deno.env.get("UPDATE_SNAPSHOTS") === "1") await Deno.writeTextFile(FILE, text);
  const kept = await Deno.readTextFile(FILE);
  const changed = toolsOf(text).filter(([name, part]) => new Map(toolsOf(kept)).get(name) !== part)
    .map(([name]) => name);
  const gone = toolsOf(kept).map(([name]) => name).filter((name) => !text.includes(`## ${name}\n`));
  assert.deepEqual({ changed, gone }, { changed: [], gone: [] });
  assert.equal(kept, text);
});

function toolsOf(text: string): [name: string, part: string][] {
  return text.split(/^## /m).filter(Boolean).map((part) => [part.split("\n", 1)[0]!, part.trim()]);
}

/** JSON with short values on one line, so that a change touches few lines. */
function layout(value: unknown, indent = ""): string {
  const flat = JSON.stringify(value);
  if (typeof value !== "object" || value === null || flat.length + indent.length <= WIDTH) {
    return flat;
  }
  const inner = indent + "  ";
  const parts = Array.isArray(value)
    ? value.map((item) => inner + layout(item, inner))
    : Object.entries(value).map(([key, item]) =>
      `${inner}${JSON.stringify(key)}: ${layout(item, inner)}`
    );
  const [open, close] = Array.isArray(value) ? ["[", "]"] : ["{", "}"];
  return `${open}\n${parts.join(",\n")}\n${indent}${close}`;
}
