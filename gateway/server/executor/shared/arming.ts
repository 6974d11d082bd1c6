import { decodePath, NulRecords } from "../../../../common/bytes.ts";
import { streamGit } from "../../../../git/command.ts";
import type { Repository } from "../../../../git/repository.ts";
import type { Note } from "../../types.ts";

/**
 * Files that change what runs later on this machine or in CI (`security.md` P-15): harmless to write,
 * but a person should know that they are among the changes.
 */
const ARMING: readonly (readonly [RegExp, string])[] = [
  [/(?:^|\/)\.gitattributes$/i, "attributes choose filters and merge drivers"],
  [/(?:^|\/)\.gitmodules$/i, "names repositories that are fetched and run"],
  [/(?:^|\/)\.(?:husky|githooks)\//i, "hooks"],
  [/(?:^|\/)\.(?:vscode|idea|zed|devcontainer)\//i, "editor tasks and settings"],
  [
    /(?:^|\/)\.(?:mcp\.json|cursor\/|claude\/|codex\/|gemini\/|windsurf|aider)/i,
    "agent configuration",
  ],
  [/(?:^|\/)(?:CLAUDE|AGENTS|GEMINI)\.md$/i, "instructions that agents obey"],
  [
    /(?:^|\/)\.(?:github|gitlab|circleci|buildkite)\/|(?:^|\/)\.gitlab-ci\.yml$|(?:^|\/)Jenkinsfile$/i,
    "CI",
  ],
  [
    /(?:^|\/)(?:package\.json|deno\.jsonc?|Makefile|justfile|Taskfile\.ya?ml|setup\.py|pyproject\.toml|build\.rs|\.npmrc|\.envrc|\.pre-commit-config\.yaml)$/i,
    "scripts that build tools run",
  ],
];

/** Paths that one note names. */
const NAMED = 50;

/** Collects what among changed files runs later or leads elsewhere. */
export class Arming {
  readonly #found = new Map<string, string[]>();

  /** @param mode octal mode of the file afterwards, and before; undefined where not known or not there */
  see(path: string, mode?: string, before?: string): void {
    for (const [pattern, why] of ARMING) {
      if (pattern.test(path)) this.#add(`changes what runs later (${why})`, path);
    }
    if (mode === "120000") this.#add("makes symbolic links", path);
    if (mode === "160000" && before === undefined) {
      this.#add("adds repositories inside this one", path);
    }
    if (mode === "100755" && before !== "100755") this.#add("makes files executable", path);
  }

  /** True when something was found: strong confirmation for patches. */
  get any(): boolean {
    return this.#found.size > 0;
  }

  /** One warning a kind, with the first paths. */
  notes(): Note[] {
    return [...this.#found].map(([message, paths]) => ({
      code: "changes_what_runs_later",
      message,
      paths,
    }));
  }

  #add(message: string, path: string): void {
    const paths = this.#found.get(message) ?? [];
    if (paths.length < NAMED) paths.push(path);
    this.#found.set(message, paths);
  }
}

/** Warnings for everything that differs between two trees, however much that is. */
export async function armingBetween(
  repo: Repository,
  from: string,
  to: string,
  env: Readonly<Record<string, string>> = {},
): Promise<Note[]> {
  const arming = new Arming();
  const records = new NulRecords();
  let modes: [string, string] | null = null;
  await streamGit(
    repo,
    ["diff-tree", "-r", "--raw", "--no-renames", "-z", from, to, "--"],
    { signal: repo.signal, env },
    (chunk) =>
      records.push(chunk, (record) => {
        // ":<old mode> <new mode> <old id> <new id> <letter>", then the path.
        if (modes === null) {
          const words = new TextDecoder().decode(record).split(" ");
          modes = [words[0]!.slice(1), words[1] ?? ""];
          return true;
        }
        const [before, after] = modes;
        modes = null;
        if (after !== "000000") {
          arming.see(decodePath(record).path, after, before === "000000" ? undefined : before);
        } else arming.see(decodePath(record).path);
        return true;
      }),
  );
  return arming.notes();
}
