/**
 * Throw-away folders below `<run_dir>/tmp`. What a killed process left is swept after a day, a
 * bounded number at a time.
 */
const STALE_MS = 24 * 60 * 60 * 1_000;
const MAX_LOOKED_AT = 512;

export class ScratchFolders {
  readonly #base: string;
  readonly #made = new Set<string>();
  #ready = false;

  /** @param runDir canonical run directory; @param pid of the program, for the folders' names */
  constructor(runDir: string, readonly pid: number) {
    this.#base = `${runDir}/tmp`;
  }

  /** Makes an empty folder with mode 0700 and gives its path. */
  make(): string {
    if (!this.#ready) this.#prepare();
    const path = `${this.#base}/${this.pid}-${crypto.randomUUID()}`;
    Deno.mkdirSync(path, { mode: 0o700 });
    this.#made.add(path);
    return path;
  }

  /** Removes a folder that {@link make} made; any other path is refused. */
  remove(path: string): void {
    if (!this.#made.delete(path)) throw new Error("this folder was not made here");
    Deno.removeSync(path, { recursive: true });
  }

  #prepare(): void {
    Deno.mkdirSync(this.#base, { recursive: true, mode: 0o700 });
    // A link here would send writes, and the sweep, somewhere else.
    if (!Deno.lstatSync(this.#base).isDirectory) {
      throw new Error(`${this.#base} is not a directory`);
    }
    this.#ready = true;
    let looked = 0;
    for (const entry of Deno.readDirSync(this.#base)) {
      if (++looked > MAX_LOOKED_AT) break;
      if (!entry.isDirectory || !/^\d+-[0-9a-f-]{36}$/.test(entry.name)) continue;
      const path = `${this.#base}/${entry.name}`;
      const changed = Deno.lstatSync(path).mtime?.getTime() ?? Date.now();
      if (Date.now() - changed > STALE_MS) Deno.removeSync(path, { recursive: true });
    }
  }
}
