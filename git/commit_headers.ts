import { decodeText, encodeText } from "../common/bytes.ts";
import { type GitTarget, streamGit } from "./command.ts";
import { GitError } from "./errors.ts";
import { quoteAlternate } from "./merge_preview.ts";

/**
 * Parents and times of commits in many repositories, for about one git process in all: `cat-file
 * --batch` runs in one of them and reads the others' object folders beside its own. Each object is
 * checked against its id, so no repository can speak for another's commit. What was read stays true
 * and is kept.
 */

export interface CommitHeader {
  readonly parents: readonly string[];
  /** Committer time, Unix seconds; null when the commit holds no readable one. */
  readonly committedAt: number | null;
}

/** Commits wanted from one repository. */
export interface WantedCommits {
  readonly target: GitTarget;
  readonly commonDir: string;
  /** Full ids. */
  readonly oids: readonly string[];
}

/** Longest list of object folders in one variable of a child; Linux allows 128 KiB. */
const MAX_FOLDERS_TEXT = 48 * 1024;
/** A commit whose text is longer is not looked at. */
const MAX_COMMIT = 1024 * 1024;
const MAX_KNOWN = 10_000;
const known = new Map<string, CommitHeader>();

/**
 * Reads what is not known yet and gives all that could be read, by id. A commit that is missing,
 * damaged or too long is simply not in the answer. Throws {@link GitError} only for cancellation.
 */
export async function readCommitHeaders(
  wanted: readonly WantedCommits[],
  signal?: AbortSignal,
): Promise<Map<string, CommitHeader>> {
  const found = new Map<string, CommitHeader>();
  const open = wanted.map((w) => ({ ...w, oids: missing(w.oids, found) })).filter((w) =>
    w.oids.length > 0
  );
  for (const group of groups(open)) {
    try {
      await readGroup(group, found, signal);
    } catch (error) {
      if (error instanceof GitError && error.kind === "cancelled") throw error;
      // One damaged object ends git: ask each repository alone for what is still open.
      for (const one of group.length > 1 ? group : []) {
        const rest = { ...one, oids: missing(one.oids, found) };
        if (rest.oids.length > 0) await readGroup([rest], found, signal).catch(ignoreFailure);
      }
    }
  }
  return found;
}

function missing(oids: readonly string[], found: Map<string, CommitHeader>): string[] {
  const open: string[] = [];
  for (const oid of new Set(oids)) {
    const header = known.get(oid);
    if (header) found.set(oid, header);
    else if (!found.has(oid)) open.push(oid);
  }
  return open;
}

function ignoreFailure(error: unknown): void {
  if (error instanceof GitError && error.kind === "cancelled") throw error;
}

/** Repositories that can be read together: one object format, a bounded list of folders. */
function groups(wanted: readonly WantedCommits[]): WantedCommits[][] {
  const made: WantedCommits[][] = [];
  for (const length of [40, 64]) {
    let size = MAX_FOLDERS_TEXT;
    for (const one of wanted.filter((w) => w.oids[0]!.length === length)) {
      const more = encodeText(folder(one)).length + 1;
      if (size + more > MAX_FOLDERS_TEXT) {
        made.push([]);
        size = 0;
      }
      made.at(-1)!.push(one);
      size += more;
    }
  }
  return made;
}

function folder(one: WantedCommits): string {
  return quoteAlternate(`${one.commonDir}/objects`);
}

async function readGroup(
  group: readonly WantedCommits[],
  found: Map<string, CommitHeader>,
  signal: AbortSignal | undefined,
): Promise<void> {
  const [first, ...others] = group;
  if (!first) return;
  const checks: Promise<void>[] = [];
  const parser = new BatchParser((oid, content) => {
    checks.push(
      isGenuine(oid, content).then((genuine) => {
        if (genuine) remember(oid, parseCommitHeader(content), found);
      }),
    );
  });
  try {
    await streamGit(first.target, ["cat-file", "--batch", "--buffer"], {
      signal,
      stdin: [...new Set(group.flatMap((one) => one.oids))].join("\n") + "\n",
      ...(others.length > 0
        ? { env: { GIT_ALTERNATE_OBJECT_DIRECTORIES: others.map(folder).join(":") } }
        : {}),
    }, parser.push);
  } finally {
    await Promise.all(checks);
  }
}

function remember(oid: string, header: CommitHeader, found: Map<string, CommitHeader>): void {
  found.set(oid, header);
  known.set(oid, header);
  if (known.size > MAX_KNOWN) known.delete(known.keys().next().value!);
}

/** Content is what its id says. A wrong object could only come from another repository of the group. */
async function isGenuine(oid: string, content: Uint8Array): Promise<boolean> {
  const head = encodeText(`commit ${content.length}\0`);
  const whole = new Uint8Array(head.length + content.length);
  whole.set(head);
  whole.set(content, head.length);
  const hash = await crypto.subtle.digest(oid.length === 64 ? "SHA-256" : "SHA-1", whole);
  return Array.from(new Uint8Array(hash), (b) => b.toString(16).padStart(2, "0")).join("") === oid;
}

/** Reads the header lines of a commit's content. Exported for tests. */
export function parseCommitHeader(content: Uint8Array): CommitHeader {
  const parents: string[] = [];
  let committedAt: number | null = null;
  let start = 0;
  while (start < content.length) {
    let end = content.indexOf(0x0a, start);
    if (end === -1) end = content.length;
    if (end === start) break;
    const line = decodeText(content.subarray(start, Math.min(end, start + 4_096)));
    const parent = /^parent ([0-9a-f]{40}(?:[0-9a-f]{24})?)$/.exec(line)?.[1];
    if (parent) parents.push(parent);
    const seconds = /^committer .*> *(-?\d{1,16})(?: |$)/.exec(line)?.[1];
    if (seconds !== undefined && Number.isSafeInteger(Number(seconds))) {
      committedAt = Number(seconds);
    }
    start = end + 1;
  }
  return { parents, committedAt };
}

/** Takes `cat-file --batch` apart: a line `<id> <type> <size>`, the content and a newline; or `<id> missing`. */
class BatchParser {
  readonly #onCommit: (oid: string, content: Uint8Array) => void;
  #line: number[] = [];
  #oid = "";
  #content: Uint8Array | null = null;
  #filled = 0;
  /** Bytes of content (with its newline) still to come; 0 between objects. */
  #left = 0;

  constructor(onCommit: (oid: string, content: Uint8Array) => void) {
    this.#onCommit = onCommit;
  }

  readonly push = (chunk: Uint8Array): boolean => {
    let at = 0;
    while (at < chunk.length) {
      if (this.#left === 0) {
        const byte = chunk[at++]!;
        if (byte !== 0x0a) this.#line.push(byte);
        else this.#header(decodeText(Uint8Array.from(this.#line)));
        if (this.#line.length > 512) return false;
        continue;
      }
      const take = Math.min(this.#left, chunk.length - at);
      if (this.#content) {
        const part = chunk.subarray(at, at + Math.min(take, this.#content.length - this.#filled));
        this.#content.set(part, this.#filled);
        this.#filled += part.length;
      }
      at += take;
      this.#left -= take;
      if (this.#left === 0 && this.#content) this.#onCommit(this.#oid, this.#content);
    }
    return true;
  };

  #header(line: string): void {
    this.#line = [];
    const match = /^([0-9a-f]{40,64}) (\w+) (\d+)$/.exec(line);
    if (!match) return;
    const size = Number(match[3]);
    this.#oid = match[1]!;
    this.#left = size + 1;
    this.#filled = 0;
    this.#content = match[2] === "commit" && size <= MAX_COMMIT ? new Uint8Array(size) : null;
  }
}
