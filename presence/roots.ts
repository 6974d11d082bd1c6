import { isAbsolutePath, isInside } from "../common/allowed_roots.ts";
import { MAX_PATH_CHARS, MAX_ROOTS } from "./limits.ts";

const WINDOWS = Deno.build.os === "windows";
/** Longest path text of another program that is looked at. */
const MAX_FOLDER_CHARS = 32_768;

/**
 * The repositories (and work trees) that evidence is looked for in. The longest root that contains a
 * path wins, so an inner one is not taken for the one around it (`presence.md` 2.2).
 */
export class Roots {
  /** Canonical, longest first. */
  readonly all: readonly string[];
  readonly #resolved = new Map<string, string>();

  constructor(paths: readonly string[]) {
    const real = new Set<string>();
    for (const path of paths.slice(0, MAX_ROOTS)) {
      if (!isAbsolutePath(path, WINDOWS)) continue;
      try {
        real.add(Deno.realPathSync(path));
      } catch { /* what does not exist contains nothing */ }
    }
    this.all = [...real].sort((a, b) => b.length - a.length || (a < b ? -1 : 1));
  }

  /** The root that an absolute path lies in, whether it exists or not; null when in none. */
  find(path: string): string | null {
    if (!usable(path)) return null;
    const real = this.resolve(path);
    return this.all.find((root) => isInside(real, [root])) ?? null;
  }

  /** As {@link find} for what a store calls a folder: a plain path or a `file://` URI. */
  findFolder(text: unknown): string | null {
    const path = typeof text === "string" ? folderPath(text) : null;
    return path === null ? null : this.find(path);
  }

  /** A file of a root as answers name it: relative, with `/`. Null outside, or the root itself. */
  relative(root: string, file: string): string | null {
    if (!usable(file)) return null;
    const real = this.resolve(file);
    if (!isInside(real, [root])) return null;
    const rest = real.slice(root.length).replaceAll("\\", "/").replace(/^\/+/, "");
    // A name that is a text of its own has no business in an answer.
    // deno-lint-ignore no-control-regex
    if (rest === "" || rest.length > MAX_PATH_CHARS || /[\u0000-\u001f\u007f]/.test(rest)) {
      return null;
    }
    return rest.toWellFormed();
  }

  /** The nearest existing folder above made canonical, the missing names put back behind it. */
  resolve(path: string): string {
    let real = this.#resolved.get(path);
    if (real === undefined) {
      real = resolveMissing(path);
      if (this.#resolved.size > 20_000) this.#resolved.clear();
      this.#resolved.set(path, real);
    }
    return real;
  }
}

function usable(path: string): boolean {
  return path.length <= MAX_FOLDER_CHARS && !path.includes("\0") && isAbsolutePath(path, WINDOWS);
}

function resolveMissing(path: string): string {
  const missing: string[] = [];
  for (let at = path;;) {
    try {
      const real = Deno.realPathSync(at);
      if (missing.length === 0) return real;
      const separator = WINDOWS ? "\\" : "/";
      return real.replace(/[/\\]+$/, "") + separator + missing.reverse().join(separator);
    } catch { /* one step up */ }
    const trimmed = at.replace(WINDOWS ? /[/\\]+$/ : /\/+$/, "");
    const cut = Math.max(trimmed.lastIndexOf("/"), WINDOWS ? trimmed.lastIndexOf("\\") : -1);
    const name = trimmed.slice(cut + 1);
    if (cut < 0 || name === "" || name === ".." || missing.length > 4_096) return path;
    if (name !== ".") missing.push(name);
    at = trimmed.slice(0, cut + 1);
  }
}

/** A folder as stores write it: `file://` URIs decoded, other schemes (remote folders) refused. */
export function folderPath(text: string): string | null {
  if (text.length > MAX_FOLDER_CHARS) return null;
  if (!text.includes("://")) return text;
  return text.startsWith("file://") ? fileUriPath(text) : null;
}

const decoder = new TextDecoder("utf-8", { fatal: true, ignoreBOM: true });

/** The path of a `file://` URI; an invalid `%` stays as it is. Null when the bytes are not UTF-8. */
export function fileUriPath(uri: string): string | null {
  const bytes = new TextEncoder().encode(uri.slice("file://".length));
  const out: number[] = [];
  for (let i = 0; i < bytes.length; i++) {
    const pair = bytes[i] === 0x25 && i + 2 < bytes.length
      ? String.fromCharCode(bytes[i + 1]!, bytes[i + 2]!)
      : "";
    if (/^[0-9A-Fa-f]{2}$/.test(pair)) {
      out.push(parseInt(pair, 16));
      i += 2;
    } else out.push(bytes[i]!);
  }
  let path: string;
  try {
    path = decoder.decode(new Uint8Array(out));
  } catch {
    return null;
  }
  return path.length > 3 && /^\/.:/.test(path) ? path.slice(1) : path;
}
