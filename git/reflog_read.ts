import { shortHash } from "../common/short_hash.ts";
import { decodeText } from "../common/bytes.ts";
import { streamGit } from "./command.ts";
import { GitError } from "./errors.ts";
import { FieldRecords } from "./fields.ts";
import { nulFormat } from "./log.ts";
import { isReflogLine, parseReflogLine, type ReflogLine } from "./reflog.ts";
import type { Repository } from "./repository.ts";

/** A movement and where it stands in the reflog. */
export interface ReflogEntry extends ReflogLine {
  /** The n of `REF@{n}`: 0 is the newest. */
  readonly index: number;
  /** Names the entry while newer ones arrive; see {@link ReflogCursor}. */
  readonly cursor: ReflogCursor;
}

/** An entry: where its line begins (or its number, through git), and a hash of what it says. */
export interface ReflogCursor {
  readonly at: number;
  readonly hash: string;
}

export interface ReflogPage {
  /** Newest first. */
  readonly entries: ReflogEntry[];
  /** Entries follow that are older. */
  readonly more: boolean;
  /** All entries; null when the file is too large to be read as a whole. */
  readonly total: number | null;
  /** False when the cursor's entry is no longer there (expired, rewritten). */
  readonly found: boolean;
}

const MAX_READ = 64 * 1024 * 1024;
/** Of one line; a longer message is cut by whoever shows it. */
const MAX_LINE = 64 * 1024;
const CHUNK = 256 * 1024;

/**
 * Reads a page of a reflog file: the newest entries, or those older than `after`. One pass forward,
 * so memory is bounded by the page; of a file over 64 MiB only the end is read.
 *
 * Throws when the file cannot be read. A link that leads out of the git directory is not followed.
 *
 * @param folders canonical folders of which one must hold the file
 */
export async function readReflogFile(
  file: string,
  folders: readonly string[],
  limit: number,
  after?: ReflogCursor,
): Promise<ReflogPage> {
  const real = await Deno.realPath(file);
  const bases = await Promise.all(folders.map((folder) => Deno.realPath(folder)));
  if (!bases.some((base) => /[\\/]/.test(real[base.length] ?? "") && real.startsWith(base))) {
    throw new Error("a link leads out of the git directory");
  }
  if (after === undefined) return await scan(file, limit, null);
  const exact = await scan(
    file,
    limit,
    (at, line) => at === after.at && hashOf(line) === after.hash,
  );
  if (exact.found) return exact;
  // Older lines were expired, so that the line has moved.
  return await scan(file, limit, (_at, line) => hashOf(line) === after.hash);
}

async function scan(
  file: string,
  limit: number,
  isCursor: ((at: number, line: Uint8Array) => boolean) | null,
): Promise<ReflogPage> {
  const info = await Deno.lstat(file);
  if (!info.isFile) throw new Error("not a regular file");
  const start = Math.max(0, info.size - MAX_READ);
  const ring: { at: number; ordinal: number; line: Uint8Array }[] = [];
  let count = 0;
  let kept: typeof ring | null = isCursor ? null : ring;
  await forEachLine(file, start, (at, line) => {
    if (!isReflogLine(line)) return;
    if (isCursor?.(at, line)) kept = ring.slice();
    ring.push({ at, ordinal: count++, line: line.slice() });
    if (ring.length > limit + 1) ring.shift();
  });
  const page = kept ?? [];
  const entries = page.slice(-limit).reverse().map(({ at, ordinal, line }) => ({
    ...parseReflogLine(line)!,
    index: count - 1 - ordinal,
    cursor: { at, hash: hashOf(line) },
  }));
  return {
    entries,
    more: page.length > limit || (start > 0 && page.length > 0),
    total: start > 0 ? null : count,
    found: kept !== null,
  };
}

function hashOf(line: Uint8Array): string {
  return shortHash(decodeText(line));
}

async function forEachLine(
  file: string,
  start: number,
  onLine: (at: number, line: Uint8Array) => void,
): Promise<void> {
  using handle = await Deno.open(file);
  if (start > 0) await handle.seek(start, Deno.SeekMode.Start);
  const buffer = new Uint8Array(CHUNK);
  const line = new Uint8Array(MAX_LINE);
  let length = 0;
  let lineAt = start, at = start;
  // The first line of a part is a piece of one.
  let whole = start === 0;
  const append = (piece: Uint8Array) => {
    const room = piece.subarray(0, MAX_LINE - length);
    line.set(room, length);
    length += room.length;
  };
  for (let n = await handle.read(buffer); n !== null; n = await handle.read(buffer)) {
    let from = 0;
    const chunk = buffer.subarray(0, n);
    for (let end = chunk.indexOf(0x0a); end !== -1; end = chunk.indexOf(0x0a, from)) {
      append(chunk.subarray(from, end));
      if (whole) onLine(lineAt, line.subarray(0, length));
      whole = true;
      length = 0;
      from = end + 1;
      lineAt = at + from;
    }
    append(chunk.subarray(from));
    at += n;
  }
  // Git passes over a last line that was never finished.
}

const GIT_FIELDS: readonly (readonly [placeholder: string, keep: number])[] = [
  ["%H", 64],
  ["%gD", 4_096],
  ["%gn", 512],
  ["%ge", 512],
  ["%gs", MAX_LINE],
];

/**
 * The same page through `git log --walk-reflogs`, for repositories that keep refs in tables. Git does
 * not show the old ids: each is the new id of the entry before, and the oldest one's is asked for.
 */
export async function readReflogThroughGit(
  repo: Repository,
  ref: string,
  limit: number,
  after?: ReflogCursor,
): Promise<ReflogPage> {
  const records = new FieldRecords(GIT_FIELDS.map(([, keep]) => keep));
  const kept: (Omit<ReflogEntry, "oldOid">)[] = [];
  let index = 0, found = after === undefined;
  const args = [
    "log",
    "-z",
    "--walk-reflogs",
    "--date=raw",
    "--no-patch",
    nulFormat(GIT_FIELDS.map(([placeholder]) => placeholder)),
    "--end-of-options",
    ref,
    "--",
  ];
  const read = streamGit(
    repo,
    args,
    { signal: repo.signal },
    (chunk) =>
      records.push(chunk, (fields) => {
        const entry = throughGit(fields.map((field) => decodeText(field.bytes)), index++);
        if (!found) {
          found = entry.index >= after!.at && entry.cursor.hash === after!.hash;
          return true;
        }
        kept.push(entry);
        // One more tells the old id of the last one, and that there are more.
        return kept.length <= limit;
      }),
  );
  try {
    await read;
  } catch (error) {
    if (!(error instanceof GitError) || error.kind !== "failed") throw error;
    // Git walks the movements only of a ref that is there: the branch of HEAD may have no commit yet.
    if (await repo.optionalText(["rev-parse", "--verify", "--quiet", ref]) !== null) throw error;
    const kept = await repo.run(["reflog", "exists", ref], { okCodes: [0, 1] });
    if (kept.code === 1) return { entries: [], more: false, total: 0, found };
    throw new Error("git shows no movements of a ref that is unborn");
  }
  const more = kept.length > limit;
  const first = !more && kept.length > 0 ? await oldestId(repo, ref, index) : null;
  const entries = kept.slice(0, limit).map((entry, i) => ({
    ...entry,
    oldOid: kept[i + 1]?.newOid ?? first,
  }));
  return { entries, more, total: more ? null : index, found };
}

function throughGit(texts: string[], index: number): Omit<ReflogEntry, "oldOid"> {
  const [newOid = "", selector = "", name = "", email = "", message = ""] = texts;
  const [, secondsRaw = "", tz = ""] = /@\{(-?\d+) ([+-]\d+)\}$/.exec(selector) ?? [];
  const seconds = secondsRaw === "" ? NaN : Number(secondsRaw);
  return {
    newOid,
    identity: `${name} <${email}>`,
    name,
    email,
    seconds: Number.isSafeInteger(seconds) ? seconds : null,
    secondsRaw,
    tz,
    message,
    index,
    cursor: { at: index, hash: shortHash(`${newOid} ${secondsRaw} ${message}`) },
  };
}

/** `REF@{n}` with n one past the oldest is what the ref held before it (git 2.44 and newer). */
async function oldestId(repo: Repository, ref: string, count: number): Promise<string | null> {
  const oid = await repo.optionalText([
    "rev-parse",
    "--verify",
    "--quiet",
    "--end-of-options",
    `${ref}@{${count}}`,
  ]);
  return oid !== null && /^[0-9a-f]{40,64}$/.test(oid) && !/^0+$/.test(oid) ? oid : null;
}
