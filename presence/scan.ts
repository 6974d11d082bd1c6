import { attribute, membersOf } from "./attribution.ts";
import { mergeNotes } from "./findings.ts";
import { MAX_OWN_ANCESTORS, SCAN_MS } from "./limits.ts";
import { Findings, joinMissing, Look, TimeIsUp } from "./look.ts";
import { lineage } from "./process_table.ts";
import { readRecords } from "./records.ts";
import { Roots } from "./roots.ts";
import { type Store, storeContext } from "./store.ts";
import { STORES } from "./stores/mod.ts";
import type { Surroundings } from "./surroundings.ts";
import type { Finding, Note, Source, Unavailable } from "./types.ts";

/** What a look around has found, complete or not. */
export interface Seen {
  readonly findings: readonly Finding[];
  /** Sources, or parts of them, that are not in the findings. */
  readonly missing: readonly Unavailable[];
  /** Processes above this one, the nearest first. */
  readonly ancestors: ReadonlySet<number>;
}

interface Part {
  readonly found: Findings;
  done: boolean;
}

/**
 * One look at everything that tells about other agents in some roots. It can be asked at any time
 * what it has found so far; nothing in it throws.
 */
export class Scan {
  /** Settles when nothing more will be found; never rejects. */
  readonly done: Promise<void>;
  readonly look: Look;
  readonly #processes: Part = part("process", null);
  readonly #stores: readonly { readonly store: Store; readonly part: Part }[];
  readonly #records: Part = part("mcp", null);
  #ancestors = new Set<number>();
  #finished = false;

  /** @param paths repositories and work trees, in any order; those that do not exist are left out */
  constructor(paths: readonly string[], around: Surroundings, limitMs = SCAN_MS) {
    this.look = new Look(new Roots(paths), around, performance.now() + limitMs);
    this.#stores = STORES.map((store) => ({ store, part: part(store.source, store.agent) }));
    this.#ancestors.add(around.parentPid);
    this.done = this.#run(limitMs);
  }

  get finished(): boolean {
    return this.#finished;
  }

  /** What is known now. */
  seen(): Seen {
    const parts = [this.#processes, ...this.#stores.map(({ part }) => part), this.#records];
    // Sources are told in the contract's order, whatever was done first.
    const notes: Note[] = parts.flatMap(({ found }) => found.notes);
    const missing = parts.flatMap((one) => [
      ...one.found.missing,
      ...(one.done ? [] : [late(one.found)]),
    ]);
    return {
      findings: mergeNotes(notes, this.look.now),
      missing: joinMissing(missing),
      ancestors: this.#ancestors,
    };
  }

  async #run(limitMs: number): Promise<void> {
    let timer: ReturnType<typeof setTimeout> | undefined;
    // A system call that never comes back holds up its own source only.
    const end = new Promise<void>((resolve) => timer = setTimeout(resolve, 2 * limitMs));
    const table = this.#readTable();
    await Promise.race([Promise.all([this.#readProcesses(table), this.#readStores(table)]), end]);
    clearTimeout(timer);
    for (const one of [this.#processes, ...this.#stores.map(({ part }) => part), this.#records]) {
      if (!one.done) one.found.miss("timed_out");
      one.done = true;
    }
    // Command lines of other programs are not kept.
    this.look.table = null;
    this.#finished = true;
  }

  async #readTable(): Promise<void> {
    if (this.look.roots.all.length === 0) return;
    const { processes, parentPid } = this.look.around;
    const answer = await processes.table();
    if ("reason" in answer) return this.#processes.found.miss(answer.reason, answer.message);
    this.look.table = answer.table;
    const above = lineage(answer.table, parentPid, MAX_OWN_ANCESTORS - 1);
    for (const { pid } of above) if (pid > 0) this.#ancestors.add(pid);
  }

  async #readProcesses(table: Promise<void>): Promise<void> {
    const { found } = this.#processes;
    await guarded(this.#processes, async () => {
      await table;
      if (this.look.table === null) return;
      const members = membersOf(this.look.table);
      if (members.size === 0) return;
      const answer = await this.look.around.processes.directories([...members.keys()]);
      if ("reason" in answer) return found.miss(answer.reason, answer.message);
      const { roots, now } = this.look;
      found.notes.push(
        ...attribute(
          this.look.table,
          members,
          answer.directories,
          roots,
          now,
          this.#ancestors,
        ),
      );
    });
  }

  async #readStores(table: Promise<void>): Promise<void> {
    const nothing = this.look.roots.all.length === 0;
    const read = ({ store, part }: { store: Store; part: Part }) =>
      guarded(part, async () => {
        if (!nothing) await store.read(storeContext(store, this.look, part.found));
      });
    // Who names processes must wait for them; the others need not.
    const waits = ({ store }: { store: Store }) => store.namesProcesses === true;
    for (const one of this.#stores) if (!waits(one)) await read(one);
    await table;
    for (const one of this.#stores) if (waits(one)) await read(one);
    await guarded(this.#records, async () => {
      if (!nothing) await readRecords(this.look, this.#records.found);
    });
  }
}

function part(source: Source, agent: string | null): Part {
  return { found: new Findings(source, agent), done: false };
}

async function guarded(one: Part, work: () => Promise<void>): Promise<void> {
  try {
    await work();
  } catch (error) {
    one.found.miss(error instanceof TimeIsUp ? "timed_out" : "failed");
  }
  one.done = true;
}

function late({ source, agent }: Findings): Unavailable {
  return { source, reason: "late", ...(agent === null ? {} : { agents: [agent] }) };
}
