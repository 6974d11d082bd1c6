/**
 * `deno task generate [--check]`: writes the catalog that `tools/list` serves, the schemas that
 * arguments are checked against and the lazy imports, from the tool files; then the tool reference
 * and the approval page as one script.
 */
import { generateCatalog } from "./generate/catalog.ts";
import { generatePage } from "./generate/page.ts";
import { generateReference } from "./generate/reference.ts";
import { say } from "./lib/terminal.ts";

const check = Deno.args.includes("--check");
const root = new URL("..", import.meta.url);
const files = [
  ...await generateCatalog(root),
  ...await generateReference(root),
  ...await generatePage(root),
];
let stale = 0;
for (const { path, text } of files) {
  const url = new URL(path, root);
  const current = await Deno.readTextFile(url).catch(() => null);
  if (current === text) continue;
  stale++;
  if (!check) {
    await Deno.mkdir(new URL(".", url), { recursive: true });
    await Deno.writeTextFile(url, text);
  }
  say(`${check ? "out of date" : "written"}: ${path}`);
}
if (check && stale > 0) {
  say("run: deno task generate");
  Deno.exit(1);
}
