/** Where conflict markers stand in a file, 1-based. */
export interface ConflictRegion {
  readonly startLine: number;
  /** The `|||||||` line, when the base is shown (diff3 style). */
  readonly baseLine?: number;
  readonly sepLine: number;
  readonly endLine: number;
  /** Another line of the region looks like the separator: it may be part of the text. */
  readonly ambiguous?: true;
}

export interface MarkerScan {
  /** The first `limit`, complete ones only. */
  readonly regions: readonly ConflictRegion[];
  /** All that were found. */
  readonly count: number;
}

const LESS = 0x3c, EQUALS = 0x3d, GREATER = 0x3e, BAR = 0x7c, LF = 0x0a, CR = 0x0d, SPACE = 0x20;

/**
 * Finds conflict regions: a line of `size` times `<`, one of `=`, one of `>`, in this order; all but the
 * separator may go on after a space. A new start begins anew. Longer runs (markers of nested merges) are text.
 */
export function findRegions(bytes: Uint8Array, size: number, limit: number): MarkerScan {
  const regions: ConflictRegion[] = [];
  let count = 0, line = 0;
  let start = 0, base = 0, sep = 0, ambiguous = false;
  for (let at = 0; at < bytes.length;) {
    const lf = bytes.indexOf(LF, at);
    const end = lf === -1 ? bytes.length : lf;
    line++;
    const mark = markerOf(bytes, at, end, size);
    if (mark === LESS) {
      start = line;
      base = sep = 0;
      ambiguous = false;
    } else if (start > 0 && mark === BAR && base === 0 && sep === 0) {
      base = line;
    } else if (start > 0 && mark === EQUALS) {
      if (sep === 0) sep = line;
      else ambiguous = true;
    } else if (mark === GREATER && sep > 0) {
      count++;
      if (regions.length < limit) {
        regions.push({
          startLine: start,
          ...(base > 0 ? { baseLine: base } : {}),
          sepLine: sep,
          endLine: line,
          ...(ambiguous ? { ambiguous } : {}),
        });
      }
      start = base = sep = 0;
    }
    at = end + 1;
  }
  return { regions, count };
}

/** The marker character of a line, 0 for text. */
function markerOf(bytes: Uint8Array, from: number, to: number, size: number): number {
  const first = bytes[from]!;
  if (first !== LESS && first !== EQUALS && first !== GREATER && first !== BAR) return 0;
  const end = to > from && bytes[to - 1] === CR ? to - 1 : to;
  if (end - from < size) return 0;
  for (let i = 1; i < size; i++) if (bytes[from + i] !== first) return 0;
  if (end - from === size) return first;
  return first !== EQUALS && bytes[from + size] === SPACE ? first : 0;
}
