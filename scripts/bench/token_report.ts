/**
 * Writes `docs/token-comparison/`: answers of the tools and outputs of plain git on the sample
 * repository, byte for byte, with checksums and token counts.
 *
 * `deno run -A scripts/bench/token_report.ts`
 */

import { buildStory } from "../demo/story.ts";
import { ROOT } from "../lib/deno.ts";
import { plainGit } from "../lib/git.ts";
import { print } from "../lib/terminal.ts";
import { tenCommits } from "./repositories.ts";
import { FROM_SOURCE, Server } from "./server.ts";
import { countTokens } from "./tokens.ts";

/** Where the report stands, relative to the root. */
export const REPORT = "docs/token-comparison";
/** Fixed, because answers name the repository's path. */
const FOLDER = "/tmp/fluxgit-token-comparison";
/** No settings of the machine or its user. */
const NEUTRAL = {
  HOME: `${FOLDER}/home`,
  XDG_CONFIG_HOME: `${FOLDER}/home/.config`,
  GIT_CONFIG_NOSYSTEM: "1",
  LC_ALL: "C",
};

/** One row: a call, and plain commands that give an agent the same knowledge. */
export interface Row {
  readonly tool: string;
  readonly args: Readonly<Record<string, unknown>>;
  readonly plain: readonly (readonly string[])[];
}

/** The broad comparison: what an agent without the tools would type. */
export const ROWS: readonly Row[] = [
  {
    tool: "repo.brief",
    args: {},
    plain: [["status"], ["branch", "-vv"], ["log", "-10"], ["stash", "list"], [
      "submodule",
      "status",
    ]],
  },
  { tool: "repo.status", args: {}, plain: [["status"]] },
  {
    tool: "repo.refs",
    args: {},
    plain: [["branch", "-avv"], ["tag", "-n"], ["remote", "-v"], ["stash", "list"]],
  },
  {
    tool: "repo.branchStack",
    args: {},
    plain: [["branch", "-avv"], ["log", "--oneline", "--graph", "--all", "-30"], [
      "rev-list",
      "--left-right",
      "--count",
      "main...HEAD",
    ]],
  },
  {
    tool: "repo.conflictPreflight",
    args: { targetRef: "main" },
    plain: [["merge-tree", "--write-tree", "HEAD", "main"]],
  },
  { tool: "repo.history", args: { limit: 10 }, plain: [["log", "-10"]] },
  { tool: "commit.details", args: { commit: "HEAD" }, plain: [["show", "--stat", "HEAD"]] },
  { tool: "diff.text", args: {}, plain: [["diff", "--stat"], ["diff"]] },
  { tool: "worktree.list", args: {}, plain: [["worktree", "list", "--porcelain"]] },
];

/** The same on a busy working tree: ten commits, a hundred changed files. */
export const BUSY_ROWS: readonly Row[] = [
  ROWS[0]!,
  { tool: "repo.status", args: {}, plain: [["status"]] },
  { tool: "worktree.changes", args: {}, plain: [["status", "--porcelain"]] },
];

/** The counterexample: a pair picked by somebody who knows what to ask. */
export const PICKED: readonly (readonly string[])[] = [
  ["status", "-sb"],
  ["log", "--oneline", "-5"],
];

/** Every file of the report but the README and the checksums: name to content. */
export async function collect(): Promise<Map<string, string>> {
  await Deno.remove(FOLDER, { recursive: true }).catch(() => {});
  await Deno.mkdir(`${FOLDER}/run`, { recursive: true });
  try {
    const { repo } = await buildStory(FOLDER);
    const busy = await tenCommits(`${FOLDER}/busy`, 100, true);
    const files = new Map<string, string>();
    const server = new Server(FROM_SOURCE, `${FOLDER}/run`, NEUTRAL);
    await server.open();
    for (const [group, path] of [["story", repo], ["busy", busy]] as const) {
      for (const [i, row] of rowsOf(group).entries()) {
        const answer = await server.call(row.tool, { repoPath: path, ...row.args });
        files.set(`${name(group, i)}-${row.tool}.txt`, answer + "\n");
        files.set(`${name(group, i)}-plain.txt`, await transcript(path, row.plain));
      }
    }
    await server.close();
    files.set("picked.txt", await transcript(repo, PICKED));
    return files;
  } finally {
    await Deno.remove(FOLDER, { recursive: true });
  }
}

type Group = "story" | "busy";

function rowsOf(group: Group): readonly Row[] {
  return group === "story" ? ROWS : BUSY_ROWS;
}

function name(group: Group, i: number): string {
  return `${group}-${String(i + 1).padStart(2, "0")}`;
}

/** The page, from the files alone. */
export async function readme(files: ReadonlyMap<string, string>): Promise<string> {
  const tokens = (file: string) => countTokens((files.get(file) ?? "").trimEnd());
  const table = (group: Group) => {
    let ours = 0, theirs = 0, commands = 0;
    const lines = rowsOf(group).map((row, i) => {
      const a = tokens(`${name(group, i)}-${row.tool}.txt`);
      const b = tokens(`${name(group, i)}-plain.txt`);
      ours += a;
      theirs += b;
      commands += row.plain.length;
      const shown = row.plain.map((command) => `\`git ${command.join(" ")}\``).join(", ");
      return `| \`${row.tool}\` | ${a} | ${b} | ${(b / a).toFixed(1)} | ${shown} |`;
    });
    const together = `| together | ${ours} | ${theirs} | ${(theirs / ours).toFixed(1)} |`;
    return `| tool | tokens | plain git | ratio | the plain commands |
| --- | --- | --- | --- | --- |
${lines.join("\n")}
${together} ${lines.length} calls, ${commands} commands |`;
  };
  const brief = tokens(`${name("story", 0)}-repo.brief.txt`), picked = tokens("picked.txt");
  const pair = PICKED.map((command) => `\`git ${command.join(" ")}\``).join(" and ");
  return await formatted(`# Tokens beside plain git

Written by \`deno run -A scripts/bench/token_report.ts\`; do not edit. Tokens are counted with the
o200k vocabulary over the text that a model reads: \`content[0].text\` of an answer, and commands with
their outputs as a shell shows them. All texts are in [raw](raw), with [checksums](SHA256SUMS).

A ratio above 1 means that the answer is smaller than what it replaces; where it is below 1, plain git
is. An answer also says what such text does not: object ids in full, what was cut, what is unknown. And
it is one turn of the model where the commands are several.

## A small repository

The one of the demo, built by [scripts/demo/story.ts](../../scripts/demo/story.ts), the same commits in
every run: 5 branches, a diverged feature branch, a stash, three changed files.

${table("story")}

With so little to tell, single answers are often larger than single commands. What is smaller is the
briefing that opens a session.

## A busy working tree

Ten commits and a hundred changed files, from
[scripts/bench/repositories.ts](../../scripts/bench/repositories.ts). Answers are bounded, and say how
much there is and how to go on.

${table("busy")}

## The counterexample

Whoever knows beforehand what to ask can ask for less. ${pair} on the small repository together are
${picked} tokens ([raw/picked.txt](raw/picked.txt)), against ${brief} of \`repo.brief\`. The pair does not
say how many stashes there are, whether an operation is in progress, what is unusual about the
repository, or what was left out; but where that is known, it is the cheaper way. And the list of tools
itself costs tokens once a session: \`deno task bench --only tokens\` tells how many.
`);
}

/** As `deno fmt` wants it, so that the gate has nothing to say. */
async function formatted(markdown: string): Promise<string> {
  const child = new Deno.Command(Deno.execPath(), {
    args: ["fmt", "-q", "--ext", "md", "-"],
    cwd: ROOT,
    stdin: "piped",
    stdout: "piped",
  }).spawn();
  const writer = child.stdin.getWriter();
  await writer.write(new TextEncoder().encode(markdown));
  await writer.close();
  return new TextDecoder().decode((await child.output()).stdout);
}

/** SHA-256 of every file in the form of \`sha256sum\`. */
export async function checksums(files: ReadonlyMap<string, string>): Promise<string> {
  const lines: string[] = [];
  for (const [name, text] of [...files].sort(([a], [b]) => a < b ? -1 : 1)) {
    const digest = await crypto.subtle.digest("SHA-256", new TextEncoder().encode(text));
    lines.push(`${new Uint8Array(digest).toHex()}  raw/${name}\n`);
  }
  return lines.join("");
}

async function transcript(repo: string, commands: Row["plain"]): Promise<string> {
  const parts: string[] = [];
  for (const command of commands) {
    const { stdout, stderr } = await plainGit(repo, command, NEUTRAL);
    parts.push(`$ git ${command.join(" ")}\n${stdout}${stderr}`);
  }
  return parts.join("");
}

if (import.meta.main) {
  const files = await collect();
  const page = await readme(files);
  const folder = `${ROOT}/${REPORT}`;
  await Deno.remove(`${folder}/raw`, { recursive: true }).catch(() => {});
  await Deno.mkdir(`${folder}/raw`, { recursive: true });
  for (const [name, text] of files) await Deno.writeTextFile(`${folder}/raw/${name}`, text);
  await Deno.writeTextFile(`${folder}/SHA256SUMS`, await checksums(files));
  await Deno.writeTextFile(`${folder}/README.md`, page);
  print(page);
}
