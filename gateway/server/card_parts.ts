import { NulRecords } from "../../common/bytes.ts";
import { streamGit } from "../../git/command.ts";
import { openRepository, type Repository } from "../../git/repository.ts";
import { type InspectOptions, inspectProposal } from "./cards.ts";
import { checkInside } from "./executor/shared/safe_remove.ts";
import type { ProposalRecord } from "./journal.ts";
import { Refusal } from "./refusal.ts";

/** What a person may ask for beside the card itself. Nothing here writes. */

/** Most that is read of a file that would be lost. Bytes. */
const MAX_FILE = 256 * 1_024;
/** Most of a diff that is given out. Bytes. */
const MAX_DIFF = 16 * 1_024 * 1_024;
/** Names that are told of each kind that a restore point leaves out. */
const FIRST_NAMES = 5;
/** More ignored entries than this are not counted further. */
const MAX_IGNORED = 100_000;

/** Content of a file that would be lost. */
export interface LostFile {
  /** Null when it is no text. */
  readonly text: string | null;
  readonly note: string | null;
  readonly truncated: boolean;
}

/**
 * Reads an untracked file that the proposal would remove; no other file can be asked for, and no link
 * leads elsewhere. Throws a 404 {@link Refusal}.
 */
export async function lostFile(
  record: ProposalRecord,
  path: string,
  options: InspectOptions,
): Promise<LostFile> {
  const refuse = () =>
    new Refusal(
      404,
      "no_such_file",
      "the card lists no untracked file of this name",
      "Show the card again.",
    );
  const { repo, inspection } = await inspectProposal(record, {}, options);
  const top = repo.facts.topLevel;
  const listed = inspection.effect.files.some((file) => file.path === path && file.status === "?");
  if (top === null || !listed) throw refuse();
  try {
    checkInside(top, path);
    const full = `${top}/${path}`;
    const info = await Deno.lstat(full);
    if (info.isSymlink) {
      const target = await Deno.readLink(full);
      return { text: null, note: `a symbolic link to ${target}`, truncated: false };
    }
    if (!info.isFile) return { text: null, note: "not a plain file", truncated: false };
    return readText(await readStart(full), info.size);
  } catch (error) {
    if (error instanceof Refusal) throw error;
    throw refuse();
  }
}

async function readStart(path: string): Promise<Uint8Array> {
  using file = await Deno.open(path);
  const bytes = new Uint8Array(MAX_FILE);
  let size = 0;
  while (size < MAX_FILE) {
    const read = await file.read(bytes.subarray(size));
    if (read === null) break;
    size += read;
  }
  return bytes.subarray(0, size);
}

function readText(bytes: Uint8Array, size: number): LostFile {
  const truncated = size > bytes.length;
  if (bytes.includes(0)) {
    return { text: null, note: `a binary file of ${size} bytes`, truncated: false };
  }
  try {
    // The end of what was read may cut a character.
    const text = new TextDecoder("utf-8", { fatal: true, ignoreBOM: true })
      .decode(bytes, { stream: truncated });
    return { text, note: null, truncated };
  } catch {
    return { text: null, note: `${size} bytes that are not UTF-8`, truncated: false };
  }
}

/**
 * The diff of a card with a far higher ceiling than the card's own, as plain text. The header
 * `fluxgit-truncated` says `true` when even that was not enough.
 */
export async function wholeDiff(
  record: ProposalRecord,
  options: InspectOptions,
): Promise<Response> {
  const { action } = record;
  let diff = "", truncated = false;
  if (action.operationType === "patch") diff = action.patchContent;
  else {
    const raised = { ...options, diffBytes: MAX_DIFF };
    const { effect } = (await inspectProposal(record, record.overrides, raised)).inspection;
    diff = effect.diff ?? "";
    truncated = effect.diffTruncated;
  }
  return new Response(diff, {
    headers: {
      "content-type": "text/plain; charset=utf-8",
      "cache-control": "no-store",
      "x-content-type-options": "nosniff",
      "cross-origin-resource-policy": "same-origin",
      "fluxgit-truncated": String(truncated),
    },
  });
}

interface Named {
  count: number;
  readonly first: string[];
}

/** What a restore point made now would bring back, and what it would leave out. */
export async function coverage(
  record: ProposalRecord,
): Promise<{ covered: string[]; notCovered: Record<string, Named> }> {
  const repo = await openRepository(record.repoPath);
  if (repo.facts.topLevel === null) {
    return { covered: ["HEAD and every ref"], notCovered: {} };
  }
  const [ignored, submodules, nested] = await Promise.all([
    names(repo, ["ls-files", "-o", "-i", "-z", "--exclude-standard", "--directory"]),
    names(repo, ["ls-files", "-s", "-z"], (line) => {
      const [mode, rest] = [line.slice(0, 6), line.slice(line.indexOf("\t") + 1)];
      return mode === "160000" ? rest : null;
    }),
    names(
      repo,
      ["ls-files", "-o", "-z", "--exclude-standard"],
      (path) => path.endsWith("/") ? path : null,
    ),
  ]);
  const notCovered: Record<string, Named> = {};
  if (ignored.count > 0) notCovered["ignored"] = ignored;
  if (submodules.count > 0) notCovered["submodules"] = submodules;
  if (nested.count > 0) notCovered["nestedRepositories"] = nested;
  return {
    covered: ["HEAD", "every ref", "what is staged", "your files", "untracked files"],
    notCovered,
  };
}

async function names(
  repo: Repository,
  args: string[],
  pick: (record: string) => string | null = (record) => record,
): Promise<Named> {
  const found: Named = { count: 0, first: [] };
  const decoder = new TextDecoder();
  const records = new NulRecords();
  await streamGit(
    repo,
    args,
    { signal: repo.signal },
    (chunk) =>
      records.push(chunk, (bytes: Uint8Array) => {
        const name = pick(decoder.decode(bytes));
        if (name === null) return true;
        found.count++;
        if (found.first.length < FIRST_NAMES) found.first.push(name);
        return found.count < MAX_IGNORED;
      }),
  );
  return found;
}
