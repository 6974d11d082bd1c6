/** Ledgers, keys and commands for the tests of `audit/`. */

import { openLedger, publicKeyPem, Signer } from "../../audit/mod.ts";
import type { AppendResult, Ledger, LedgerConfig, LedgerHooks } from "../../audit/mod.ts";
import { LedgerNames } from "../../audit/folder.ts";
import { pkcs8Der } from "../../audit/pem.ts";
import type { CommandIo } from "../../cli/audit_input.ts";

export const SEED: Uint8Array = Uint8Array.from({ length: 32 }, (_, at) => at);
export const OTHER_SEED: Uint8Array = Uint8Array.from({ length: 32 }, (_, at) => 200 - at);
export const PUBLIC_KEY: Uint8Array = new Signer(SEED).publicKey;
export const OTHER_PUBLIC_KEY: Uint8Array = new Signer(OTHER_SEED).publicKey;
export const PUBLIC_PEM: string = publicKeyPem(PUBLIC_KEY);
export const OTHER_PUBLIC_PEM: string = publicKeyPem(OTHER_PUBLIC_KEY);

/** PEM of a seed as other tools write it. */
export function privatePem(seed: Uint8Array): string {
  return `-----BEGIN PRIVATE KEY-----\n${pkcs8Der(seed).toBase64()}\n-----END PRIVATE KEY-----\n`;
}

/** Thousands of synced appends are what makes these tests slow on a real disk. */
const MEMORY_FOLDER: string | null = ((): string | null => {
  try {
    const probe = Deno.makeTempDirSync({ dir: "/dev/shm" });
    Deno.removeSync(probe);
    return "/dev/shm";
  } catch {
    return null;
  }
})();

/** A private folder that goes away with the test. */
export class Place implements AsyncDisposable {
  readonly notices: string[] = [];
  private constructor(readonly root: string, readonly ledger: string) {}

  /** @param onDisk true for a place that a process with limited permissions can reach */
  static async create(onDisk = false): Promise<Place> {
    const dir = onDisk ? null : MEMORY_FOLDER;
    const root = await Deno.realPath(
      await Deno.makeTempDir({ prefix: "fluxgit-audit-", ...(dir ? { dir } : {}) }),
    );
    await Deno.mkdir(`${root}/audit`, { mode: 0o700 });
    return new Place(root, `${root}/audit/mcp.jsonl`);
  }

  get folder(): string {
    return `${this.root}/audit`;
  }

  open(config: Partial<LedgerConfig> = {}, hooks: LedgerHooks = {}): Ledger {
    return openLedger(
      { path: this.ledger, signSeed: null, archive: null, ...config },
      { notice: (text) => this.notices.push(text), ...hooks },
    );
  }

  /** Appends numbered entries, each filled up to `bytes`, and closes. */
  async fill(
    count: number,
    options: { bytes?: number; config?: Partial<LedgerConfig>; from?: number } = {},
  ): Promise<void> {
    const ledger = this.open(options.config);
    await appendMany(ledger, count, options);
    await ledger.close();
  }

  /**
   * Appends numbered entries in files of `each`. A verifier takes segments of any size, so these need
   * not be filled up to their limit as the writer does it.
   */
  async fillFiles(
    count: number,
    each: number,
    options: { bytes?: number; config?: Partial<LedgerConfig>; from?: number } = {},
  ): Promise<void> {
    const from = options.from ?? 1;
    for (let done = 0; done < count; done += each) {
      if (done > 0) this.rotate();
      await this.fill(Math.min(each, count - done), { ...options, from: from + done });
    }
  }

  /** Makes the active file a segment. */
  rotate(): void {
    const lines = this.lines();
    const [first, last] = [lines[0]!, lines.at(-1)!].map((line) => JSON.parse(line));
    const name = new LedgerNames(this.ledger).segment(
      first.sequence,
      last.sequence,
      first.segmentId,
    );
    Deno.renameSync(this.ledger, this.file(name));
  }

  file(name: string): string {
    return `${this.folder}/${name}`;
  }

  write(name: string, text: string | Uint8Array, mode = 0o600): string {
    const path = `${this.root}/${name}`;
    Deno.writeFileSync(path, typeof text === "string" ? new TextEncoder().encode(text) : text, {
      mode,
    });
    return path;
  }

  /** Names in the ledger's folder without the lock. */
  names(): string[] {
    return [...Deno.readDirSync(this.folder)].map(({ name }) => name)
      .filter((name) => !name.endsWith(".lock")).sort();
  }

  segments(): string[] {
    return this.names().filter((name) => name.includes(".segment-"));
  }

  checkpoints(): string[] {
    return this.names().filter((name) => name.includes(".checkpoint-"));
  }

  /** Lines of a file of the ledger, without line ends. */
  lines(name = "mcp.jsonl"): string[] {
    return Deno.readTextFileSync(this.file(name)).split("\n").slice(0, -1);
  }

  setLines(lines: readonly string[], name = "mcp.jsonl"): void {
    Deno.writeTextFileSync(this.file(name), lines.map((line) => line + "\n").join(""));
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await Deno.remove(this.root, { recursive: true });
  }
}

/** An entry with a number in it, of about `bytes` bytes when that is more than it needs. */
export function entry(number: number, bytes = 0): Record<string, unknown> {
  return {
    timestamp: 1_700_000_000_000 + number,
    tool: "repo.status",
    result: "success",
    number,
    ...(bytes > 600 ? { filling: "x".repeat(bytes - 600) } : {}),
  };
}

/** Appends numbered entries; throws when one is not written. */
export async function appendMany(
  ledger: Ledger,
  count: number,
  options: { bytes?: number; from?: number } = {},
): Promise<AppendResult[]> {
  const results: AppendResult[] = [];
  for (let done = 0; done < count; done += 32) {
    results.push(
      ...await Promise.all(
        Array.from(
          { length: Math.min(32, count - done) },
          (_, at) => ledger.append(entry((options.from ?? 1) + done + at, options.bytes)),
        ),
      ),
    );
  }
  const failed = results.find((result) => !result.written);
  if (failed && !failed.written) throw new Error(failed.reason);
  return results;
}

/** What a command did. */
export interface Ran {
  code: number;
  out: string;
  err: string;
}

/** Runs a command in this process with an environment of its own. */
export async function runCommand(
  run: (args: string[], io: CommandIo) => Promise<number>,
  args: string[],
  env: Record<string, string> = {},
): Promise<Ran> {
  const ran: Ran = { code: -1, out: "", err: "" };
  ran.code = await run(args, {
    stdout: (text) => void (ran.out += text),
    stderr: (text) => void (ran.err += text),
    env: (name) => env[name],
  });
  return ran;
}
