/**
 * A process that appends entries to a ledger one after another and prints the number of each that it
 * was told is written. Arguments: path, id, count, seed byte or "-" for unsigned.
 */
import { openLedger } from "../../audit/mod.ts";

const [path = "", id = "", count = "0", seed = "-"] = Deno.args;
const encoder = new TextEncoder();
const say = (text: string) => void Deno.stdout.writeSync(encoder.encode(`${text}\n`));
const ledger = openLedger({
  path,
  signSeed: seed === "-" ? null : new Uint8Array(32).fill(Number(seed)),
  archive: null,
}, { notice: (text) => say(`notice ${text}`), lockWaitMs: 60_000 });
for (let number = 1; number <= Number(count); number++) {
  const result = await ledger.append({ tool: "repo.status", writer: id, number });
  say(result.written ? `${number}` : `failed ${result.reason}`);
}
say(`end ${await ledger.close()}`);
