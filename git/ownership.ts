import { decodeText, latin1, NulRecords } from "../common/bytes.ts";
import {
  type Codeowners,
  matchFolderRule,
  matchRule,
  MAX_CODEOWNERS_BYTES,
  type OwnerRule,
  parseCodeowners,
} from "./codeowners.ts";
import { streamGit } from "./command.ts";
import { GitError } from "./errors.ts";
import type { LiteralPath } from "./pathspec.ts";
import type { Repository } from "./repository.ts";

/** Where GitHub looks, in this order; the first one counts. */
export const CODEOWNERS_FILES = [".github/CODEOWNERS", "CODEOWNERS", "docs/CODEOWNERS"] as const;

/** Rules found, or the file that could not be read and why. */
export type CodeownersFile =
  | { readonly source: string; readonly file: Codeowners }
  | { readonly source: string; readonly problem: string };

/**
 * Finds the CODEOWNERS file: on disk, or in HEAD where the work tree does not show it (bare, sparse).
 * A link is not followed, as on GitHub. Gives null when there is none.
 */
export async function findCodeowners(repo: Repository): Promise<CodeownersFile | null> {
  const top = repo.facts.topLevel;
  if (top !== null) {
    for (const source of CODEOWNERS_FILES) {
      const found = readOnDisk(top, source);
      if (found !== null) return found;
    }
    if (!repo.facts.config.bool("core.sparsecheckout", false)) return null;
  }
  return await readInHead(repo);
}

function readOnDisk(top: string, source: string): CodeownersFile | null {
  const path = `${top}/${source}`;
  try {
    const info = Deno.lstatSync(path);
    if (info.isDirectory) return null;
    if (!info.isFile || Deno.realPathSync(path) !== `${Deno.realPathSync(top)}/${source}`) {
      return { source, problem: "is not a regular file" };
    }
    if (info.size > MAX_CODEOWNERS_BYTES) return { source, problem: "is over 3 MB" };
    return parsed(source, Deno.readFileSync(path));
  } catch (error) {
    return error instanceof Deno.errors.NotFound || error instanceof Deno.errors.NotADirectory
      ? null
      : { source, problem: "cannot be read" };
  }
}

async function readInHead(repo: Repository): Promise<CodeownersFile | null> {
  const tree = await repo.run(["ls-tree", "-z", "HEAD", "--", ...CODEOWNERS_FILES], {
    okCodes: "any",
  });
  if (tree.code !== 0) return null;
  const blobs = new Map<string, string>();
  for (const entry of decodeText(tree.stdout).split("\0")) {
    const match = /^100\d{3} blob ([0-9a-f]+)\t(.*)$/s.exec(entry);
    if (match) blobs.set(match[2]!, match[1]!);
  }
  const source = CODEOWNERS_FILES.find((file) => blobs.has(file));
  if (source === undefined) return null;
  try {
    const blob = await repo.run(["cat-file", "blob", blobs.get(source)!], {
      maxBytes: MAX_CODEOWNERS_BYTES,
    });
    return parsed(source, blob.stdout);
  } catch (error) {
    if (!(error instanceof GitError) || error.kind === "cancelled") throw error;
    return {
      source,
      problem: error.kind === "output_limit" ? "is over 3 MB" : "is not in this partial clone",
    };
  }
}

function parsed(source: string, bytes: Uint8Array): CodeownersFile {
  const file = parseCodeowners(decodeText(bytes));
  return file ? { source, file } : { source, problem: "has too many rules" };
}

/** Owners that differ from those of the folder asked for. */
export interface OwnersBelow {
  readonly pattern: string | null;
  readonly owners: readonly string[];
  /** Tracked files that the pattern decides. */
  readonly files: number;
}

/** Who owns a path. */
export interface Ownership {
  /** The rule that decides; null when none matches. */
  readonly rule: OwnerRule | null;
  /** For a folder: rules that give files in it other owners, most files first. */
  readonly below: readonly OwnersBelow[];
  /** False when not every file was looked at. */
  readonly complete: boolean;
}

/** Rules times files looked at below a folder. */
const MAX_TESTS = 1_000_000;

/** Owners of a file, or of a folder and the tracked files in it; `path` null is the whole repository. */
export async function findOwners(
  repo: Repository,
  rules: readonly OwnerRule[],
  path: LiteralPath | null,
  folder: boolean,
): Promise<Ownership> {
  const parts = path === null ? [] : path.path.split("/");
  if (!folder) {
    return { rule: rules[matchRule(rules, parts)] ?? null, below: [], complete: true };
  }
  const own = rules[matchFolderRule(rules, parts)] ?? null;
  const files = new Map<number, number>();
  let left = Math.floor(MAX_TESTS / Math.max(1, rules.length));
  const complete = await listFiles(repo, path, (file) => {
    const at = matchRule(rules, file.split("/"));
    files.set(at, (files.get(at) ?? 0) + 1);
    return --left > 0;
  });
  const ownText = JSON.stringify(own?.owners ?? []);
  const below: OwnersBelow[] = [];
  for (const [at, count] of files) {
    const rule = rules[at];
    if (JSON.stringify(rule?.owners ?? []) === ownText) continue;
    below.push({ pattern: rule?.pattern ?? null, owners: rule?.owners ?? [], files: count });
  }
  below.sort((a, b) => b.files - a.files || (a.pattern ?? "").localeCompare(b.pattern ?? ""));
  return { rule: own, below, complete };
}

/** Hands tracked files at or below a path to `onFile`; gives false when that stopped it. */
export async function listFiles(
  repo: Repository,
  path: LiteralPath | null,
  onFile: (file: string) => boolean,
): Promise<boolean> {
  // A name that is not UTF-8 cannot stand on a command line: all are listed, and the others dropped.
  const limit = path === null || path.pathBytes !== undefined ? [] : [path.path];
  const args = repo.facts.topLevel === null
    ? ["ls-tree", "-r", "-z", "--name-only", "HEAD", "--", ...limit]
    : ["ls-files", "-z", "--", ...limit];
  const prefix = path?.pathBytes === undefined ? null : latin1(path.bytes) + "/";
  const records = new NulRecords();
  let last = "";
  const end = await streamGit(
    repo,
    args,
    { signal: repo.signal, okCodes: "any" },
    (chunk) =>
      records.push(chunk, (record) => {
        if (prefix !== null && !(latin1(record) + "/").startsWith(prefix)) return true;
        const name = decodeText(record);
        // Unmerged files come once a stage.
        if (name === last) return true;
        last = name;
        return onFile(name);
      }),
  );
  return !end.stopped;
}
