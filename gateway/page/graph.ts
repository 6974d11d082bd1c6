/** Lanes of a commit graph, newest first. Knows no document. */

/** A commit, or a place that stands for one that does not exist yet. */
export interface GraphNode {
  readonly id: string;
  readonly parents: readonly string[];
}

/** How one row is drawn; lanes count from 0. */
export interface GraphRow {
  readonly lane: number;
  /** Lanes that pass by, from their place above to their place below. */
  readonly through: readonly { readonly from: number; readonly to: number }[];
  /** Lanes above that end in this commit. */
  readonly into: readonly number[];
  /** Lanes below that go to its parents. */
  readonly out: readonly number[];
  readonly width: number;
}

/** More lanes are drawn on top of the last one. */
const MAX_LANES = 8;

/** Lays out commits in the order given: children before their parents. */
export function layGraph(nodes: readonly GraphNode[]): GraphRow[] {
  const known = new Set(nodes.map((node) => node.id));
  let lanes: (string | null)[] = [];
  return nodes.map((node) => {
    const above = lanes;
    let lane = above.indexOf(node.id);
    if (lane < 0) {
      lane = above.indexOf(null);
      if (lane < 0) lane = above.length;
    }
    const into = above.flatMap((id, i) => id === node.id ? [i] : []);
    const below: (string | null)[] = above.map((id) => id === node.id ? null : id);
    while (below.length <= lane) below.push(null);
    const out: number[] = [];
    // Parents that are not shown end in a short line; they need no lane of their own further down.
    for (const [i, parent] of node.parents.entries()) {
      const there = below.indexOf(parent);
      if (there >= 0) {
        out.push(there);
        continue;
      }
      if (!known.has(parent) && i > 0) continue;
      let free = i === 0 ? lane : below.indexOf(null);
      if (free < 0 || below[free] !== null) free = below.length;
      below[free] = parent;
      out.push(free);
    }
    while (below.length > 0 && below.at(-1) === null) below.pop();
    const through = above.flatMap((id, i) =>
      id === null || id === node.id ? [] : [{ from: i, to: i }]
    );
    lanes = below;
    return {
      lane: Math.min(lane, MAX_LANES),
      through: through.map(({ from, to }) => ({
        from: Math.min(from, MAX_LANES),
        to: Math.min(to, MAX_LANES),
      })),
      into: into.map((i) => Math.min(i, MAX_LANES)),
      out: out.map((i) => Math.min(i, MAX_LANES)),
      width: Math.min(Math.max(above.length, below.length, lane + 1), MAX_LANES + 1),
    };
  });
}
