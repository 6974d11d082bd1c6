/**
 * The audit ledger: what was asked, by whom, and what came of it, in a file that shows tampering.
 *
 * Each entry carries the hash of the one before it and, with a key, an Ed25519 signature. Anyone can
 * verify a ledger with {@link verifyLedger}, or one entry with {@link verifyEntry}; nothing of this
 * module needs the program that wrote it.
 *
 * @example Write two entries, verify them, and see a change found
 * ```ts
 * import { openLedger, verifyLedger } from "./mod.ts";
 *
 * const folder = await Deno.makeTempDir(); // private, as a ledger's folder has to be
 * const path = `${folder}/mcp.jsonl`;
 * const ledger = openLedger({ path, signSeed: null, archive: null });
 * await ledger.append({ event_type: "tool_call", tool: "repo.status", result: "success" });
 * await ledger.append({ event_type: "tool_call", tool: "repo.refs", result: "success" });
 * await ledger.close();
 *
 * const good = await verifyLedger(path);
 * if (!good.ok || good.chained !== 2) throw new Error("it holds");
 *
 * const text = await Deno.readTextFile(path);
 * await Deno.writeTextFile(path, text.replace("repo.refs", "repo.brief"));
 * const bad = await verifyLedger(path);
 * if (bad.ok || bad.failure?.line !== 2) throw new Error("the change is found");
 * await Deno.remove(folder, { recursive: true });
 * ```
 *
 * @example Pin the key and a head that was kept elsewhere
 * ```ts
 * import { openLedger, Signer, publicKeyPem, verifyLedger } from "./mod.ts";
 *
 * const folder = await Deno.makeTempDir();
 * const path = `${folder}/mcp.jsonl`;
 * const signSeed = crypto.getRandomValues(new Uint8Array(32));
 * const ledger = openLedger({ path, signSeed, archive: null });
 * const result = await ledger.append({ tool: "repo.status" });
 * await ledger.close();
 * if (!result.written) throw new Error(result.reason);
 *
 * const report = await verifyLedger(path, {
 *   publicKeys: [publicKeyPem(new Signer(signSeed).publicKey)],
 *   requireSigned: true,
 *   expectHeads: [result.head],
 * });
 * if (!report.ok || report.notExcluded.length > 0) throw new Error("nothing is left open");
 * await Deno.remove(folder, { recursive: true });
 * ```
 *
 * @module
 */

export type { EntryInput } from "./build.ts";
export { canonicalJson } from "./canonical.ts";
export type { ClockSteps, Gap, Head } from "./chain.ts";
export type { LedgerConfig } from "./config.ts";
export { callEntry, type CallRecord, gatewayPathScope, repoPathScope, repoScope } from "./entry.ts";
export { AuditConfigError, LedgerError, type LedgerErrorKind } from "./errors.ts";
export { type ExportFormat, exportLedger, type ExportOptions } from "./export.ts";
export { fingerprint } from "./hash.ts";
export { headNote, headText, noteVerifierKey, parseHeadText } from "./head.ts";
export { type KeyPair, writeKeyPair } from "./keygen.ts";
export {
  type AppendResult,
  Ledger,
  type LedgerHooks,
  type LedgerState,
  openLedger,
} from "./ledger.ts";
export { publicKeyPem } from "./pem.ts";
export { Signer } from "./signing.ts";
export {
  type EntryReport,
  type NotExcluded,
  verifyEntry,
  type VerifyFailure,
  verifyLedger,
  type VerifyOptions,
  type VerifyReport,
} from "./verify.ts";
