import { decodeText } from "../common/bytes.ts";
import { CodedError } from "../common/errors.ts";
import { type GitOutput, type GitTarget, runGit, type RunOptions } from "./command.ts";
import { driverOverrides, GitConfig, parseConfigList, repositoryPrograms } from "./config.ts";
import { configFiles, FileStamps } from "./config_stamp.ts";
import { gitCapabilities } from "./capabilities.ts";
import { checkRoots } from "./confinement.ts";
import { discover } from "./discovery.ts";
import { GitError, printable } from "./errors.ts";
import { gitProgram } from "./program.ts";
import type { RepositoryFacts } from "./repository_facts.ts";

/** What the facts of an opened repository depend on besides the repository. */
export interface OpenOptions {
  readonly signal?: AbortSignal | undefined;
  /** Canonical allowed roots; null or absent means no restriction (`protocol.md` 9). */
  readonly roots?: readonly string[] | null | undefined;
  /** Wall clock, Unix milliseconds; tests give one that is ahead, so that fresh files count as settled. */
  readonly now?: () => number;
}

/**
 * An opened repository: where commands run and what its configuration says. Commands run at the top
 * of the work tree, so paths in arguments and answers are relative to it, whatever was asked for.
 */
export class Repository implements GitTarget {
  /** Where git runs: the top level, or the git directory of a bare repository. */
  readonly path: string;
  readonly overrides: readonly (readonly [string, string])[];
  readonly allowBare: boolean;

  constructor(
    readonly facts: RepositoryFacts,
    overrides: readonly (readonly [string, string])[],
    readonly signal?: AbortSignal | undefined,
    /** Canonical allowed roots that hold for its submodules too. */
    readonly roots?: readonly string[] | null | undefined,
  ) {
    this.path = facts.topLevel ?? facts.gitDir;
    this.overrides = overrides;
    this.allowBare = facts.bare;
  }

  /** Runs a reading command here. Errors as {@link runGit}. */
  run(args: readonly string[], options: RunOptions = {}): Promise<GitOutput> {
    return runGit(this, args, { signal: this.signal, ...options });
  }

  /** Standard output as text without its last newline. */
  async text(args: readonly string[], options: RunOptions = {}): Promise<string> {
    return decodeText((await this.run(args, options)).stdout).replace(/\n$/, "");
  }

  /** As {@link text}, or null when git exits with 1 or 128 (an absent ref, no reflog …). */
  async optionalText(args: readonly string[], options: RunOptions = {}): Promise<string | null> {
    const out = await this.run(args, { okCodes: [0, 1, 128], ...options });
    return out.code === 0 ? decodeText(out.stdout).replace(/\n$/, "") : null;
  }

  /** The same repository with more overrides (those of its submodules). */
  with(more: readonly (readonly [string, string])[]): Repository {
    return more.length === 0
      ? this
      : new Repository(this.facts, [...this.overrides, ...more], this.signal, this.roots);
  }

  /**
   * Resolves a revision of the caller to a full object id, peeled to `type`. Refuses what could be
   * read as an option before git is run (`security.md` S-15). Throws `CodedError` -32602 for a bad
   * name, {@link GitError} when it names nothing.
   */
  async resolve(
    field: string,
    revision: string,
    type: "commit" | "tree" | "object" = "commit",
  ): Promise<string> {
    refuseOption(field, revision);
    const args = ["rev-parse", "--verify", "--quiet", "--end-of-options", `${revision}^{${type}}`];
    const out = await this.run(args, { okCodes: [0, 1, 128] });
    const oid = decodeText(out.stdout).trim();
    if (out.code !== 0 || !/^(?:[0-9a-f]{40}|[0-9a-f]{64})$/.test(oid)) {
      throw new GitError(
        "failed",
        ["rev-parse", "--verify", `${printable(revision, 200)}^{${type}}`],
        `${field} ${
          JSON.stringify(printable(revision, 200))
        } does not name a ${type} of this repository`,
        out.code,
      );
    }
    return oid;
  }
}

/** Throws `CodedError` -32602 when a ref argument begins with `-` or holds NUL or a line end. */
export function refuseOption(field: string, revision: string): void {
  // deno-lint-ignore no-control-regex
  if (revision.startsWith("-") || /[\u0000\n\r]/.test(revision)) {
    throw new CodedError(-32602, "Invalid params", {
      details:
        `arguments.${field} ${
          JSON.stringify(printable(revision, 200))
        } may not begin with "-" or hold control characters; ` +
        `write refs/heads/… in full when a ref really is named so`,
    });
  }
}

interface Opened {
  facts: RepositoryFacts;
  overrides: [string, string][];
  stamps: FileStamps;
  program: string;
}

const MAX_OPENED = 512;
const opened = new Map<string, Opened>();

/**
 * Opens the repository at or above a canonical path. Facts are kept while the files they came from
 * keep their identity, so a warm call spawns nothing here.
 *
 * Throws {@link GitError} (not a repository, dubious ownership, a bare repository inside a work tree
 * …) and `CodedError` -32011 when the work tree or borrowed objects lie outside the allowed roots.
 */
export async function openRepository(path: string, options: OpenOptions = {}): Promise<Repository> {
  const program = gitProgram();
  let known = opened.get(path);
  if (!known || known.program !== program.path || !known.stamps.same()) {
    known = await readFacts(path, options.signal, options.now?.() ?? Date.now());
    opened.delete(path);
    opened.set(path, known);
    if (opened.size > MAX_OPENED) opened.delete(opened.keys().next().value!);
  }
  if (options.roots) checkRoots(known.facts, options.roots);
  return new Repository(known.facts, known.overrides, options.signal, options.roots);
}

async function readFacts(
  path: string,
  signal: AbortSignal | undefined,
  nowMs: number,
): Promise<Opened> {
  const found = discover(path);
  if (found.kind === "embedded") {
    throw new GitError(
      "embedded_bare",
      ["rev-parse", "--git-dir"],
      "this is a bare repository inside another repository's work tree",
    );
  }
  if (found.kind === "git-dir") {
    throw new GitError(
      "not_a_repository",
      ["rev-parse", "--show-toplevel"],
      "the path lies inside a git directory, not in a work tree",
    );
  }
  const target: GitTarget = { path, overrides: [], allowBare: found.kind === "bare" };
  // The version check rides along with the first opening; later it is a settled promise.
  const [, basics, list] = await settleAll([
    gitCapabilities(),
    readBasics(target, signal),
    runGit(target, ["config", "--list", "--show-scope", "--show-origin", "-z"], { signal }),
  ]);
  const entries = parseConfigList(list.stdout);
  const { env, path: program } = gitProgram();
  const topLevel = basics.topLevel ?? basics.gitDir;
  const at = { ...basics, topLevel };
  const files = configFiles(entries, at, env["HOME"], env["XDG_CONFIG_HOME"], program);
  files.add(`${basics.gitDir}/commondir`);
  // A `.git` that appears between the asked path and the top would be found first.
  for (let dir = path; dir.startsWith(topLevel); dir = dir.slice(0, dir.lastIndexOf("/"))) {
    files.add(`${dir}/.git`);
    if (dir === topLevel) break;
  }
  return {
    facts: {
      askedPath: path,
      ...basics,
      config: new GitConfig(entries),
      programs: repositoryPrograms(entries),
    },
    overrides: driverOverrides(entries),
    stamps: new FileStamps(files, nowMs),
    program,
  };
}

/** Waits for all, then throws the first failure in order: no child is left behind unobserved. */
async function settleAll<A, B, C>(work: [Promise<A>, Promise<B>, Promise<C>]): Promise<[A, B, C]> {
  const results = await Promise.allSettled(work);
  for (const result of results) if (result.status === "rejected") throw result.reason;
  return results.map((r) => (r as PromiseFulfilledResult<unknown>).value) as [A, B, C];
}

const BASICS = [
  "--is-bare-repository",
  "--is-inside-work-tree",
  "--show-object-format",
  "--path-format=absolute",
  "--git-dir",
  "--git-common-dir",
];

async function readBasics(
  target: GitTarget,
  signal: AbortSignal | undefined,
): Promise<Pick<RepositoryFacts, "topLevel" | "gitDir" | "commonDir" | "bare" | "objectFormat">> {
  const all = await runGit(target, ["rev-parse", ...BASICS, "--show-toplevel"], {
    signal,
    okCodes: [0, 128],
  });
  const lines = decodeText(all.stdout).split("\n");
  const [bareWord, insideWord, format] = lines;
  const bare = bareWord === "true";
  if (format === undefined || (bareWord !== "true" && bareWord !== "false")) {
    // Nothing was printed: run the failing question alone for git's own words.
    await runGit(target, ["rev-parse", "--show-toplevel"], { signal });
    throw new GitError("failed", ["rev-parse", ...BASICS], all.stderr, all.code);
  }
  if (!bare && insideWord !== "true" && all.code !== 0) {
    throw new GitError(
      "not_a_repository",
      ["rev-parse", "--show-toplevel"],
      "the path lies inside a git directory, not in a work tree",
      all.code,
    );
  }
  // rev-parse separates by newline and names may hold one: then each question is asked alone.
  const oneEach = lines.length === (all.code === 0 ? 7 : 6);
  const ask = async (...words: string[]) =>
    decodeText(
      (await runGit(target, ["rev-parse", "--path-format=absolute", ...words], { signal })).stdout,
    ).replace(/\n$/, "");
  const gitDir = oneEach ? lines[3]! : await ask("--git-dir");
  const commonDir = oneEach ? lines[4]! : await ask("--git-common-dir");
  const topLevel = all.code !== 0 ? null : oneEach ? lines[5]! : await ask("--show-toplevel");
  return {
    topLevel,
    gitDir,
    commonDir,
    bare,
    objectFormat: format === "sha256" ? "sha256" : "sha1",
  };
}
