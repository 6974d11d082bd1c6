/**
 * Another program with a database open: runs the statements of its argument, says so, and holds the
 * connection until its input ends. `deno run -A sqlite_writer.ts PATH SQL`
 */
import { DatabaseSync } from "node:sqlite";

const db = new DatabaseSync(Deno.args[0]!);
db.exec(Deno.args[1]!);
await Deno.stdout.write(new TextEncoder().encode("ready\n"));
await Deno.stdin.read(new Uint8Array(1));
// As a program that is killed: nothing is tidied up.
Deno.exit(0);
