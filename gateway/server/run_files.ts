/**
 * The files that a running gateway keeps in the run directory: the lock that makes it the only one,
 * the journal, and `gateway.json`, by which a sidecar finds it (`additions.md` section 4).
 */

/** Held for the life of the gateway; the system frees it when the process ends, however it ends. */
export interface GatewayLock {
  release(): void;
}

/** Creates the private folder of the gateway and gives its canonical path. Throws when it is no private place. */
export function prepareRunDir(runDir: string): string {
  Deno.mkdirSync(runDir, { recursive: true, mode: 0o700 });
  const path = Deno.realPathSync(runDir);
  const folder = `${path}/gateway`;
  Deno.mkdirSync(folder, { recursive: true, mode: 0o700 });
  const info = Deno.lstatSync(folder);
  if (!info.isDirectory) throw new Error(`${folder} is not a directory`);
  if (info.mode !== null && Deno.build.os !== "windows" && (info.mode & 0o077) !== 0) {
    Deno.chmodSync(folder, 0o700);
  }
  return path;
}

/** Takes the lock of a run directory. Throws when another gateway holds it. */
export async function lockRunDir(runDir: string): Promise<GatewayLock> {
  const path = `${runDir}/gateway/lock`;
  refuseLink(path);
  const file = Deno.openSync(path, { create: true, write: true, mode: 0o600 });
  // A try-lock that also works where the runtime has none: a lock that is free comes at once.
  const taken = file.lock(true).then(() => true, () => false);
  let timer: ReturnType<typeof setTimeout> | undefined;
  const late = new Promise<boolean>((resolve) => timer = setTimeout(() => resolve(false), 500));
  const got = await Promise.race([taken, late]);
  clearTimeout(timer);
  if (!got) throw new Error("another gateway runs with this run directory");
  return { release: () => file.close() };
}

/** Writes `gateway.json` (0600) in one step. */
export function announce(runDir: string, address: string, startedAt: string): void {
  const path = `${runDir}/gateway.json`;
  const temporary = `${runDir}/gateway/.announce-${crypto.randomUUID()}`;
  const text = JSON.stringify({ version: 1, address, pid: Deno.pid, startedAt }) + "\n";
  Deno.writeTextFileSync(temporary, text, { mode: 0o600, createNew: true });
  Deno.renameSync(temporary, path);
}

/** Removes `gateway.json` if it still speaks of this process. */
export function withdraw(runDir: string): void {
  try {
    const path = `${runDir}/gateway.json`;
    if ((JSON.parse(Deno.readTextFileSync(path)) as { pid?: unknown }).pid === Deno.pid) {
      Deno.removeSync(path);
    }
  } catch { /* it is gone */ }
}

function refuseLink(path: string): void {
  try {
    if (!Deno.lstatSync(path).isFile) throw new Error(`${path} is not a regular file`);
  } catch (error) {
    if (!(error instanceof Deno.errors.NotFound)) throw error;
  }
}
