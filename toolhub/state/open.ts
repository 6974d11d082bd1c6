/** Opens workspace and state: everything that has to hold before the first request is served. */

import {
  type HubFolders,
  plannedState,
  quoted,
  type ReadVariable,
  refuseOverlap,
  STATE_VARIABLE,
  workspaceRoot,
} from "../config.ts";
import { StartError } from "../errors.ts";
import { WINDOWS } from "../platform.ts";
import { bindWorkspace } from "./binding.ts";

/** Names that may be in a state folder. The ledger has segments and checkpoints beside it. */
const KNOWN = new RegExp(
  "^(?:(?:workspace-binding\\.json|approvals\\.json|audit\\.jsonl|audit-ledger\\.jsonl)(?:\\.lock)?" +
    "|\\.(?:workspace-binding\\.json|approvals|audit)-[0-9a-z]+\\.tmp" +
    "|audit-ledger\\.jsonl\\.(?:segment-|checkpoint-|tmp-)[0-9a-z.-]+)$",
);

/**
 * Checks the settings, makes and tightens the state folder, and binds it.
 *
 * @throws {StartError} one line that says what to change
 */
export async function openFolders(read: ReadVariable): Promise<HubFolders> {
  const workspace = workspaceRoot(read);
  const { path, ours } = await plannedState(read, workspace);
  const made: string[] = [];
  try {
    for (const folder of ours) makeFolder(folder, made);
    const state = resolveState(path);
    refuseOverlap(state, workspace);
    inspect(state);
    if (!WINDOWS) { for (const folder of ours) tighten(folder); }
    await bindWorkspace(state, workspace);
    return { workspace, state };
  } catch (error) {
    for (const folder of made.reverse()) removeEmpty(folder);
    throw error;
  }
}

/** Makes a folder and what is missing above it; what is above is the user's, with ordinary modes. */
function makeFolder(path: string, made: string[]): void {
  if (exists(path)) return;
  const cut = path.lastIndexOf(WINDOWS ? "\\" : "/");
  if (cut > 0) {
    try {
      Deno.mkdirSync(path.slice(0, cut), { recursive: true, mode: 0o700 });
    } catch { /* the next step tells */ }
  }
  try {
    Deno.mkdirSync(path, { mode: 0o700 });
    made.push(path);
  } catch (error) {
    if (error instanceof Deno.errors.AlreadyExists) return;
    throw new StartError(`Invalid ${STATE_VARIABLE}: ${quoted(path)} cannot be created`);
  }
}

function resolveState(path: string): string {
  try {
    const state = Deno.realPathSync(path);
    if (Deno.statSync(state).isDirectory) return state;
  } catch {
    throw new StartError(`Invalid ${STATE_VARIABLE}: ${quoted(path)} cannot be resolved`);
  }
  throw new StartError(`Invalid ${STATE_VARIABLE}: ${quoted(path)} is not a directory`);
}

/** A folder that holds other things is somebody else's: nothing is tightened or written there. */
function inspect(state: string): void {
  for (const entry of Deno.readDirSync(state)) {
    if (!KNOWN.test(entry.name)) {
      throw new StartError(
        `Invalid ${STATE_VARIABLE}: it holds ${quoted(entry.name)}, which is not ToolHub's`,
      );
    }
    // The binding's own check says more about a link in its place.
    if (!entry.isFile && entry.name !== "workspace-binding.json") {
      throw new StartError(
        `Invalid ${STATE_VARIABLE}: ${quoted(entry.name)} in it is not a regular file`,
      );
    }
  }
}

function tighten(folder: string): void {
  try {
    const mode = Deno.statSync(folder).mode ?? 0;
    if ((mode & 0o777) !== 0o700) Deno.chmodSync(folder, 0o700);
  } catch {
    throw new StartError(
      `Invalid ${STATE_VARIABLE}: ${quoted(folder)} cannot be made private (mode 0700)`,
    );
  }
}

function exists(path: string): boolean {
  try {
    Deno.lstatSync(path);
    return true;
  } catch {
    return false;
  }
}

function removeEmpty(folder: string): void {
  try {
    Deno.removeSync(folder);
  } catch { /* not empty, or gone */ }
}
