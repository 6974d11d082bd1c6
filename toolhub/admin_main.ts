/** `mcp-toolhub-admin`: where a person looks at requests and decides. */

import { VERSION, write } from "./world.ts";

const USAGE = `Usage: mcp-toolhub-admin list
       mcp-toolhub-admin show ID
       mcp-toolhub-admin approve ID
       mcp-toolhub-admin reject ID
       mcp-toolhub-admin prune --older-than-days N [--apply]
       mcp-toolhub-admin --version | --help

list      all requests, oldest first
show      one request with its whole content or patch
approve   show one request and ask for the word APPROVE
reject    refuse one request
prune     count, or with --apply remove, ended requests that are older

Needs TOOLHUB_WORKSPACE_ROOT (and TOOLHUB_STATE_ROOT when the server has it), and the same user.
Exit codes: 0 done, 1 not done, 2 wrong use or settings
`;

async function main(args: readonly string[]): Promise<number> {
  const [command, ...rest] = args;
  if (command === "--version" && rest.length === 0) {
    write("stdout", `${VERSION}\n`);
    return 0;
  }
  if (command === "--help" || command === "-h") {
    write("stdout", USAGE);
    return 0;
  }
  const { parseCommand, runCommand } = await import("./admin/commands.ts");
  const parsed = parseCommand(args);
  if (typeof parsed === "string") {
    write("stderr", `mcp-toolhub-admin: ${parsed}\n${USAGE}`);
    return 2;
  }
  return await runCommand(parsed);
}

if (import.meta.main) Deno.exit(await main(Deno.args));
