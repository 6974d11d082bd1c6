import { absolute, places } from "./locations.ts";
import type { Places } from "./locations.ts";
import type { Findings, Look } from "./look.ts";
import { StoreFiles } from "./store_files.ts";
import type { Note, Source } from "./types.ts";

/** Everything that the reader of one agent's store is given. */
export interface StoreContext {
  readonly look: Look;
  readonly found: Findings;
  readonly files: StoreFiles;
  readonly places: Places;
  /** An absolute override of a place; null when unset, empty or relative. */
  readonly override: (variable: string) => string | null;
  /** Adds evidence; the agent and, unless said, the source are the store's own. */
  readonly note: (note: Omit<Note, "agent" | "source"> & { readonly source?: Source }) => void;
}

/** One agent's store: `read` adds what it finds and is bounded in every way. */
export interface Store {
  readonly agent: string;
  readonly source: Source;
  /** Its sessions name processes, so it is read when those are known. */
  readonly namesProcesses?: true;
  readonly read: (context: StoreContext) => Promise<void>;
}

/** What a store's reader works with. */
export function storeContext(store: Store, look: Look, found: Findings): StoreContext {
  const { env } = look.around;
  return {
    look,
    found,
    files: new StoreFiles(look, found),
    places: places(look.around),
    override: (variable) => absolute(env(variable)),
    note: (note) => found.notes.push({ agent: store.agent, source: store.source, ...note }),
  };
}
