import assert from "node:assert/strict";
import { publicKeyPem, Signer, verifyLedger } from "../../audit/mod.ts";
import { secondVerify } from "./second_verifier.ts";
import { Place } from "./support.ts";

const PROCESSES = 8;
const ENTRIES = 500;
const SIGNED_WITH = 7;

Deno.test("eight processes append at once and half of them are killed: nothing is doubled or lost", async () => {
  await using place = await Place.create();
  // Every other one is killed, each after a number of entries of its own.
  const killAfter = Array.from(
    { length: PROCESSES },
    (_, at) => at % 2 === 0 ? Infinity : 20 + Math.floor(Math.random() * (ENTRIES - 50)),
  );
  const story = `killed after: ${killAfter.join(", ")}`;
  const told = await Promise.all(killAfter.map((after, at) => runOne(place, `w${at}`, after)));

  const report = await verifyLedger(place.ledger, {
    publicKeys: [publicKeyPem(new Signer(new Uint8Array(32).fill(SIGNED_WITH)).publicKey)],
  });
  if (report.failure) assert.equal(report.failure.torn, true, `${report.failure.reason}; ${story}`);

  const written = new Map<string, number[]>();
  for (const line of place.lines()) {
    const { writer, number } = JSON.parse(line) as { writer: string; number: number };
    written.set(writer, [...written.get(writer) ?? [], number]);
  }
  for (const [at, numbers] of told.entries()) {
    const there = written.get(`w${at}`) ?? [];
    // In order, each once; a killed one may have one entry in flight that it was not told about.
    assert.deepEqual(there, Array.from({ length: there.length }, (_, n) => n + 1), story);
    const inFlight = there.length - numbers;
    assert.ok(inFlight === 0 || (killAfter[at] !== Infinity && inFlight === 1), story);
    if (killAfter[at] === Infinity) assert.equal(there.length, ENTRIES, story);
  }

  await place.fill(1);
  const after = await verifyLedger(place.ledger);
  assert.equal(after.failure, null, story);
  assert.equal(after.chained, place.lines().length);
  const second = await secondVerify(place.folder, "mcp.jsonl", {
    keys: [new Signer(new Uint8Array(32).fill(SIGNED_WITH)).publicKey],
    signatureEvery: 40,
  });
  assert.equal(second.reason, "", story);
  assert.equal(second.entries, after.entries);
});

/** @returns how many entries the process was told are written */
async function runOne(place: Place, id: string, killAfter: number): Promise<number> {
  const child = new Deno.Command(Deno.execPath(), {
    args: [
      ...["run", "-q", "-A"],
      new URL("append_process.ts", import.meta.url).pathname,
      ...[place.ledger, id, String(ENTRIES), id === "w0" ? "-" : String(SIGNED_WITH)],
    ],
    stdout: "piped",
    stderr: "inherit",
  }).spawn();
  let written = 0;
  let rest = "";
  const decoder = new TextDecoder();
  for await (const chunk of child.stdout) {
    const lines = (rest + decoder.decode(chunk, { stream: true })).split("\n");
    rest = lines.pop()!;
    for (const line of lines) {
      if (/^\d+$/.test(line)) assert.equal(Number(line), ++written);
      else assert.match(line, /^end 0$|^notice .* interrupted append/);
      if (written === killAfter) child.kill("SIGKILL");
    }
  }
  const status = await child.status;
  assert.equal(status.code, killAfter === Infinity ? 0 : 137);
  return written;
}
