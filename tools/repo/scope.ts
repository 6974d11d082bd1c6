import { latin1 } from "../../common/bytes.ts";
import { cuttableList, fitTokens } from "../../common/token_budget.ts";
import { scanIndex } from "../../git/index_scan.ts";
import { failedForObjects } from "../../git/errors.ts";
import {
  type CodeownersFile,
  findCodeowners,
  findOwners,
  listFiles,
  type Ownership,
} from "../../git/ownership.ts";
import { type LiteralPath, pathspecs } from "../../git/pathspec.ts";
import { type Churn, readChurn, readRecent, type ShortCommit } from "../../git/recent.ts";
import type { Repository } from "../../git/repository.ts";
import type { StatusEntry } from "../../git/status.ts";
import { markNested, streamWorkTree } from "../../git/work_tree.ts";
import { defineTool, READ_HINTS } from "../../registry/define.ts";
import { filterWarning, openForTool, type Warning, warningsMember } from "../open.ts";
import { readPaths } from "../path_argument.ts";
import { count, cut, maxTokens, nullableCount, nullableString, warnings } from "../shapes.ts";
import { submoduleWarning } from "../status_page.ts";
import { CodedError } from "../../common/errors.ts";

const MAX_ENTRIES = 20;
const MAX_BELOW = 10;
const MAX_OWNERS = 20;
const MAX_PATTERN = 500;
const MATCHING = "github (last match wins)";

/** repo.scope: `read-tools.md` 2 with `additions.md` 1 and the rules of `git-inputs.md` 79 and 80. */
export default defineTool({
  name: "repo.scope",
  title: "Subtree briefing",
  description:
    "One directory or file of a large repository: uncommitted changes, recent commits, churn, and code owners by GitHub's rules (for a directory also where files below have other owners).",
  family: "repo",
  scope: "repository",
  tier: "free",
  sources: ["local-git"],
  risk: "none",
  annotations: READ_HINTS,
  input: (z) => ({
    path: z.string().min(1).max(32_768),
    pathBytes: z.string().max(65_536).optional(),
    recentCommits: z.int().min(1).max(20).default(10),
    churnDays: z.int().min(1).max(365).default(90),
    maxTokens: maxTokens(z),
  }),
  output: (z) =>
    z.object({
      scope: z.string(),
      scopeBytes: z.string().optional(),
      kind: z.enum(["directory", "file", "submodule", "missing"]),
      workingTree: z.object({
        changed: count(z),
        entries: z.array(z.object({ status: z.string(), path: z.string() })),
        truncated: z.boolean(),
      }).nullable(),
      recentCommits: z.array(z.object({
        sha: z.string(),
        subject: z.string(),
        subjectTruncated: z.literal(true).optional(),
      })),
      churn: z.object({ days: z.int(), commits: nullableCount(z), authors: nullableCount(z) }),
      owners: z.object({
        source: z.string(),
        matchedPattern: nullableString(z),
        owners: z.array(z.string()),
        matching: z.literal(MATCHING),
        below: z.array(z.object({
          pattern: nullableString(z),
          owners: z.array(z.string()),
          files: z.int(),
        })).optional(),
        belowTruncated: z.literal(true).optional(),
        skippedLines: z.int().optional(),
      }).nullable(),
      hints: z.array(z.string()).optional(),
      cut: cut(z),
      warnings: warnings(z),
    }),
  async run(args, context) {
    const repo = await openForTool(args, context);
    if (args.pathBytes === undefined && args.path.trim() === "") {
      throw new CodedError(-32602, "Invalid params", {
        details: 'arguments.path is blank; "." means the whole repository',
      });
    }
    const path = readPaths(repo, args)[0] ?? null;
    const specs = pathspecs(path ? [path] : []);
    const since = Math.floor(context.now() / 1000) - args.churnDays * 86_400;
    const recent: ShortCommit[] = [];
    const [state, recentEnd, churn, kind, file] = await all([
      changesBelow(repo, path),
      readRecent(repo, args.recentCommits, (commit) => recent.push(commit), specs),
      readChurn(repo, since, specs),
      kindOf(repo, path),
      findCodeowners(repo),
    ]);
    const tree = typeof state === "string" ? null : state;
    const rules = file && "file" in file ? file.file : null;
    const ownership = rules && await findOwners(repo, rules.rules, path, kind === "directory");
    const data = {
      scope: path?.path ?? ".",
      ...(path?.pathBytes ? { scopeBytes: path.pathBytes } : {}),
      kind,
      workingTree: tree && { changed: tree.changed, entries: tree.entries, truncated: false },
      recentCommits: recent,
      churn: churnMember(args.churnDays, churn),
      owners: ownership && ownersMember(file!.source, ownership, rules.skippedLines),
      ...hintsMember(tree?.changed ?? 0, ownership),
      ...warningsMember([
        ...(tree ? [...filterWarning(repo), ...submoduleWarning(tree.submodulesRead)] : []),
        ...missingWarning([state, recentEnd, churn.end].includes("missing-objects")),
        ...ownersWarning(file),
      ]),
    };
    const below = data.owners?.below;
    const settle = () => {
      const shown = data.workingTree;
      if (shown) shown.truncated = shown.entries.length < shown.changed;
      return data;
    };
    const cuts = fitTokens(
      settle,
      args.maxTokens,
      [
        ...(below ? [cuttableList("owners.below", below)] : []),
        cuttableList("recentCommits", data.recentCommits),
        ...(data.workingTree
          ? [cuttableList("workingTree.entries", data.workingTree.entries)]
          : []),
      ],
      args.repoPath,
    );
    settle();
    return { data: cuts.length > 0 ? { ...data, cut: cuts } : data };
  },
});

interface Changes {
  changed: number;
  readonly entries: StatusEntry[];
  readonly submodulesRead: boolean;
}

/** Changed paths at or below the scope; null without a work tree, or when HEAD's tree is not here. */
async function changesBelow(
  repo: Repository,
  path: LiteralPath | null,
): Promise<Changes | "missing-objects" | null> {
  if (repo.facts.topLevel === null) return null;
  try {
    return await readChanges(repo, path);
  } catch (error) {
    if (failedForObjects(error)) return "missing-objects";
    throw error;
  }
}

async function readChanges(repo: Repository, path: LiteralPath | null): Promise<Changes> {
  const entries: StatusEntry[] = [];
  let changed = 0;
  const asBytes = path?.pathBytes !== undefined;
  const inside = path && latin1(path.bytes) + "/";
  const status = await streamWorkTree(
    repo,
    path && !asBytes ? { paths: [path.path] } : {},
    (key, make) => {
      if (asBytes) {
        // Everything was asked for: keep what is at or below, or a new folder around the scope.
        const name = latin1(key.path).replace(/\/?$/, "/");
        if (!name.startsWith(inside!) && !(key.section === 2 && inside!.startsWith(name))) return;
      }
      changed++;
      if (entries.length < MAX_ENTRIES) entries.push(markNested(repo, make()));
    },
  );
  return { changed, entries, submodulesRead: status.submodulesRead };
}

type Kind = "directory" | "file" | "submodule" | "missing";

/** What the scope is on disk, or was when git last saw it. */
async function kindOf(repo: Repository, path: LiteralPath | null): Promise<Kind> {
  if (path === null) return "directory";
  if (repo.facts.topLevel !== null && path.pathBytes === undefined) {
    try {
      const at = `${repo.facts.topLevel}/${path.path}`;
      // What a link on the way leads to is not in this repository, and not for its callers to know.
      const folder = at.slice(0, at.lastIndexOf("/"));
      if (Deno.realPathSync(folder) !== folder) throw new Deno.errors.NotFound();
      const info = Deno.lstatSync(at);
      if (!info.isDirectory) return "file";
      const { gitlinks } = await scanIndex(repo);
      return gitlinks.some((link) => link.path === path.path) ? "submodule" : "directory";
    } catch { /* not on disk: the index knows deleted and sparse ones */ }
  }
  let first: string | undefined;
  await listFiles(repo, path, (file) => {
    first = file;
    return false;
  });
  return first === undefined ? "missing" : first === path.path ? "file" : "directory";
}

function churnMember(days: number, churn: Churn) {
  // A walk that ended early has counted too little.
  const known = churn.end !== "missing-objects";
  return {
    days,
    commits: known ? churn.commits : null,
    authors: known ? churn.authors : null,
  };
}

function ownersMember(source: string, ownership: Ownership, skippedLines: number) {
  const { rule, below, complete } = ownership;
  const shown = below.slice(0, MAX_BELOW).map(({ pattern, owners, files }) => ({
    pattern: pattern?.slice(0, MAX_PATTERN) ?? null,
    owners: owners.slice(0, MAX_OWNERS),
    files,
  }));
  return {
    source,
    matchedPattern: rule?.pattern.slice(0, MAX_PATTERN) ?? null,
    owners: rule?.owners.slice(0, MAX_OWNERS) ?? [],
    matching: MATCHING,
    ...(shown.length > 0 ? { below: shown } : {}),
    ...(below.length > shown.length || !complete ? { belowTruncated: true as const } : {}),
    ...(skippedLines > 0 ? { skippedLines } : {}),
  };
}

/** Fixed words and numbers only (`security.md` S-28). */
function hintsMember(changed: number, ownership: Ownership | null): { hints?: string[] } {
  const hints: string[] = [];
  if (changed > 0) {
    hints.push(
      `${changed} changed ${
        changed === 1 ? "path" : "paths"
      } here: look before proposing anything.`,
    );
  }
  const owned = ownership &&
    [ownership.rule, ...ownership.below].some((rule) => rule && rule.owners.length > 0);
  if (owned) hints.push("This path has code owners: mention them.");
  return hints.length > 0 ? { hints } : {};
}

function missingWarning(missing: boolean): Warning[] {
  return missing
    ? [{
      code: "missing_objects",
      message:
        "objects of this partial clone are missing; what depends on them is null or ends early",
    }]
    : [];
}

function ownersWarning(file: CodeownersFile | null): Warning[] {
  return file && "problem" in file
    ? [{
      code: "source_unavailable",
      message: `the CODEOWNERS file ${file.problem}; owners are unknown`,
      path: file.source,
    }]
    : [];
}

/** Waits for every one before the first failure is thrown, so that no child is left behind. */
async function all<T extends readonly unknown[]>(
  work: { [K in keyof T]: Promise<T[K]> },
): Promise<T> {
  const results = await Promise.allSettled(work as readonly Promise<unknown>[]);
  for (const result of results) if (result.status === "rejected") throw result.reason;
  return results.map((result) => (result as PromiseFulfilledResult<unknown>).value) as unknown as T;
}
