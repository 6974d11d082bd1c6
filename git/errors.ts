import { CodedError } from "../common/errors.ts";

/** Why a git command could not give an answer; one word a cause, for code that must tell them apart. */
export type GitFailureKind =
  | "failed"
  | "not_a_repository"
  | "dubious_ownership"
  | "embedded_bare"
  | "unsupported_format"
  | "timed_out"
  | "output_limit"
  | "cancelled"
  | "git_missing"
  | "git_too_old";

/** Longest text of git's own standard error that an answer repeats, in UTF-16 units. */
const MAX_DETAILS = 2_000;
const MAX_COMMAND_WORD = 200;

/** Controls, zero-width and bidirectional characters, and the invisible tag characters U+E0000 to U+E007F. */
const UNSAFE =
  // deno-lint-ignore no-control-regex
  /[\x00-\x09\x0b-\x1f\x7f-\x9f\u200b-\u200f\u2028-\u202e\u2060-\u206f\ufeff]|\udb40[\udc00-\udc7f]/g;

/** Makes a program's text safe to repeat: control, format and bidirectional characters are escaped. */
export function printable(text: string, max = MAX_DETAILS): string {
  const cut = text.length > max ? text.slice(0, max) + "…" : text;
  return cut.replace(
    UNSAFE,
    (c) => c.split("").map((u) => "\\u" + u.charCodeAt(0).toString(16).padStart(4, "0")).join(""),
  );
}

/**
 * A failed git command as error 10010 of the contract (`protocol.md` 10.4): the command with the
 * literal placeholder `<repoPath>`, git's trimmed standard error or the reason, and what to do next.
 */
export class GitError extends CodedError {
  override name = "GitError";
  constructor(
    readonly kind: GitFailureKind,
    args: readonly string[],
    details: string,
    readonly exitCode: number | null = null,
  ) {
    const told = kind === "failed" && lacksObjects(details) ? "missing_objects" : kind;
    const hint = HINTS[told];
    super(10010, "Local git fallback failed", {
      command: [
        "git",
        "-C",
        "<repoPath>",
        ...args.slice(0, 40).map((a) => printable(a, MAX_COMMAND_WORD)),
      ],
      details: printable(details.trim()) || `git exited with status ${exitCode ?? "unknown"}`,
      kind: told,
      ...(hint ? { hint } : {}),
    });
  }
}

const HINTS: Partial<Record<GitFailureKind | "missing_objects", string>> = {
  not_a_repository: "Pass the absolute path of a directory inside a Git repository.",
  dubious_ownership:
    "The repository belongs to another user. A person may trust it with: git config --global --add safe.directory <path>",
  embedded_bare:
    "Name the outer repository instead; a bare repository inside a work tree is not trusted.",
  unsupported_format:
    "Install a newer Git: this repository uses a format that the installed one cannot read.",
  missing_objects:
    "Objects of this partial clone (or damaged repository) are not here and reads fetch nothing. A person may fetch them, for example with git checkout or git fetch --refetch.",
  timed_out:
    "Narrow the request (a path, a smaller limit) or try again when the machine is less busy.",
  output_limit: "Narrow the request with a path or a smaller limit.",
  git_missing:
    "Install Git, put it in PATH, or check FLUXGIT_MCP_GIT_PATH and the granted run permission.",
  git_too_old: "Install Git 2.31 or newer.",
};

/** Reads the cause off git's standard error; sound because every child runs with LC_ALL=C. */
export function classifyFailure(stderr: string): GitFailureKind {
  if (/detected dubious ownership|unsafe repository/.test(stderr)) return "dubious_ownership";
  if (/cannot use bare repository/.test(stderr)) return "embedded_bare";
  if (
    /unknown repository (extension|version)|expected git repo version|repository format/i.test(
      stderr,
    )
  ) {
    return "unsupported_format";
  }
  if (/not a git repository|must be run in a work tree|cannot change to/.test(stderr)) {
    return "not_a_repository";
  }
  return "failed";
}

/** True when git failed because objects are not here (a partial clone, or a damaged repository). */
export function lacksObjects(stderr: string): boolean {
  return MISSING.some((words) => words.test(stderr));
}

/** The same of a thrown failure. */
export function failedForObjects(error: unknown): boolean {
  return error instanceof GitError && error.kind === "failed" &&
    lacksObjects(String(error.data?.["details"]));
}

const MISSING = [
  /lazy fetching disabled/,
  /could not fetch [0-9a-f]+ from promisor remote/,
  /[Cc]ould not read [0-9a-f]{40}/,
  /unable to read (?:tree )?\(?[0-9a-f]{40}/,
  /unable to parse commit [0-9a-f]{40}/,
  /Failed to traverse parents/,
  /bad object [0-9a-f]{40}/,
  /missing (?:blob|tree|commit)/,
  // From 2.44 on, of a tree that is not here; every revision was resolved to a commit before.
  /bad tree object/,
  /not a tree object/,
];
