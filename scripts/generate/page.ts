import { denoOutput, ROOT } from "../lib/deno.ts";
import type { GeneratedFile } from "./catalog.ts";

/** Everything that a browser loads must stay below this. Bytes. */
const MAX_BYTES = 150_000;

/**
 * `gateway/server/generated/page_assets.ts`: the approval page as the gateway serves it. The modules
 * become one script, so that nobody needs a build step and the compiled program needs no files.
 */
export async function generatePage(root: URL): Promise<GeneratedFile[]> {
  const read = async (name: string) =>
    await Deno.readTextFile(new URL(`gateway/page/${name}`, root));
  const assets = {
    "/": { type: "text/html; charset=utf-8", text: await read("index.html") },
    "/page.js": { type: "text/javascript; charset=utf-8", text: await bundle() },
    "/page.css": { type: "text/css; charset=utf-8", text: plainCss(await read("page.css")) },
    "/icon.svg": { type: "image/svg+xml", text: await read("icon.svg") },
  };
  const bytes = Object.values(assets).reduce(
    (sum, { text }) => sum + new TextEncoder().encode(text).length,
    0,
  );
  if (bytes > MAX_BYTES) {
    throw new Error(`the page has ${bytes} bytes; it must stay below ${MAX_BYTES}`);
  }
  const text = `// Made by \`deno task generate\` from gateway/page. Do not edit.
export const PAGE_ASSETS: Readonly<
  Record<string, { readonly type: string; readonly text: string }>
> = ${JSON.stringify(assets, null, 2)};
`;
  return [{ path: "gateway/server/generated/page_assets.ts", text }];
}

async function bundle(): Promise<string> {
  const out = await denoOutput([
    "bundle",
    "-q",
    "--platform",
    "browser",
    "--minify",
    `${ROOT}/gateway/page/main.ts`,
  ]);
  if (out.code !== 0) throw new Error(`bundling the page failed: ${out.stderr.trim()}`);
  return out.stdout;
}

/** Without comments and indentation. */
function plainCss(text: string): string {
  return text.replace(/\/\*[\s\S]*?\*\//g, "").replace(/^\s+/gm, "").replace(/\n{2,}/g, "\n");
}
