/**
 * `workspace-binding.json`: ties a state folder to one workspace, for ever. Made on the first start,
 * checked on every one.
 */

import { parseStrictJsonBytes } from "../../audit/strict_json.ts";
import { syncFolder } from "../../common/private_file.ts";
import { escapeText, StartError } from "../errors.ts";
import { join, WINDOWS } from "../platform.ts";
import { randomHex } from "../random.ts";
import { withLock } from "./lock.ts";
import { replaceFile } from "./replace.ts";

export const BINDING_NAME = "workspace-binding.json";

const MAX_BYTES = 262_144;
const RETRY_MS = 10;
const RETRY_FOR_MS = 500;
const INVALID = "Invalid workspace binding";

/**
 * Binds the state folder to the workspace, or checks that it is bound to it.
 *
 * @param state canonical; @param workspace canonical
 * @throws {StartError} bound to another workspace, damaged, or not writable
 */
export async function bindWorkspace(state: string, workspace: string): Promise<void> {
  const path = join(state, BINDING_NAME);
  if (lstat(path) === null) await create(state, path, workspace);
  const bound = readBound(await readText(path));
  let real: string;
  try {
    real = Deno.realPathSync(bound);
    if (!Deno.statSync(real).isDirectory) throw new Error("not a directory");
  } catch {
    throw new StartError(
      `${INVALID}: the workspace that this state belongs to is not there any more; use another TOOLHUB_STATE_ROOT`,
    );
  }
  const fold = (text: string) => WINDOWS ? text.toLowerCase().replaceAll("/", "\\") : text;
  if (fold(real) !== fold(workspace)) {
    throw new StartError(
      `${INVALID}: this state folder belongs to a different ToolHub workspace; use another TOOLHUB_STATE_ROOT`,
    );
  }
}

/** The bytes of the file: compact, keys in order, ASCII, one line. */
export function bindingText(workspace: string): string {
  const path = escapeText(JSON.stringify(workspace));
  return `{"canonical_workspace":${path},"schema_version":1}\n`;
}

async function create(state: string, path: string, workspace: string): Promise<void> {
  try {
    await withLock(`${path}.lock`, () => {
      if (lstat(path) !== null) return;
      replaceFile({
        folder: state,
        target: path,
        temporary: join(state, `.${BINDING_NAME}-${randomHex(8)}.tmp`),
        bytes: new TextEncoder().encode(bindingText(workspace)),
        mode: 0o600,
        publish: "new",
      });
    });
  } catch (error) {
    if (error instanceof Deno.errors.AlreadyExists) return;
    const reason = error instanceof Error ? error.name : "unknown";
    throw new StartError(`${INVALID}: it cannot be created (${reason})`);
  }
  syncFolder(state);
}

/** Reads the file; one that another program is still writing gets half a second. */
async function readText(path: string): Promise<unknown> {
  const end = performance.now() + RETRY_FOR_MS;
  for (;;) {
    const info = lstat(path);
    if (info?.isSymlink) throw new StartError(`${INVALID}: the file must not be a symlink`);
    if (info !== null && !info.isFile) throw new StartError(`${INVALID}: not a regular file`);
    if (info !== null && info.size > MAX_BYTES) throw new StartError(`${INVALID}: too large`);
    try {
      const bytes = Deno.readFileSync(path);
      if (!WINDOWS && ((info?.mode ?? 0) & 0o777) !== 0o600) Deno.chmodSync(path, 0o600);
      return parseStrictJsonBytes(bytes);
    } catch (error) {
      const denied = error instanceof Deno.errors.PermissionDenied;
      if (denied || performance.now() > end) {
        throw new StartError(`${INVALID}: ${denied ? "it cannot be read" : "it is not JSON"}`);
      }
    }
    await new Promise((resolve) => setTimeout(resolve, RETRY_MS));
  }
}

function readBound(value: unknown): string {
  if (typeof value !== "object" || value === null || Array.isArray(value)) {
    throw new StartError(`${INVALID}: not a JSON object`);
  }
  const { schema_version: version, canonical_workspace: workspace } = value as Record<
    string,
    unknown
  >;
  if (version !== 1) throw new StartError(`${INVALID}: its schema_version is not 1`);
  if (typeof workspace !== "string" || workspace.trim() === "") {
    throw new StartError(`${INVALID}: canonical_workspace is missing or not a path`);
  }
  if (!(WINDOWS ? /^(?:[A-Za-z]:[\\/]|\\\\)/.test(workspace) : workspace.startsWith("/"))) {
    throw new StartError(`${INVALID}: canonical_workspace is not absolute`);
  }
  return workspace;
}

function lstat(path: string): Deno.FileInfo | null {
  try {
    return Deno.lstatSync(path);
  } catch (error) {
    if (error instanceof Deno.errors.NotFound) return null;
    throw new StartError(`${INVALID}: it cannot be looked at`);
  }
}
