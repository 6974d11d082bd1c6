/** The plain commands of the comparison, run so that even they change nothing. */

/** One command's output and cost. */
export interface PlainRun {
  /** As it was run, without `git`. */
  readonly shown: string;
  /** Standard output and standard error, as an agent's shell shows them. */
  readonly text: string;
  readonly ms: number;
}

/** Keeps plain git from refreshing the index, starting the repository's programs, fetching. */
const HARMLESS = [
  "--no-pager",
  "--no-optional-locks",
  ...["-c", "core.fsmonitor=false"],
  ...["-c", "core.hooksPath=/dev/null"],
  ...["-c", "diff.external="],
  ...["-c", "diff.autoRefreshIndex=false"],
];

async function git(repo: string, args: readonly string[]): Promise<PlainRun & { code: number }> {
  const flags = args[0] === "diff" ? ["--no-ext-diff", "--no-textconv"] : [];
  const [command = "", ...rest] = args;
  const start = performance.now();
  const out = await new Deno.Command("git", {
    args: [...HARMLESS, "-C", repo, command, ...flags, ...rest],
    env: { GIT_NO_LAZY_FETCH: "1", GIT_TERMINAL_PROMPT: "0" },
    stdin: "null",
    stdout: "piped",
    stderr: "piped",
  }).output();
  const ms = performance.now() - start;
  const text = new TextDecoder();
  return {
    shown: args.join(" "),
    text: text.decode(out.stdout) + text.decode(out.stderr),
    ms,
    code: out.code,
  };
}

/** Runs commands one after the other; `$(merge-base)` stands for the answer of the first one. */
export async function runPlain(
  repo: string,
  commands: readonly (readonly string[])[],
): Promise<PlainRun[]> {
  const runs: PlainRun[] = [];
  for (const command of commands) {
    const base = runs[0]?.text.trim() ?? "";
    const run = await git(repo, command.map((word) => word === "$(merge-base)" ? base : word));
    runs.push({ ...run, shown: command.join(" ") });
  }
  return runs;
}

/** A branch that a merge forecast makes sense for: the main branch, when it is not HEAD itself. */
export async function chooseTarget(repo: string): Promise<string | null> {
  const oid = async (name: string) => {
    const found = await git(repo, ["rev-parse", "-q", "--verify", `${name}^{commit}`]);
    return found.code === 0 ? found.text.trim() : null;
  };
  const head = await oid("HEAD");
  if (head === null) return null;
  for (const name of ["main", "master", "origin/HEAD", "origin/main", "origin/master", "@{u}"]) {
    const other = await oid(name);
    if (other !== null && other !== head) return name;
  }
  return null;
}
