/** Names and places of the system that ToolHub runs on. */

export const WINDOWS: boolean = Deno.build.os === "windows";

/** Joins names with the separator of the system. */
export function join(...parts: string[]): string {
  const separator = WINDOWS ? "\\" : "/";
  return parts.map((part, at) =>
    at < parts.length - 1 && part.endsWith(separator) ? part.slice(0, -1) : part
  ).join(separator);
}

/** The components of a canonical path below a canonical root; null when it lies outside. */
export function componentsBelow(path: string, root: string): string[] | null {
  const fold = (text: string) => WINDOWS ? text.toLowerCase() : text;
  const own = componentsOf(path), base = componentsOf(root);
  if (own.length < base.length) return null;
  for (const [at, part] of base.entries()) if (fold(own[at]!) !== fold(part)) return null;
  return own.slice(base.length);
}

function componentsOf(path: string): string[] {
  return path.split(WINDOWS ? /[\\/]+/ : /\/+/).filter((part) => part !== "");
}
