/**
 * Bench cases of the ledger: what one append costs early and late in its life, and what verifying
 * costs beside the cryptography that cannot be avoided. Both are ratios within one run, so a slow
 * machine does not matter; a busy one still does, so each takes the best of several rounds.
 */

import { hash, verify } from "node:crypto";
import { createPublicKey, type KeyObject } from "node:crypto";
import { openLedger, publicKeyPem, Signer, verifyLedger } from "../../audit/mod.ts";
import type { Ledger } from "../../audit/mod.ts";

/** One measured number; `budget` is its upper limit. */
export interface BenchResult {
  readonly name: string;
  readonly unit: string;
  readonly value: number;
  readonly budget?: number;
}

const EARLY = 100;
const LATE = 20_000;
const SEED = Uint8Array.from({ length: 32 }, (_, at) => at);

/** All cases of the ledger. Takes some seconds. */
export async function benchAudit(): Promise<BenchResult[]> {
  const folder = await Deno.makeTempDir({ prefix: "audit-bench-" });
  try {
    return [...await benchAppend(folder), ...await benchVerify(folder)];
  } finally {
    await Deno.remove(folder, { recursive: true });
  }
}

/** Two ledgers with an archive, one short and one long; appends to them alternate. */
async function benchAppend(folder: string): Promise<BenchResult[]> {
  const [early, late] = await Promise.all([
    filledLedger(`${folder}/early`, EARLY),
    filledLedger(`${folder}/late`, LATE),
  ]);
  const times: [number[], number[]] = [[], []];
  for (let round = 0; round < 300; round++) {
    for (const [at, ledger] of [early, late].entries()) {
      const start = performance.now();
      const result = await ledger.append(sampleEntry(round));
      times[at]!.push(performance.now() - start);
      if (!result.written) throw new Error(result.reason);
    }
  }
  await Promise.all([early.close(), late.close()]);
  const [before, after] = times.map(median) as [number, number];
  return [
    { name: `ledger append at entry ${EARLY}`, unit: "ms", value: before },
    { name: `ledger append at entry ${LATE}`, unit: "ms", value: after },
    { name: "ledger append, late to early", unit: "ratio", value: after / before, budget: 1.5 },
  ];
}

/** Verifying a signed ledger from disk against hashing and checking the same bytes from memory. */
async function benchVerify(folder: string): Promise<BenchResult[]> {
  const path = `${folder}/late/mcp.jsonl`;
  const archive = `${folder}/late/archive`;
  const signer = new Signer(SEED);
  const publicKeys = [publicKeyPem(signer.publicKey)];
  const prepared: { hashed: Uint8Array; signed: Uint8Array; signature: Uint8Array }[] = [];
  await verifyLedger(path, {
    archive,
    onRecord: (line) =>
      prepared.push({
        hashed: line.hashedBytes().slice(),
        signed: line.signedBytes().slice(),
        signature: Uint8Array.fromBase64(line.members.signature as string, {
          alphabet: "base64url",
        }),
      }),
  });
  const key = createPublicKey(publicKeys[0]!);
  let [bare, whole] = [Infinity, Infinity];
  for (let round = 0; round < 3; round++) {
    bare = Math.min(bare, timed(() => bareLoop(prepared, key)));
    const start = performance.now();
    const report = await verifyLedger(path, { publicKeys, requireSigned: true, archive });
    whole = Math.min(whole, performance.now() - start);
    if (!report.ok || report.signed !== prepared.length) throw new Error(report.failure?.reason);
  }
  return [
    { name: "verify, an entry", unit: "µs", value: 1_000 * whole / prepared.length },
    {
      name: "bare SHA-256 and Ed25519, an entry",
      unit: "µs",
      value: 1_000 * bare / prepared.length,
    },
    { name: "verify, to the bare loop", unit: "ratio", value: whole / bare, budget: 2 },
  ];
}

function bareLoop(
  entries: readonly { hashed: Uint8Array; signed: Uint8Array; signature: Uint8Array }[],
  key: KeyObject,
): void {
  for (const { hashed, signed, signature } of entries) {
    hash("sha256", hashed, "hex");
    if (!verify(null, signed, key, signature)) throw new Error("a signature does not verify");
  }
}

async function filledLedger(folder: string, entries: number): Promise<Ledger> {
  Deno.mkdirSync(folder, { mode: 0o700 });
  const ledger = openLedger({
    path: `${folder}/mcp.jsonl`,
    signSeed: SEED,
    archive: `${folder}/archive`,
  });
  for (let done = 0; done < entries;) {
    const batch = Math.min(1_000, entries - done);
    const results = await Promise.all(
      Array.from({ length: batch }, (_, at) => ledger.append(sampleEntry(done + at))),
    );
    const failed = results.find((result) => !result.written);
    if (failed && !failed.written) throw new Error(failed.reason);
    done += batch;
  }
  return ledger;
}

function sampleEntry(number: number): Record<string, unknown> {
  return {
    timestamp: 1_700_000_000_000 + number,
    tool: "repo.status",
    repo_scope: "repoPath:sha256:002e4a23dcf2441631b7404267954caa869ba096ab7db09252d5ca75e0a548ad",
    args_fingerprint: "sha256:07f29c9b2bb42b3cadf12e5246c271eb84d4d8a7f636a56b6fad2eb12bcb6613",
    event_type: "tool_call",
    approval: "not_required",
    risk: "none",
    readOnly: true,
    result: "success",
    session_id: "bench",
    duration_ms: 3,
    summary: "read-only repo.status: success",
    sidecarReadOnly: true,
  };
}

function timed(work: () => void): number {
  const start = performance.now();
  work();
  return performance.now() - start;
}

function median(values: readonly number[]): number {
  const sorted = [...values].sort((a, b) => a - b);
  return sorted[sorted.length >> 1] ?? Number.NaN;
}
