/** The configurations in README.md and docs/hosts.md: well-formed, alike, and they start the server. */

import assert from "node:assert/strict";
import { BINARY, Host, ROOT, serverEnv } from "./host.ts";
import { storySandbox } from "./tool_calls.ts";

interface Entry {
  readonly command: string;
  readonly args: readonly string[];
  readonly type?: string;
}

/** Every server entry of the JSON blocks, with the member it stands under. */
async function entries(file: string): Promise<{ under: string; entry: Entry }[]> {
  const text = await Deno.readTextFile(`${ROOT}/${file}`);
  return [...text.matchAll(/^```json\n([\s\S]*?)^```$/gm)].flatMap(([, block]) =>
    Object.entries(JSON.parse(block!) as Record<string, Record<string, Entry>>).map(
      ([under, servers]) => ({ under, entry: servers["fluxgit"]! }),
    )
  );
}

Deno.test("all hosts are told the same command, under the member that each of them reads", async () => {
  const [readme, hosts] = await Promise.all(["README.md", "docs/hosts.md"].map(entries));
  const { command, args } = readme![0]!.entry;
  assert.deepEqual(
    hosts!.map(({ under }) => under),
    ["mcpServers", "mcpServers", "servers", "mcpServers", "context_servers", "mcpServers"],
  );
  for (const { entry } of hosts!) {
    assert.deepEqual([entry.command, entry.args], [command, args]);
  }
  const text = await Deno.readTextFile(`${ROOT}/docs/hosts.md`);
  assert(
    text.includes(`command = "${command}"\nargs = ${JSON.stringify(args).replaceAll(",", ", ")}`),
  );
  for (const cli of ["claude mcp add --scope user", "codex mcp add"]) {
    assert(text.includes(`${cli} fluxgit -- ${command} ${args.join(" ")}\n`), cli);
  }
});

Deno.test({
  name: "the command of the README starts the server, whatever folder the host is in",
  ignore: BINARY !== null,
  async fn() {
    const { box, repo } = await storySandbox();
    await using _box = box;
    const [readme] = await entries("README.md");
    const { command, args } = readme!.entry;
    // npx only fetches the Deno that already runs this test: leave it out, keep the rest as written.
    assert.deepEqual([command, ...args.slice(0, 1)], ["npx", "-y"]);
    assert.match(args[1]!, /^deno@\d+\.\d+\.\d+$/);
    const rest = args.slice(2).map((word) => word.replace("/path/to/fluxgit-sidecar", ROOT));
    await using host = new Host({
      command: { command: Deno.execPath(), args: rest },
      env: serverEnv(box),
      cwd: box.home,
    });
    await host.initialize();
    const { data } = await host.payload("repo.status", { repoPath: repo });
    assert.equal(data.branch, "feature/checkout");
    assert.equal(host.stderr, "");
  },
});
