import { decodeText } from "../common/bytes.ts";
import { GitError, printable } from "./errors.ts";
import type { Repository } from "./repository.ts";
import { refuseOption } from "./repository.ts";

/** Where the movements of a ref are recorded, and whether they are. */
export interface ReflogPlace {
  /** Full name of the ref, or `HEAD` and its like. */
  readonly ref: string;
  /** False for the branch of an unborn HEAD. */
  readonly refExists: boolean;
  /** Absolute path of the file; null when the repository keeps refs in tables (reftable). */
  readonly file: string | null;
  /** True when the file is there (with tables: not known before asking git). */
  readonly logExists: boolean | null;
  /** True when movements are recorded from now on. */
  readonly enabled: boolean;
}

/**
 * Finds the reflog that git would take for a name, unborn branches included (`git reflog` refuses
 * those). Throws `CodedError` -32602 for a name that could be an option, {@link GitError} for one
 * that names no ref.
 */
export async function findReflog(repo: Repository, name: string): Promise<ReflogPlace> {
  refuseOption("refName", name);
  const tables = repo.facts.config.get("extensions.refstorage") === "reftable";
  const refs = name === "@" ? ["HEAD"] : await existingRefs(repo, name);
  if (refs.length === 0) {
    const head = await repo.optionalText(["symbolic-ref", "-q", "HEAD"]);
    if (head !== null && (head === name || head === `refs/heads/${name}`)) {
      return place(repo, head, false, tables);
    }
    throw new GitError(
      "failed",
      ["reflog", "show", printable(name, 200)],
      `refName ${JSON.stringify(printable(name, 200))} does not name a ref of this repository; ` +
        "give a branch, a full ref name or HEAD, without @{n}",
    );
  }
  const places = refs.map((ref) => place(repo, ref, true, tables));
  return places.find((at) => at.logExists) ?? places[0]!;
}

/** Full names that exist, in the order in which git tries them. */
async function existingRefs(repo: Repository, name: string): Promise<string[]> {
  if (name === "HEAD") return [name];
  if (name.includes("@{")) {
    const full = await repo.optionalText([
      "rev-parse",
      "--verify",
      "--quiet",
      "--symbolic-full-name",
      "--end-of-options",
      name,
    ]);
    const word = full?.split("\n").at(-1) ?? "";
    return word.startsWith("refs/") && isRefName(word) ? [word] : [];
  }
  if (!isRefName(name)) return [];
  const candidates = [
    name,
    `refs/${name}`,
    `refs/tags/${name}`,
    `refs/heads/${name}`,
    `refs/remotes/${name}`,
    `refs/remotes/${name}/HEAD`,
  ];
  // Names outside refs/ (ORIG_HEAD, another worktree's HEAD) are no rows of for-each-ref.
  const [rows, special] = await Promise.all([
    repo.run([
      "for-each-ref",
      "--format=%(refname)",
      ...candidates.filter((ref) => ref.startsWith("refs/")),
    ], { overflow: "cut" }),
    name.startsWith("refs/") || !/^(?:[A-Z_]+|main-worktree\/.+|worktrees\/[^/]+\/.+)$/.test(name)
      ? null
      : repo.optionalText(["rev-parse", "--verify", "--quiet", "--end-of-options", name]),
  ]);
  const found = new Set(decodeText(rows.stdout).split("\n"));
  if (special) found.add(name);
  return candidates.filter((ref) => found.has(ref));
}

/** The rules of `git check-ref-format`: such a name cannot lead out of the folder of logs. */
export function isRefName(name: string): boolean {
  // deno-lint-ignore no-control-regex
  if (name === "" || name === "@" || /[\u0000-\u0020\u007f~^:?*[\\]|\.\.|@\{|\/\/|\.$/.test(name)) {
    return false;
  }
  return name.split("/").every((part) =>
    part !== "" && !part.startsWith(".") && !part.endsWith(".lock")
  );
}

function place(
  repo: Repository,
  ref: string,
  refExists: boolean,
  tables: boolean,
): ReflogPlace {
  const file = tables ? null : logFile(repo, ref);
  const logExists = file === null ? null : isThere(file);
  return {
    ref,
    refExists,
    file,
    logExists,
    // A log that is there is written on, whatever the setting says.
    enabled: logExists === true || recordsMoves(repo, ref),
  };
}

function logFile(repo: Repository, ref: string): string {
  const { commonDir, gitDir } = repo.facts;
  const other = /^worktrees\/([^/]+)\/(.+)$/s.exec(ref);
  if (other) return `${commonDir}/worktrees/${other[1]}/logs/${other[2]}`;
  if (ref.startsWith("main-worktree/")) {
    return `${commonDir}/logs/${ref.slice("main-worktree/".length)}`;
  }
  const ownOfWorktree = !ref.startsWith("refs/") ||
    /^refs\/(?:bisect|worktree|rewritten)\//.test(ref);
  return `${ownOfWorktree ? gitDir : commonDir}/logs/${ref}`;
}

/** `core.logAllRefUpdates`: on by default but in bare repositories; `always` covers every ref. */
function recordsMoves(repo: Repository, ref: string): boolean {
  const value = repo.facts.config.get("core.logallrefupdates");
  if (value?.toLowerCase() === "always") return true;
  const on = repo.facts.config.bool("core.logallrefupdates", !repo.facts.bare);
  return on && (/^refs\/(?:heads|remotes|notes)\//.test(ref) || /(?:^|\/)HEAD$/.test(ref));
}

function isThere(file: string): boolean {
  try {
    return Deno.lstatSync(file).isFile || Deno.lstatSync(file).isSymlink;
  } catch {
    return false;
  }
}
