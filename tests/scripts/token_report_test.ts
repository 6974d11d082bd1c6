import assert from "node:assert/strict";
import { checksums, collect, readme, REPORT } from "../../scripts/bench/token_report.ts";
import { ROOT } from "../../scripts/lib/deno.ts";

const folder = `${ROOT}/${REPORT}`;

/** The published files, by name. */
async function published(): Promise<Map<string, string>> {
  const files = new Map<string, string>();
  for await (const { name } of Deno.readDir(`${folder}/raw`)) {
    files.set(name, await Deno.readTextFile(`${folder}/raw/${name}`));
  }
  return files;
}

Deno.test("the published token counts and checksums are those of the published texts", async () => {
  const files = await published();
  assert.equal(await Deno.readTextFile(`${folder}/SHA256SUMS`), await checksums(files));
  assert.equal(await Deno.readTextFile(`${folder}/README.md`), await readme(files));
});

Deno.test("the published answers are what the tools answer today", async () => {
  const [then, now] = [await published(), await collect()];
  assert.deepEqual([...then.keys()].sort(), [...now.keys()].sort());
  for (const [name, text] of now) {
    // What plain git prints changes with its version; our answers may not change unseen.
    if (name.endsWith("-plain.txt") || name === "picked.txt") continue;
    assert.equal(text, then.get(name), `${name}: deno run -A scripts/bench/token_report.ts`);
  }
});
