import { GitError } from "./errors.ts";

/**
 * A second lock behind the list of reading commands: the forms of these commands that write or run
 * programs are refused whatever a caller puts together.
 */

/** Long options that write files or run programs; git takes any unambiguous beginning of one. */
const UNSAFE_OPTIONS = [
  "--output",
  "--ext-diff",
  "--textconv",
  "--filters",
  "--show-signature",
  "--no-index",
];
/** A beginning of `--textconv` that is an option of its own. */
const TEXT = "--text";

const CONFIG_READS = /^(?:--list|-l|--get|--get-all|--get-regexp|--get-urlmatch|get|list)$/;
const REFLOG_WRITES = new Set(["expire", "delete", "drop", "write"]);

/** Throws {@link GitError} for arguments of a reading command that would not only read. */
export function refuseWriting(
  args: readonly string[],
  env: Readonly<Record<string, string>> = {},
): void {
  const [command, ...rest] = args;
  const end = rest.findIndex((arg) => arg === "--" || arg === "--end-of-options");
  const before = end === -1 ? rest : rest.slice(0, end);
  const refuse = (why: string): never => {
    throw new GitError("failed", args, `not a reading form of git ${command}: ${why}`);
  };
  for (const arg of before) {
    const name = arg.split("=", 1)[0]!;
    if (name.length < 4 || !name.startsWith("--") || name === TEXT) continue;
    if (UNSAFE_OPTIONS.some((option) => option.startsWith(name))) refuse(name);
  }
  if (command === "worktree" && rest[0] !== "list") refuse("only list is");
  if (command === "reflog" && REFLOG_WRITES.has(rest[0] ?? "")) refuse(rest[0]!);
  if (command === "config" && !before.some((arg) => CONFIG_READS.test(arg))) {
    refuse("it neither lists nor gets");
  }
  if (command === "symbolic-ref") {
    const names = rest.filter((arg) => !arg.startsWith("-"));
    if (names.length !== 1 || before.some((arg) => /^(?:-d|-m|--delete)$/.test(arg))) {
      refuse("it sets or deletes");
    }
  }
  // A merge makes objects, which must not land in the repository.
  if (command === "merge-tree" && !env["GIT_OBJECT_DIRECTORY"]) {
    refuse("it needs a throw-away object directory");
  }
}
