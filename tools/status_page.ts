import { decodeCursor, encodeCursor } from "../common/cursor.ts";
import { CodedError } from "../common/errors.ts";
import { encodeText, fromBase64 } from "../common/bytes.ts";
import type { Repository } from "../git/repository.ts";
import type { Warning } from "./open.ts";
import type { EntryKey, StatusEntry } from "../git/status.ts";

/** Cursors of the tools that page through status entries: the last entry given. */
export function encodeEntryCursor(tool: string, entry: StatusEntry): string {
  const section = entry.status === "??" ? 2 : entry.conflict ? 1 : 0;
  return entry.pathBytes
    ? encodeCursor(tool, [section, entry.pathBytes, 1])
    : encodeCursor(tool, [section, entry.path]);
}

/** Throws `CodedError` -32602 for a cursor that is not of this tool. */
export function decodeEntryCursor(tool: string, cursor: string | undefined): EntryKey | undefined {
  if (cursor === undefined || cursor === "") return undefined;
  const [section, path, raw] = decodeCursor(tool, cursor);
  if ((section !== 0 && section !== 1 && section !== 2) || typeof path !== "string") {
    return decodeCursor(tool, "") as never;
  }
  return { section, path: raw === 1 ? fromBase64(path) : encodeText(path) };
}

/** Said when dirt inside submodules was not looked at. */
export function submoduleWarning(read: boolean): Warning[] {
  return read ? [] : [{
    code: "submodules_unreadable",
    message: "changes inside submodules were not looked at",
  }];
}

/** Throws 10010's sibling for tools that need a work tree, with what works instead. */
export function requireWorkTree(repo: Repository): string {
  const top = repo.facts.topLevel;
  if (top !== null) return top;
  throw new CodedError(10010, "Local git fallback failed", {
    command: ["git", "-C", "<repoPath>", "status"],
    details: "this is a bare repository: it has no work tree",
    kind: "bare_repository",
    hint:
      "Ask repo.brief, repo.refs, repo.history or worktree.list here, or name one of its work trees.",
  });
}
