/**
 * The `FLUXGIT_MCP_AUDIT_*` settings, read once at start. A bad key or setting stops the start: the
 * program never runs unsigned or unrecorded because of a mistake. This module loads no library (it
 * is on the start path) and touches no file but the key.
 */

import { DEFAULT_LEDGER_NAME, MAX_KEY_FILE_BYTES } from "./constants.ts";
import { AuditConfigError, reasonOf } from "./errors.ts";
import {
  checkSameFile,
  isAbsolutePath,
  joinPath,
  opensToOthers,
  readAt,
  refuseLinkedFolder,
  refuseOddFile,
  shown,
  splitPath,
} from "./paths.ts";
import { parsePrivateKeyPem, pkcs8Der, spkiDer } from "./pem.ts";

/** Everything a ledger needs; plain data that can be sent to a worker. */
export interface LedgerConfig {
  /** Absolute path of the active file. */
  readonly path: string;
  /** 32-byte Ed25519 seed; null writes unsigned entries. */
  readonly signSeed: Uint8Array | null;
  /** Absolute path of the folder that keeps pruned segments; null deletes them. */
  readonly archive: string | null;
}

/** Names of the settings that {@link readLedgerConfig} looks at. */
export const AUDIT_SETTINGS = [
  "FLUXGIT_MCP_AUDIT_LOG",
  "FLUXGIT_MCP_AUDIT_DISABLED",
  "FLUXGIT_MCP_AUDIT_SIGN_KEY",
  "FLUXGIT_MCP_AUDIT_ARCHIVE",
] as const;

/** The settings by name; undefined is unset. */
export type AuditSettings = {
  readonly [name in typeof AUDIT_SETTINGS[number]]?: string | undefined;
};

/** What the process knows beside the settings. */
export interface AuditSurroundings {
  /** Run directory; null when the platform's base variable is missing. */
  readonly runDir: string | null;
  /** Working directory that relative paths are resolved against, once; default the current one. */
  readonly cwd?: string;
}

/**
 * Reads the settings and the key (`audit.md` 6.4).
 *
 * @returns null when the ledger is switched off (a signing key is still checked then)
 * @throws {AuditConfigError} one printable line, made to follow `fluxgit-sidecar: `
 *
 * @example
 * ```ts
 * import { readLedgerConfig } from "./config.ts";
 *
 * await readLedgerConfig({}, { runDir: "/home/me/.local/share/FluxGit/run" });
 * // { path: "/home/me/.local/share/FluxGit/run/audit/mcp.jsonl", signSeed: null, archive: null }
 * ```
 */
export async function readLedgerConfig(
  settings: AuditSettings,
  surroundings: AuditSurroundings,
): Promise<LedgerConfig | null> {
  const absolute = (path: string) => absolutePath(path, surroundings.cwd);
  const signSeed = await readSignKeySetting(settings, absolute);
  if (settings.FLUXGIT_MCP_AUDIT_DISABLED !== undefined) return null;
  const path = absolute(ledgerPath(settings, surroundings.runDir));
  const archive = settings.FLUXGIT_MCP_AUDIT_ARCHIVE;
  if (archive === undefined) return { path, signSeed, archive: null };
  if (archive === "" || archive.includes("\0")) {
    throw new AuditConfigError(
      "FLUXGIT_MCP_AUDIT_ARCHIVE is set but names no folder; unset it or name one",
    );
  }
  const folder = withoutTrailingSeparator(absolute(archive));
  if (folder === splitPath(path).folder) {
    throw new AuditConfigError(
      "FLUXGIT_MCP_AUDIT_ARCHIVE names the ledger's own folder; name another one",
    );
  }
  return { path, signSeed, archive: folder };
}

/**
 * Path of the ledger by the settings: `FLUXGIT_MCP_AUDIT_LOG`, else `<run dir>/audit/mcp.jsonl`.
 *
 * @throws {AuditConfigError}
 */
export function ledgerPath(settings: AuditSettings, runDir: string | null): string {
  const log = settings.FLUXGIT_MCP_AUDIT_LOG;
  if (log === undefined) {
    if (runDir === null) {
      throw new AuditConfigError(
        "no run directory for the ledger; set FLUXGIT_RUN_DIR or FLUXGIT_MCP_AUDIT_LOG",
      );
    }
    return joinPath(joinPath(runDir, "audit"), DEFAULT_LEDGER_NAME);
  }
  if (log === "") {
    throw new AuditConfigError("FLUXGIT_MCP_AUDIT_LOG is set but empty; unset it or name a file");
  }
  const { name } = splitPath(log);
  if (name === "" || name === "." || name === ".." || log.includes("\0") || !log.isWellFormed()) {
    throw new AuditConfigError(`FLUXGIT_MCP_AUDIT_LOG has no usable file name: ${shown(log)}`);
  }
  return log;
}

/**
 * Reads a private key file under the rules of `audit.md` 5.2.
 *
 * @returns the 32-byte seed
 * @throws {AuditConfigError} with what was refused
 */
export async function readPrivateKeyFile(path: string): Promise<Uint8Array> {
  try {
    const { seed, publicKey } = parsePrivateKeyPem(readSafely(path));
    if (publicKey && !(await belongTogether(seed, publicKey))) {
      throw new AuditConfigError("the private key does not belong to the public key beside it");
    }
    return seed;
  } catch (error) {
    throw new AuditConfigError(`signing key ${shown(path)}: ${reasonOf(error)}`);
  }
}

/**
 * The folders that a ledger writes to: what its worker needs write permission for. It needs to read
 * everywhere, because it looks for links on the whole way to them before each append.
 */
export function ledgerFolders(config: LedgerConfig): string[] {
  const { folder } = splitPath(config.path);
  return config.archive === null ? [folder] : [folder, config.archive];
}

async function readSignKeySetting(
  settings: AuditSettings,
  absolute: (path: string) => string,
): Promise<Uint8Array | null> {
  const path = settings.FLUXGIT_MCP_AUDIT_SIGN_KEY;
  if (path === undefined) return null;
  if (path === "" || path.includes("\0")) {
    throw new AuditConfigError(
      "FLUXGIT_MCP_AUDIT_SIGN_KEY is set but names no file; unset it or name a private key",
    );
  }
  return await readPrivateKeyFile(absolute(path));
}

function readSafely(path: string): string {
  refuseLinkedFolder(splitPath(path).folder);
  if (!refuseOddFile(path)) throw new AuditConfigError("no such file");
  const file = Deno.openSync(path, { read: true });
  try {
    const info = checkSameFile(path, file);
    if (opensToOthers(info)) {
      throw new AuditConfigError("group or others may use it; set its mode to 0600");
    }
    if (info.size === 0) throw new AuditConfigError("the file is empty");
    const bytes = readAt(file, 0, MAX_KEY_FILE_BYTES + 1);
    if (bytes.length > MAX_KEY_FILE_BYTES) {
      throw new AuditConfigError(`the file is larger than ${MAX_KEY_FILE_BYTES} bytes`);
    }
    return new TextDecoder("utf-8", { fatal: true }).decode(bytes);
  } catch (error) {
    if (error instanceof TypeError) throw new AuditConfigError("the file is not valid UTF-8");
    throw error;
  } finally {
    file.close();
  }
}

/** A key file may carry its public half; a pair that does not match is a damaged file. */
async function belongTogether(seed: Uint8Array, publicKey: Uint8Array): Promise<boolean> {
  const sample = new Uint8Array(32);
  const [secret, open] = await Promise.all([
    crypto.subtle.importKey("pkcs8", pkcs8Der(seed), "Ed25519", false, ["sign"]),
    crypto.subtle.importKey("spki", spkiDer(publicKey), "Ed25519", false, ["verify"]),
  ]);
  const signature = await crypto.subtle.sign("Ed25519", secret, sample);
  return await crypto.subtle.verify("Ed25519", open, signature, sample);
}

function absolutePath(path: string, cwd = Deno.cwd()): string {
  return isAbsolutePath(path) ? path : joinPath(cwd, path);
}

function withoutTrailingSeparator(path: string): string {
  return path.length > 1 ? path.replace(/[\\/]+$/, "") || "/" : path;
}
