/**
 * The door of the program: an argument list becomes one command, and only that command's room is
 * loaded. Standard output carries protocol or data; everything for people goes to standard error.
 */
const USAGE = `Usage: fluxgit-sidecar [serve]
       fluxgit-sidecar --version | --help

serve    MCP server on standard input and output (the default)
`;

async function main(args: readonly string[]): Promise<number> {
  const [command = "serve", ...rest] = args;
  switch (command) {
    case "serve":
      if (rest.length > 0) return usage(`serve takes no arguments, got ${quote(rest[0])}`);
      return await (await import("./cli/serve.ts")).serve();
    case "--version":
      Deno.stdout.writeSync(
        encode(`fluxgit-sidecar ${(await import("./common/version.ts")).VERSION}\n`),
      );
      return 0;
    case "--help":
    case "-h":
    case "help":
      Deno.stderr.writeSync(encode(USAGE));
      return 0;
    default:
      return usage(`unknown subcommand ${quote(command)}`);
  }
}

function usage(problem: string): number {
  Deno.stderr.writeSync(encode(`fluxgit-sidecar: ${problem}\n${USAGE}`));
  return 2;
}

function quote(text: string | undefined): string {
  return JSON.stringify((text ?? "").slice(0, 80));
}

function encode(text: string): Uint8Array {
  return new TextEncoder().encode(text);
}

// A read of standard input can still be pending: leave, do not wait for it.
if (import.meta.main) Deno.exit(await main(Deno.args));
