/** From a caller's path to a canonical place inside the workspace (links that stay inside are followed). */

import { HubError, shown } from "../errors.ts";
import { componentsBelow, join } from "../platform.ts";
import { pathComponents } from "./path.ts";

/**
 * Resolves a path by the read rule.
 *
 * @returns canonical components below the workspace; null when nothing is there
 * @throws {HubError} the path leads outside; `ValueError`
 */
export function resolveRead(root: string, path: string): string[] | null {
  const parts = pathComponents(path, "read");
  let known = root;
  try {
    known = Deno.realPathSync(join(root, ...parts));
  } catch (error) {
    if (!isMissing(error)) throw readable(error, path);
    refuseMissingOutside(root, parts, path);
    return null;
  }
  const below = componentsBelow(known, root);
  if (below === null) throw escapes(path);
  return below;
}

/** Workspace-relative form of canonical components. */
export function relative(parts: readonly string[]): string {
  return parts.length === 0 ? "." : parts.join("/");
}

/**
 * A missing path must not tell what exists outside: the first part that is there and leads out, or
 * that is a link to nowhere, refuses it.
 */
function refuseMissingOutside(root: string, parts: readonly string[], path: string): void {
  for (let count = 1; count <= parts.length; count++) {
    const at = join(root, ...parts.slice(0, count));
    let real: string;
    try {
      real = Deno.realPathSync(at);
    } catch {
      try {
        if (Deno.lstatSync(at).isSymlink) throw escapes(path);
      } catch (error) {
        if (error instanceof HubError) throw error;
      }
      return;
    }
    if (componentsBelow(real, root) === null) throw escapes(path);
  }
}

function escapes(path: string): HubError {
  return new HubError(
    "ValueError",
    `Path ${shown(path)} escapes workspace: it leads outside through a link, or nowhere`,
  );
}

/** Nothing has that name, or a part on the way is a file. */
export function isMissing(error: unknown): boolean {
  return error instanceof Deno.errors.NotFound || error instanceof Deno.errors.NotADirectory ||
    (error as { code?: string } | null)?.code === "ENOTDIR";
}

/** A system's error without the host path in it. */
export function readable(error: unknown, path: string): HubError {
  if (error instanceof HubError) return error;
  const name = error instanceof Error ? error.name : "Error";
  const reason = name === "PermissionDenied"
    ? "Permission denied"
    : name === "FilesystemLoop" || (error as { code?: string } | null)?.code === "ELOOP"
    ? "Path escapes workspace: too many links"
    : "The system refused";
  return new HubError("OSError", `${reason}: ${shown(path)}`);
}
