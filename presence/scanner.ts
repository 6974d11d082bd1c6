import { KEEP_MS } from "./limits.ts";
import { type RepositoryPlaces, repositoryPlaces } from "./places.ts";
import { Scan, type Seen } from "./scan.ts";
import type { Surroundings } from "./surroundings.ts";

/** A repository with what is known about other agents in it. */
export interface SeenRepository extends Seen {
  readonly places: RepositoryPlaces;
  /** Whether the look was over. */
  readonly complete: boolean;
}

interface Kept {
  readonly scan: Scan;
  readonly places: RepositoryPlaces;
  /** On the steady clock, when it was over. */
  endedAt: number | null;
}

/** Repositories whose last look is kept. */
const MAX_KEPT = 16;

/**
 * Looks at repositories when asked and keeps what it saw for two seconds, so that a proposal that
 * comes right after another call finds it ready.
 */
export class Scanner {
  readonly #kept = new Map<string, Kept>();

  constructor(
    readonly around: Surroundings,
    /** Canonical allowed roots; null for no restriction. */
    readonly allowed: readonly string[] | null = null,
    /** Steady clock in milliseconds. */
    readonly clock: () => number = () => performance.now(),
  ) {}

  /** Begins to look at a repository unless a recent look is there. @param path canonical */
  start(path: string): void {
    this.#scan(path);
  }

  /** Looks to the end. */
  async whole(path: string): Promise<SeenRepository> {
    const kept = this.#scan(path);
    await kept.scan.done;
    return answer(kept);
  }

  /** What is known after at most `ms`; what is late is said in `missing`. */
  async within(path: string, ms: number): Promise<SeenRepository> {
    const kept = this.#scan(path);
    if (!kept.scan.finished) {
      let timer: ReturnType<typeof setTimeout> | undefined;
      const late = new Promise<void>((resolve) => timer = setTimeout(resolve, ms));
      await Promise.race([kept.scan.done, late]);
      clearTimeout(timer);
    }
    return answer(kept);
  }

  #scan(path: string): Kept {
    const known = this.#kept.get(path);
    if (known && (known.endedAt === null || this.clock() - known.endedAt <= KEEP_MS)) return known;
    const places = repositoryPlaces(path, this.allowed);
    const scan = new Scan(
      [places.top, ...places.others.map((one) => one.path)],
      this.around,
    );
    const kept: Kept = { scan, places, endedAt: null };
    scan.done.then(() => kept.endedAt = this.clock());
    this.#kept.delete(path);
    this.#kept.set(path, kept);
    if (this.#kept.size > MAX_KEPT) this.#kept.delete(this.#kept.keys().next().value!);
    return kept;
  }
}

function answer({ scan, places }: Kept): SeenRepository {
  return { ...scan.seen(), places, complete: scan.finished };
}
