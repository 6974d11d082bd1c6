/** `mcp-toolhub`: the server. Standard output carries protocol only. */

import { StartError } from "./errors.ts";
import { VERSION, write } from "./world.ts";

const USAGE = `Usage: mcp-toolhub serve
       mcp-toolhub --version | --help

serve   MCP server on standard input and output for one workspace

TOOLHUB_WORKSPACE_ROOT         absolute path of the folder to serve (required)
TOOLHUB_STATE_ROOT             absolute path of a folder outside it for approvals and the audit log
TOOLHUB_APPROVAL_TTL_SECONDS   how long a request may be approved and used (300)
TOOLHUB_ALLOW_HARD_LINKS       1: also read files that have several names
`;

async function main(args: readonly string[]): Promise<number> {
  const [command, ...rest] = args;
  if (rest.length === 0 && command === "--version") {
    write("stdout", `${VERSION}\n`);
    return 0;
  }
  if (command === "--help" || command === "-h") {
    write("stdout", USAGE);
    return 0;
  }
  if (command !== "serve" || rest.length > 0) {
    const problem = command === undefined
      ? "a command is missing"
      : `unknown arguments ${JSON.stringify(args.join(" ").slice(0, 80))}`;
    write("stderr", `mcp-toolhub: ${problem}\n${USAGE}`);
    return 2;
  }
  try {
    const { serve } = await import("./serve.ts");
    return await serve();
  } catch (error) {
    if (!(error instanceof StartError)) throw error;
    write("stderr", `mcp-toolhub: ${error.message}\n`);
    return 2;
  }
}

// A read of standard input can still be pending: leave, do not wait for it.
if (import.meta.main) Deno.exit(await main(Deno.args));
