/**
 * The door of the program: an argument list becomes one command, and only that command's room is
 * loaded. Standard output carries protocol or data; everything for people goes to standard error.
 */
const USAGE = `Usage: fluxgit-sidecar [serve]
       fluxgit-sidecar gateway [--port N] [--json] | gateway register PATH
       fluxgit-sidecar approvals list | show ID | approve ID | reject ID | reconcile ID --completed|--failed  [--code-stdin]
       fluxgit-sidecar restore list | show ID | apply ID | undo | redo  [--repo PATH]
       fluxgit-sidecar verify-audit LEDGER [--pubkey PEM] [--require-signed] [--expect-head SEQ:HASH] [--json]
       fluxgit-sidecar audit keygen DIR | export --format csv|json|jsonl [LEDGER] | head [LEDGER]
       fluxgit-sidecar --version | --help

serve         MCP server on standard input and output (the default)
gateway       wait for proposals and carry out what a person approves
approvals     look at proposals and decide on them
restore       look at restore points and go back to one
verify-audit  check a ledger: chain, names, checkpoints, signatures
audit         make a signing key, export a ledger, print its head
`;

async function main(args: readonly string[]): Promise<number> {
  const [command = "serve", ...rest] = args;
  switch (command) {
    case "serve":
      if (rest.length > 0) return usage(`serve takes no arguments, got ${quote(rest[0])}`);
      return await (await import("./cli/serve.ts")).serve();
    case "gateway":
      return await (await import("./cli/gateway.ts")).run(rest, await interactiveIo());
    case "approvals":
      return await (await import("./cli/approvals.ts")).run(rest, await interactiveIo());
    case "restore":
      return await (await import("./cli/restore.ts")).run(rest, await interactiveIo());
    case "verify-audit":
      return await (await import("./cli/verify_audit.ts")).run(rest, await commandIo());
    case "audit":
      return await (await import("./cli/audit.ts")).run(rest, await commandIo());
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

/** What a command for people may use of the process. */
async function commandIo() {
  const [{ readVariable }, { writeAll }] = await Promise.all([
    import("./common/platform.ts"),
    import("./protocol/output.ts"),
  ]);
  return {
    stdout: (text: string) => writeAll(Deno.stdout, encode(text)),
    stderr: (text: string) => writeAll(Deno.stderr, encode(text)),
    env: readVariable,
  };
}

async function interactiveIo() {
  const { lineReader } = await import("./cli/line_reader.ts");
  return {
    ...await commandIo(),
    interactive: Deno.stdin.isTerminal(),
    screens: { stdout: Deno.stdout.isTerminal(), stderr: Deno.stderr.isTerminal() },
    readLine: lineReader(Deno.stdin),
    drop: (...names: Deno.PermissionName[]) => {
      for (const name of names) Deno.permissions.revokeSync({ name } as Deno.PermissionDescriptor);
    },
  };
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
