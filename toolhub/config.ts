/**
 * The settings and the two folders ToolHub works with, read once and in a fixed order: workspace,
 * value of the state root, where it will lie, then folders are made, the binding checked.
 */

import { escapeText, StartError } from "./errors.ts";
import { componentsBelow, join, WINDOWS } from "./platform.ts";
import { hex } from "./random.ts";

/** Reads one variable; undefined when it is unset. */
export type ReadVariable = (name: string) => string | undefined;

/** Canonical paths, fixed for the life of the process. */
export interface HubFolders {
  readonly workspace: string;
  readonly state: string;
}

export const WORKSPACE_VARIABLE = "TOOLHUB_WORKSPACE_ROOT";
export const STATE_VARIABLE = "TOOLHUB_STATE_ROOT";
export const TTL_VARIABLE = "TOOLHUB_APPROVAL_TTL_SECONDS";
/** `1` lets files with several names be read (package managers that link files from a store). */
export const HARD_LINKS_VARIABLE = "TOOLHUB_ALLOW_HARD_LINKS";

const DEFAULT_TTL_SECONDS = 300;
const MAX_TTL_SECONDS = 10 * 365 * 86_400;

/**
 * The canonical workspace.
 *
 * @throws {StartError} unset, blank, relative, missing, or not a directory
 */
export function workspaceRoot(read: ReadVariable): string {
  const value = read(WORKSPACE_VARIABLE);
  if (value === undefined) {
    throw new StartError(
      `${WORKSPACE_VARIABLE} is required: set it to the absolute path of the folder to serve`,
    );
  }
  const invalid = `Invalid ${WORKSPACE_VARIABLE}`;
  if (value.trim() === "") throw new StartError(`${invalid}: the value is empty`);
  const path = expandHome(value, read);
  if (!isAbsolute(path)) throw new StartError(`${invalid}: ${quoted(value)} must be absolute`);
  let real: string;
  try {
    real = Deno.realPathSync(path);
  } catch {
    throw new StartError(`${invalid}: ${quoted(value)} does not exist or cannot be resolved`);
  }
  if (!Deno.statSync(real).isDirectory) {
    throw new StartError(`${invalid}: ${quoted(real)} is not a directory`);
  }
  return real;
}

/**
 * Where the state of a workspace lies, before anything is made there.
 *
 * @returns its path and the folders of ours on the way to it, outermost first
 * @throws {StartError}
 */
export async function plannedState(
  read: ReadVariable,
  workspace: string,
): Promise<{ path: string; ours: string[] }> {
  const value = read(STATE_VARIABLE);
  const invalid = `Invalid ${STATE_VARIABLE}`;
  let path: string, ours: string[];
  if (value === undefined) {
    const base = defaultBase(read);
    if (base === null) {
      throw new StartError(
        `${invalid}: no home folder is known, set ${STATE_VARIABLE} to an absolute path`,
      );
    }
    const all = join(base, "workspaces");
    path = join(all, await namespaceId(workspace));
    ours = [base, all, path];
  } else {
    if (value.trim() === "") throw new StartError(`${invalid}: the value is empty`);
    path = expandHome(value, read);
    if (!isAbsolute(path)) throw new StartError(`${invalid}: ${quoted(value)} must be absolute`);
    ours = [path];
  }
  const planned = resolvePlanned(path);
  if (planned === null) throw new StartError(`${invalid}: ${quoted(path)} cannot be resolved`);
  refuseOverlap(planned, workspace);
  return { path, ours };
}

/** The file tools must not reach the state; a state that holds the workspace is refused as well. */
export function refuseOverlap(state: string, workspace: string): void {
  if (componentsBelow(state, workspace) !== null) {
    throw new StartError(
      `${STATE_VARIABLE} must be outside the workspace: ${quoted(state)} lies in ${
        quoted(workspace)
      }`,
    );
  }
  if (componentsBelow(workspace, state) !== null) {
    throw new StartError(
      `${STATE_VARIABLE} must be outside the workspace and must not contain it: ${quoted(state)}`,
    );
  }
}

/** Seconds a request lives; read anew for each request. Negative values mean born expired. */
export function approvalTtlSeconds(read: ReadVariable): number {
  const value = read(TTL_VARIABLE)?.trim() ?? "";
  if (!/^[+-]?\d{1,15}$/.test(value)) return DEFAULT_TTL_SECONDS;
  return Math.min(Math.max(0, Number(value)), MAX_TTL_SECONDS);
}

/** The name of a workspace's state: SHA-256 of its canonical path in UTF-8, hexadecimal. */
export async function namespaceId(workspace: string, windows = WINDOWS): Promise<string> {
  const text = windows ? workspace.toLowerCase().replaceAll("/", "\\") : workspace;
  const bytes = new TextEncoder().encode(text) as BufferSource;
  return hex(new Uint8Array(await crypto.subtle.digest("SHA-256", bytes)));
}

/** The folder that holds the state of all workspaces; null when no home is known. */
export function defaultBase(read: ReadVariable, os: string = Deno.build.os): string | null {
  const home = read("HOME");
  if (os === "windows") {
    const local = read("LOCALAPPDATA");
    return local ? `${local}\\mcp-toolhub` : null;
  }
  const xdg = read("XDG_STATE_HOME")?.trim();
  if (xdg?.startsWith("/")) return `${xdg}/mcp-toolhub`;
  if (!home?.startsWith("/")) return null;
  return os === "darwin"
    ? `${home}/Library/Application Support/mcp-toolhub`
    : `${home}/.local/state/mcp-toolhub`;
}

/** A path for a line on standard error: quoted, ASCII only, bounded. */
export function quoted(path: string): string {
  return escapeText(JSON.stringify(path.length > 1_000 ? path.slice(0, 1_000) + "…" : path));
}

function expandHome(path: string, read: ReadVariable): string {
  if (path !== "~" && !path.startsWith("~/") && !(WINDOWS && path.startsWith("~\\"))) return path;
  const home = read(WINDOWS ? "USERPROFILE" : "HOME");
  return home ? home + path.slice(1) : path;
}

function isAbsolute(path: string): boolean {
  return WINDOWS ? /^(?:[A-Za-z]:[\\/]|\\\\[^\\])/.test(path) : path.startsWith("/");
}

/** Canonical form of a path that may not exist yet: its deepest existing part resolved. */
function resolvePlanned(path: string): string | null {
  const tail: string[] = [];
  for (let at = path;;) {
    try {
      return join(Deno.realPathSync(at), ...tail);
    } catch (error) {
      if (!(error instanceof Deno.errors.NotFound)) return null;
    }
    try {
      // A name that exists but does not resolve is a dangling link or a loop, unless another start
      // has just made it.
      if (Deno.lstatSync(at).isSymlink) return null;
      continue;
    } catch { /* really missing */ }
    const cut = Math.max(at.lastIndexOf("/"), WINDOWS ? at.lastIndexOf("\\") : -1);
    if (cut < 0 || (cut === 0 && at === "/")) return null;
    const name = at.slice(cut + 1);
    if (name === "..") return null;
    if (name !== "" && name !== ".") tail.unshift(name);
    at = cut === 0 ? "/" : at.slice(0, cut);
  }
}
