import { decodeText } from "../common/bytes.ts";
import { streamGit } from "./command.ts";
import type { Repository } from "./repository.ts";

/** Commits that a tip has and HEAD lacks, and the other way round. */
export interface Distance {
  readonly ahead: number;
  readonly behind: number;
}

const MAX_COMMITS = 200_000;

/**
 * How far each tip is from `head`, all in one walk: commits are read children first, each carries
 * the set of tips that reach it on to its parents, and sets are counted. Only ids whose children are
 * all read are kept, so memory follows the width of the history, not its length.
 *
 * @param tips full ids; one that is no commit is left out of the result
 * @returns why there is no result: the histories are too far apart to be walked, or not all here
 */
export async function distances(
  repo: Repository,
  head: string,
  tips: readonly string[],
): Promise<Map<string, Distance> | "too-far" | "unreadable"> {
  const others = [...new Set(tips)].filter((tip) => tip !== head);
  const found = new Map<string, Distance>(tips.includes(head) ? [[head, SAME]] : []);
  if (others.length === 0) return found;
  const counted = await countSets(repo, head, others);
  if (typeof counted === "string") return counted;
  const { sets, unread } = counted;
  others.forEach((tip, i) => {
    if (unread.has(tip)) return;
    const own = 2n << BigInt(i);
    let ahead = 0, behind = 0;
    for (const [set, count] of sets) {
      const fromTip = (set & own) !== 0n, fromHead = (set & 1n) !== 0n;
      if (fromTip && !fromHead) ahead += count;
      if (fromHead && !fromTip) behind += count;
    }
    found.set(tip, { ahead, behind });
  });
  return found;
}

const SAME: Distance = { ahead: 0, behind: 0 };

/** Commits by the set of starts that reach them: bit 0 for `head`, bit i + 1 for `others[i]`. */
async function countSets(
  repo: Repository,
  head: string,
  others: readonly string[],
): Promise<
  { sets: Map<bigint, number>; unread: ReadonlyMap<string, bigint> } | "too-far" | "unreadable"
> {
  const starts = [head, ...others];
  // What all reach adds to no distance and is not walked. Unrelated histories have nothing of it.
  const common = await repo.run(["merge-base", "--octopus", "--all", ...starts], {
    okCodes: "any",
  });
  if (common.code > 1) return "unreadable";
  const bases = decodeText(common.stdout).split("\n").filter(Boolean);
  const pending = new Map<string, bigint>(starts.map((oid, i) => [oid, 1n << BigInt(i)]));
  const sets = new Map<bigint, number>();
  let commits = 0;
  const lines = new Lines();
  const args = [
    "rev-list",
    "--topo-order",
    "--parents",
    ...starts,
    ...bases.map((oid) => `^${oid}`),
    "--",
  ];
  const end = await streamGit(
    repo,
    args,
    { signal: repo.signal, okCodes: "any" },
    (chunk) =>
      lines.push(chunk, (line) => {
        if (++commits > MAX_COMMITS) return false;
        const [oid, ...parents] = line.split(" ");
        const set = pending.get(oid!) ?? 0n;
        pending.delete(oid!);
        sets.set(set, (sets.get(set) ?? 0) + 1);
        for (const parent of parents) pending.set(parent, (pending.get(parent) ?? 0n) | set);
        return true;
      }),
  );
  if (end.stopped) return "too-far";
  if (end.code !== 0) return "unreadable";
  // A tip that all others contain is a base itself; any other one that did not come by is no commit.
  for (const base of bases) pending.delete(base);
  return { sets, unread: pending };
}

/** How far `tip` is from `head`, counted by git itself; for histories far apart. */
export async function distance(
  repo: Repository,
  head: string,
  tip: string,
): Promise<Distance | null> {
  const text = await repo.optionalText([
    "rev-list",
    "--left-right",
    "--count",
    `${tip}...${head}`,
    "--",
  ]);
  const counts = /^(\d+)\t(\d+)$/.exec(text ?? "");
  return counts ? { ahead: Number(counts[1]), behind: Number(counts[2]) } : null;
}

/** Lines of ASCII out of chunks of any size. */
class Lines {
  #rest = "";

  push(chunk: Uint8Array, onLine: (line: string) => boolean): boolean {
    const lines = (this.#rest + decodeText(chunk)).split("\n");
    this.#rest = lines.pop()!;
    return lines.every(onLine);
  }
}
