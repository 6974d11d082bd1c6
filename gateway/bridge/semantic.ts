import { isIntegerToken, printable, stringifyJson } from "../../common/json.ts";
import type { BridgeContext } from "./context.ts";
import { member } from "./foreign.ts";
import { type BridgeIo, exchange, NoAnswer, REAL_IO } from "./http.ts";
import type { HttpAnswer } from "./http_answer.ts";
import { isGood } from "./status_read.ts";

/** The semantic diff of a gateway that has an engine (`read-tools.md` 15, `operations.md` 11.9). */

/** As it goes on the wire; an empty ref stands for the index or the work tree. */
export interface SemanticRequest {
  readonly repoId: string;
  readonly repoPath: string;
  readonly baseRef: string;
  readonly headRef: string;
  /** At most {@link SEMANTIC_LIMITS}`.files`. */
  readonly paths: readonly string[];
}

/** One file of the answer, reduced to the members of the contract. */
export type SemanticFile =
  | {
    readonly path: string;
    readonly fallbackToText: false;
    readonly hunks: readonly { readonly header: string; readonly lines: readonly unknown[] }[];
    readonly linesTruncated: boolean;
  }
  | {
    readonly path: string;
    readonly fallbackToText: true;
    readonly hunks: readonly never[];
    readonly reason: string;
  };

export type SemanticAnswer =
  | {
    readonly files: readonly SemanticFile[];
    /** The gateway, or the limit of files here, left some out. */
    readonly truncated: boolean;
    /** Entries that were none. */
    readonly malformed: number;
    readonly reason?: never;
  }
  | { readonly files?: never; readonly reason: string };

/** `chars` counts the JSON text of all files; the largest page of `diff.text` has as much. */
export const SEMANTIC_LIMITS = {
  files: 25,
  lines: 1_500,
  chars: 1_048_576,
} as const;

const LINE_TYPES = new Set(["unchanged", "added", "deleted", "modified"]);
const MAX_HEADER = 1_000, MAX_REASON = 500, MAX_PATH = 32_768;

/**
 * Asks a gateway; any failure is a reason, one sentence. Throws only the signal's reason.
 *
 * @param address as `findGateway` gives it
 */
export async function askSemantic(
  address: string,
  request: SemanticRequest,
  context: BridgeContext,
  io: BridgeIo = REAL_IO,
): Promise<SemanticAnswer> {
  const no = (why: string) => ({
    reason: `The gateway at ${address} gave no semantic diff: ${why}.`,
  });
  let answer: HttpAnswer;
  try {
    answer = await exchange(
      address,
      { method: "POST", path: "/v1/mcp/diff/semantic", body: stringifyJson(request) },
      { ...io, limits: { ...io.limits, wholeMs: io.limits.semanticMs } },
      context.signal,
    );
  } catch (error) {
    if (error instanceof NoAnswer) return no(error.message);
    throw error;
  }
  const { status, body } = answer;
  if (status === 404 || status === 501) return no("it has no engine for one");
  if (!isGood(answer)) return no(`HTTP status ${status}`);
  if (!body.readable) return no(body.why);
  const files = member(body.value, "files");
  if (!Array.isArray(files)) return no("its answer has no list of files");
  return readFiles(files, member(body.value, "pathsTruncated") === true);
}

function readFiles(entries: readonly unknown[], truncated: boolean): SemanticAnswer {
  const files: SemanticFile[] = [];
  let malformed = 0, left: number = SEMANTIC_LIMITS.chars;
  for (const entry of entries.slice(0, SEMANTIC_LIMITS.files)) {
    const file = readFile(entry);
    if (file === null) {
      malformed++;
      continue;
    }
    const chars = JSON.stringify(file).length;
    if (chars <= left) {
      left -= chars;
      files.push(file);
    } else files.push(asText(file.path, "the answer would be too large with this file"));
  }
  return { files, truncated: truncated || entries.length > SEMANTIC_LIMITS.files, malformed };
}

function readFile(entry: unknown): SemanticFile | null {
  const path = member(entry, "path");
  if (typeof path !== "string" || path === "" || path.length > MAX_PATH) return null;
  const fallback = member(entry, "fallbackToText");
  if (fallback === true) {
    const reason = member(entry, "reason");
    return asText(
      path,
      typeof reason === "string" && reason.trim() !== ""
        ? printable(reason, MAX_REASON)
        : "the gateway gave no reason",
    );
  }
  const hunks = member(entry, "hunks");
  if (fallback !== false || !Array.isArray(hunks)) return asText(path, MALFORMED);
  const budget = { lines: SEMANTIC_LIMITS.lines, cut: false };
  const read = [];
  for (const hunk of hunks) {
    const one = readHunk(hunk, budget);
    if (one === null) return asText(path, MALFORMED);
    if (one.lines.length > 0 || budget.lines > 0) read.push(one);
  }
  return {
    path,
    fallbackToText: false,
    hunks: read,
    linesTruncated: budget.cut || member(entry, "linesTruncated") === true,
  };
}

const MALFORMED = "what the gateway said about this file is malformed";

function asText(path: string, reason: string): SemanticFile {
  return { path, fallbackToText: true, hunks: [], reason };
}

function readHunk(hunk: unknown, budget: { lines: number; cut: boolean }) {
  const header = member(hunk, "header");
  const lines = member(hunk, "lines");
  if (typeof header !== "string" || !Array.isArray(lines)) return null;
  const read = [];
  for (const line of lines) {
    if (budget.lines === 0) {
      budget.cut = true;
      break;
    }
    const one = readLine(line);
    if (one === null) return null;
    budget.lines--;
    read.push(one);
  }
  return { header: header.slice(0, MAX_HEADER).toWellFormed(), lines: read };
}

/** A line with the members of the contract; null when it is none. */
function readLine(line: unknown): Record<string, unknown> | null {
  const type = member(line, "type"), content = member(line, "content");
  if (typeof type !== "string" || !LINE_TYPES.has(type) || typeof content !== "string") return null;
  const read: Record<string, unknown> = { type };
  for (const name of ["oldLine", "newLine"]) {
    const value = member(line, name);
    if (isIntegerToken(value) && value >= 1 && Number.isSafeInteger(Number(value))) {
      read[name] = Number(value);
    }
  }
  read["content"] = content;
  const old = member(line, "oldContent");
  if (typeof old === "string") read["oldContent"] = old;
  for (const name of ["changedTokens", "oldChangedTokens"]) {
    const tokens = member(line, name);
    if (Array.isArray(tokens) && tokens.every((token) => typeof token === "string")) {
      read[name] = tokens;
    }
  }
  return read;
}
