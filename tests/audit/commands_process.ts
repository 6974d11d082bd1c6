/** The commands of the ledger as a program of their own, for tests that need one. */
import { run as runAudit } from "../../cli/audit.ts";
import { run as runVerify } from "../../cli/verify_audit.ts";

const [command, ...args] = Deno.args;
const encoder = new TextEncoder();
const io = {
  stdout: (text: string) => void Deno.stdout.writeSync(encoder.encode(text)),
  stderr: (text: string) => void Deno.stderr.writeSync(encoder.encode(text)),
  env: (name: string) => Deno.env.get(name),
};
if (command === "verify-audit") Deno.exit(await runVerify(args, io));
if (command === "audit") Deno.exit(await runAudit(args, io));
Deno.exit(2);
