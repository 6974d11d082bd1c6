import {
  compareBytes,
  type DecodedPath,
  decodePath,
  decodeText,
  latin1,
  NulRecords,
} from "../common/bytes.ts";
import { type ConflictKind, conflictKind } from "./status.ts";

/** One path that would be left unmerged. */
export interface MergeConflict extends DecodedPath {
  /** By the stages that the index would hold, as in `conflict.read`. */
  readonly kind: ConflictKind;
  /** Git's own word where it says more than the kind: `rename/delete`, `binary`, `file/directory` … */
  readonly type?: string;
}

/** Paths that both sides changed, kept for looking up their merge drivers. */
const MAX_MERGED = 20_000;
/** Conflicted paths remembered to tell whether a message speaks of one of them. */
const MAX_NAMES = 5_000;

interface Kept {
  readonly bytes: Uint8Array;
  stages: number;
  type?: string;
}

/**
 * Reads `merge-tree --write-tree -z`: the tree, then `mode oid stage TAB path` for each unmerged
 * stage, an empty record, then messages (count, paths, type, text). Exported for tests.
 */
export class MergeTreeParser {
  readonly #records = new NulRecords();
  readonly #kept: Kept[] = [];
  readonly #byName = new Map<string, Kept>();
  /** Conflicts that leave no stage behind, such as a directory renamed two ways. */
  readonly #loose = new Map<string, Kept>();
  readonly #names = new Set<string>();
  readonly #merged = new Map<string, Uint8Array>();
  #state: "tree" | "stages" | "messages" = "tree";
  #last: Uint8Array | null = null;
  #count = 0;
  #message: Uint8Array[] = [];
  #fields = 0;

  /**
   * @param limit conflicts to keep
   * @param collectMerged keep the paths whose content was merged, for their drivers
   * @param sides the two names given to git, which it appends to a file that has to make way
   */
  constructor(
    readonly limit: number,
    readonly collectMerged: boolean,
    readonly sides: readonly string[] = [],
  ) {}

  get sawTree(): boolean {
    return this.#state !== "tree";
  }

  readonly push = (chunk: Uint8Array): boolean => this.#records.push(chunk, this.#record);

  readonly #record = (record: Uint8Array): boolean => {
    if (this.#state === "tree") {
      if (!/^[0-9a-f]{40,64}$/.test(decodeText(record))) return false;
      this.#state = "stages";
    } else if (this.#state === "stages") {
      if (record.length === 0) this.#state = "messages";
      else this.#stage(record);
    } else if (this.#fields === 0) {
      // "count", then that many paths, the type and the text.
      const count = Number(decodeText(record));
      if (!Number.isSafeInteger(count) || record.length === 0) return true;
      this.#fields = count + 2;
      this.#message = [];
    } else {
      if (this.#message.length < 8 || this.#fields <= 2) this.#message.push(record.slice());
      if (--this.#fields === 0) this.#finishMessage();
    }
    return true;
  };

  #stage(record: Uint8Array): void {
    const tab = record.indexOf(0x09);
    const path = record.subarray(tab + 1);
    const stage = record[tab - 1]! - 0x30;
    if (this.#last === null || compareBytes(this.#last, path) !== 0) {
      this.#last = path.slice();
      this.#count++;
      if (this.#names.size < MAX_NAMES) this.#names.add(latin1(this.#last));
      if (this.#kept.length < this.limit) {
        const kept = { bytes: this.#last, stages: 0 };
        this.#kept.push(kept);
        this.#byName.set(latin1(kept.bytes), kept);
      }
    }
    const current = this.#kept.at(-1);
    if (current && current.bytes === this.#last) current.stages |= 1 << stage;
  }

  #finishMessage(): void {
    const paths = this.#message.slice(0, -2);
    const word = decodeText(this.#message.at(-2)!);
    const type = /^CONFLICT \((.*)\)$/s.exec(word)?.[1];
    const first = paths[0];
    if (this.collectMerged && first && (type !== undefined || word === "Auto-merging")) {
      for (const path of paths) {
        if (this.#merged.size < MAX_MERGED) this.#merged.set(latin1(path), path);
      }
    }
    if (type === undefined || first === undefined) return;
    let known = false;
    for (const path of paths) {
      known ||= this.#names.has(latin1(path));
      const kept = this.#byName.get(latin1(path));
      if (kept && type !== "contents") kept.type ??= type;
    }
    if (!known && this.#count < MAX_NAMES && this.#loose.size < MAX_NAMES) {
      this.#loose.set(latin1(first), { bytes: first, stages: 0, type });
    }
  }

  finish(): { conflicts: MergeConflict[]; conflictCount: number; merged: Uint8Array[] } {
    const all = [...this.#kept, ...this.#loose.values()]
      .sort((a, b) => compareBytes(a.bytes, b.bytes)).slice(0, this.limit);
    return {
      conflicts: all.map(({ bytes, stages, type }) => ({
        ...decodePath(this.#withoutSide(bytes)),
        kind: conflictKind((stages & 2) !== 0, (stages & 4) !== 0, (stages & 8) !== 0),
        ...(type === undefined ? {} : { type: type.slice(0, 80) }),
      })),
      conflictCount: this.#count + this.#loose.size,
      merged: [...this.#merged.values()],
    };
  }

  /** A file in the way of a directory is moved to `<name>~<side>` (`_0` … when that exists): name the file. */
  #withoutSide(path: Uint8Array): Uint8Array {
    const tail = decodeText(path.subarray(Math.max(0, path.length - 90)));
    const side = /~([0-9a-f]{40,64})(?:_\d+)?$/.exec(tail);
    return side && this.sides.includes(side[1]!)
      ? path.subarray(0, path.length - side[0].length)
      : path;
  }
}
