/**
 * `deno task demo [PATH] [--yes]`: starts the sidecar as a host would, asks it five questions through an
 * official MCP client, and prints what the agent got, next to the plain git commands it replaced.
 * Without a path it builds a sample repository, in which the agent then proposes a commit and a merge:
 * you approve them in a second terminal, or with `--yes` (and without a terminal) the demo plays you.
 * A repository of yours is only read.
 */

import { Client } from "@modelcontextprotocol/client";
import { StdioClientTransport } from "@modelcontextprotocol/client/stdio";
import { FROM_SOURCE } from "./bench/server.ts";
import { countTokens, listTokens } from "./bench/tokens.ts";
import { type DemoCall, demoCalls } from "./demo/calls.ts";
import { chooseTarget, runPlain } from "./demo/plain.ts";
import { nameAuthor, type PersonChoice, proposeAndUndo } from "./demo/propose.ts";
import { buildStory } from "./demo/story.ts";
import { print, say } from "./lib/terminal.ts";

/** Time and size of an answer, or of several. */
interface Cost {
  readonly count: number;
  readonly ms: number;
  readonly tokens: number;
}

const plus = (a: Cost, b: Cost): Cost => ({
  count: a.count + b.count,
  ms: a.ms + b.ms,
  tokens: a.tokens + b.tokens,
});
const NOTHING: Cost = { count: 0, ms: 0, tokens: 0 };

async function main(): Promise<number> {
  const play = Deno.args.includes("--yes") || !Deno.stdin.isTerminal();
  const [given, ...rest] = Deno.args.filter((arg) => arg !== "--yes");
  if (rest.length > 0 || given?.startsWith("-")) {
    say("usage: deno task demo [PATH] [--yes]");
    return 2;
  }
  // The vocabulary takes a moment to load; that is not the sidecar's time.
  countTokens("warm");
  const folder = await Deno.realPath(await Deno.makeTempDir({ prefix: "fluxgit-demo-" }));
  try {
    await Deno.mkdir(`${folder}/run`);
    if (given === undefined) {
      print("A sample repository: a feature branch that has moved apart from its");
      print("upstream, a conflict ahead, a stash, and a working tree left in the middle.\n");
      const { repo } = await buildStory(folder);
      await nameAuthor(repo);
      return await show(repo, `${folder}/run`, { play, runDir: `${folder}/run` });
    }
    const path = await Deno.realPath(given).catch(() => null);
    if (path === null) {
      say(`${given}: there is no such folder`);
      return 1;
    }
    print(`Reading ${path}. Nothing in it is changed.\n`);
    return await show(path, `${folder}/run`);
  } finally {
    await Deno.remove(folder, { recursive: true });
  }
}

/** Asks about one repository and prints the answers. */
async function show(repo: string, runDir: string, person?: PersonChoice): Promise<number> {
  const client = new Client({ name: "fluxgit-demo", version: "1.0.0" }, {
    versionNegotiation: { mode: "auto" },
  });
  const started = performance.now();
  await client.connect(
    new StdioClientTransport({
      command: FROM_SOURCE.command,
      args: [...FROM_SOURCE.args],
      env: { ...Deno.env.toObject(), FLUXGIT_RUN_DIR: runDir },
    }),
  );
  try {
    const { tools } = await client.listTools();
    const ms = performance.now() - started;
    const version = client.getNegotiatedProtocolVersion();
    print(`Sidecar started and asked for its tools: ${ms.toFixed(0)} ms, MCP ${version}`);
    print(
      `${tools.length} tools; the model reads ${thousands(listTokens(tools))} tokens of them\n`,
    );
    let ours = NOTHING, theirs = NOTHING;
    const calls = demoCalls(repo, await chooseTarget(repo));
    for (const [i, call] of calls.entries()) {
      const [answer, plain] = await one(client, repo, call, i + 1);
      ours = plus(ours, answer);
      theirs = plus(theirs, plain);
    }
    print("Together");
    print(costLine(count(ours.count, "call"), ours));
    print(costLine(count(theirs.count, "git command"), theirs));
    const ratio = theirs.tokens / ours.tokens;
    print(`\n${ratio.toFixed(1)} times the tokens without the sidecar, and each command is a turn`);
    print("of the model. Two well-chosen commands can be cheaper than a briefing:");
    print("docs/token-comparison has such a pair beside the broad comparison.");
    if (person) await proposeAndUndo(client, repo, person);
    return 0;
  } finally {
    await client.close();
  }
}

/** One question and what it replaces. */
async function one(
  client: Client,
  repo: string,
  call: DemoCall,
  number: number,
): Promise<[Cost, Cost]> {
  const ask = async () => {
    const start = performance.now();
    const result = await client.callTool({ name: call.tool, arguments: call.args });
    return { result, ms: performance.now() - start };
  };
  const first = await ask();
  // The first call of a tool loads its code; an agent's later calls do not wait for that.
  const { result, ms } = await ask();
  const [block] = result.content as { text?: string }[];
  const text = block?.text ?? "";
  const answer: Cost = { count: 1, ms, tokens: countTokens(text) };
  const cold = `    (${first.ms.toFixed(0)} ms the first time, when its code is loaded)`;
  const runs = await runPlain(repo, call.plain);
  const plain: Cost = {
    count: runs.length,
    ms: runs.reduce((sum, run) => sum + run.ms, 0),
    tokens: runs.reduce((sum, run) => sum + countTokens(run.text), 0),
  };
  print(costLine(`${number} ${call.tool}`, answer));
  if (number === 1) print(cold);
  const payload = JSON.parse(text);
  const lines = payload.error
    ? [`error ${payload.error.code}: ${payload.error.message}`]
    : call.tell(payload.data);
  for (const line of lines) print(`    ${clip(line)}`);
  print(costLine(`  instead of ${count(runs.length, "command")}`, plain));
  for (const run of runs) print(`    git ${clip(run.shown)}`);
  print();
  return [answer, plain];
}

function costLine(name: string, { ms, tokens }: Cost): string {
  const right = `${ms.toFixed(0).padStart(5)} ms ${thousands(tokens).padStart(7)} tokens`;
  return `${name.padEnd(40)}${right}`;
}

function count(n: number, word: string): string {
  return `${n} ${word}${n === 1 ? "" : "s"}`;
}

function thousands(n: number): string {
  return n.toLocaleString("en-US");
}

/** Repository text can hold anything: printable characters only, and short enough for a line. */
function clip(line: string): string {
  // deno-lint-ignore no-control-regex
  const plain = line.replace(/[\x00-\x1f\x7f-\x9f\u200b-\u200f\u202a-\u202e\u2066-\u2069]/g, "?");
  return plain.length > 74 ? `${plain.slice(0, 73)}…` : plain;
}

if (import.meta.main) Deno.exit(await main());
