import { asObject, parseObject, textMember } from "../json.ts";
import { GEMINI_PROJECTS_BYTES, GEMINI_ROOT_BYTES } from "../limits.ts";
import { below } from "../locations.ts";
import type { Store, StoreContext } from "../store.ts";

/** Only times and places: the chats themselves are never read. */
export const geminiCli: Store = {
  agent: "gemini-cli",
  source: "session",
  async read(context) {
    const { override, places } = context;
    const base = override("GEMINI_CLI_HOME") ?? places.home;
    const folders = [below(base, ".gemini"), below(places.home, ".cache/.gemini")];
    for (const folder of new Set(folders)) {
      if (folder !== null) await readState(context, folder);
    }
  },
};

async function readState(context: StoreContext, folder: string): Promise<void> {
  const { files, look, note } = context;
  const found = new Set<string>();
  let projects: Map<string, string> | null = null;
  for (const slug of files.folders(`${folder}/tmp`)) {
    await look.breathe();
    const place = `${folder}/tmp/${slug}`;
    const at = await files.newest(`${place}/chats`, 0, (name) => name.endsWith(".jsonl"));
    if (!look.isFresh(at)) continue;
    const marked = files.text(`${place}/.project_root`, GEMINI_ROOT_BYTES)?.replace(/[\r\n]+$/, "");
    projects ??= registered(files.text(`${folder}/projects.json`, GEMINI_PROJECTS_BYTES));
    const root = marked ? look.roots.find(marked) : look.roots.find(projects.get(slug) ?? "");
    if (root === null) continue;
    found.add(root);
    note({ root, lastActivityMs: at, session: place });
  }
  // Older versions name the folder after the project's hash.
  for (const root of look.roots.all) {
    if (found.has(root)) continue;
    const place = `${folder}/tmp/${await sha256(root)}`;
    const at = await files.newest(place, 2);
    if (look.isFresh(at)) note({ root, lastActivityMs: at, session: place });
    await look.breathe();
  }
}

/** Slug to path. */
function registered(text: string | null): Map<string, string> {
  const whole = text === null ? null : parseObject(text);
  const table = asObject(whole?.["projects"]) ?? whole ?? {};
  const bySlug = new Map<string, string>();
  for (const path of Object.keys(table)) {
    const slug = textMember(table, path);
    if (slug !== null) bySlug.set(slug, path);
  }
  return bySlug;
}

async function sha256(text: string): Promise<string> {
  const bytes = new TextEncoder().encode(text);
  const hash = new Uint8Array(await crypto.subtle.digest("SHA-256", bytes));
  return Array.from(hash, (byte) => byte.toString(16).padStart(2, "0")).join("");
}
