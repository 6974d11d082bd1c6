import { makePrivateFolder, readPrivateFile, writePrivateFile } from "../../common/private_file.ts";

/**
 * The files that a running gateway keeps in the run directory: the lock that makes it the only one,
 * the journal, and `gateway.json`, by which a sidecar finds it (`additions.md` section 4).
 */

/** Held for the life of the gateway; the system frees it when the process ends, however it ends. */
export interface GatewayLock {
  release(): void;
}

const FOLDER = "gateway";
const ANNOUNCEMENT = "gateway.json";
const MAX_ANNOUNCEMENT = 4_096;
/** A lock that nobody holds comes at once. Milliseconds. */
const LOCK_WAIT_MS = 500;

/**
 * Creates the private folder of the gateway and gives the run directory's canonical path. Throws when
 * others could put files of their own in their place.
 */
export function prepareRunDir(runDir: string): string {
  Deno.mkdirSync(runDir, { recursive: true, mode: 0o700 });
  const path = Deno.realPathSync(runDir);
  const { mode } = Deno.statSync(path);
  if (mode !== null && Deno.build.os !== "windows" && (mode & 0o022) !== 0) {
    throw new Error(
      `others may write to the run directory ${
        JSON.stringify(path)
      }: take that away (chmod go-w) or use another one`,
    );
  }
  const folder = makePrivateFolder(path, FOLDER);
  const inner = Deno.lstatSync(folder).mode;
  if (inner !== null && Deno.build.os !== "windows" && (inner & 0o077) !== 0) {
    Deno.chmodSync(folder, 0o700);
  }
  return path;
}

/** Takes the lock of a run directory. Throws when another gateway holds it, or it is no plain file. */
export async function lockRunDir(runDir: string): Promise<GatewayLock> {
  const path = `${runDir}/${FOLDER}/lock`;
  refuseOddFile(path);
  const file = Deno.openSync(path, { create: true, write: true, mode: 0o600 });
  // A try-lock that also works where the runtime has none.
  const taken = file.lock(true).then(() => true, () => false);
  let timer: ReturnType<typeof setTimeout> | undefined;
  const late = new Promise<null>((resolve) =>
    timer = setTimeout(() => resolve(null), LOCK_WAIT_MS)
  );
  const got = await Promise.race([taken, late]);
  clearTimeout(timer);
  if (got === null) {
    // The wait cannot be called off: a lock that comes after all is let go again.
    void taken.then(() => file.close());
    throw new Error(
      `another gateway runs with the run directory ${JSON.stringify(runDir)}; one is enough`,
    );
  }
  const [open, named] = [file.statSync(), Deno.lstatSync(path)];
  if (!got || !named.isFile || open.dev !== named.dev || open.ino !== named.ino) {
    file.close();
    throw new Error(`${JSON.stringify(path)} cannot be locked, or was replaced meanwhile`);
  }
  return { release: () => file.close() };
}

/** Writes `gateway.json` (0600) in one step. */
export function announce(runDir: string, address: string, startedAt: string): void {
  writePrivateFile(
    `${runDir}/${ANNOUNCEMENT}`,
    JSON.stringify({ version: 1, address, pid: Deno.pid, startedAt }) + "\n",
  );
}

/** Removes `gateway.json` if it still speaks of this process. Never throws. */
export function withdraw(runDir: string): void {
  try {
    const path = `${runDir}/${ANNOUNCEMENT}`;
    const bytes = readPrivateFile(path, MAX_ANNOUNCEMENT);
    const said = JSON.parse(new TextDecoder().decode(bytes ?? new Uint8Array()));
    if (said?.pid === Deno.pid) Deno.removeSync(path);
  } catch { /* it is gone, or not ours */ }
}

function refuseOddFile(path: string): void {
  try {
    if (!Deno.lstatSync(path).isFile) {
      throw new Error(`${JSON.stringify(path)} is not a regular file (a link is not followed)`);
    }
  } catch (error) {
    if (!(error instanceof Deno.errors.NotFound)) throw error;
  }
}
