import assert from "node:assert/strict";
import { KNOWN_KEYWORDS } from "../../registry/arguments.ts";
import { TOOLS } from "../../toolhub/catalog.ts";

/**
 * The contract of the twelve tools as one text file, so that a change of it is a change that a
 * reviewer sees. `UPDATE_SNAPSHOTS=1` writes the file anew.
 */
const FILE = new URL("./schemas.snap", import.meta.url);

Deno.test("the contract of the twelve tools is the one in schemas.snap (UPDATE_SNAPSHOTS=1 writes it anew)", async () => {
  const text = TOOLS.map(({ name, title, readOnly, input, output }) =>
    [
      `## ${name}`,
      `title ${title}, read-only ${readOnly}`,
      `input ${JSON.stringify(input, null, 2)}`,
      `output ${JSON.stringify(output, null, 2)}`,
      "",
    ].join("\n")
  ).join("\n");
  if (Deno.env.get("UPDATE_SNAPSHOTS") === "1") await Deno.writeTextFile(FILE, text);
  assert.equal(await Deno.readTextFile(FILE), text);
});

Deno.test("the schemas use only keywords that are checked", () => {
  const visit = (schema: unknown): void => {
    if (typeof schema !== "object" || schema === null) return;
    for (const [key, value] of Object.entries(schema)) {
      assert(KNOWN_KEYWORDS.has(key), key);
      if (key === "properties") Object.values(value as object).forEach(visit);
      else if (Array.isArray(value)) value.forEach(visit);
      else visit(value);
    }
  };
  for (const { input } of TOOLS) visit(input);
});
