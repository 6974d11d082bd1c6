import { decodeText } from "../common/bytes.ts";
import { streamGit } from "./command.ts";
import { GitError } from "./errors.ts";
import { FieldRecords } from "./fields.ts";
import {
  commitTime,
  LOG_FLAGS,
  type LogCommit,
  MAX_PARENTS,
  nulFormat,
  parseParents,
  parseRefs,
  settleCommits,
  wholeCharacters,
} from "./log.ts";
import type { Repository } from "./repository.ts";

/** Everything about one commit but its files. */
export interface Commit extends Omit<LogCommit, "subject" | "subjectTruncated"> {
  readonly committerName: string;
  readonly committerEmail: string;
  /** Present when the mailmap shows the author under another name or address than recorded. */
  readonly recordedAuthor?: { readonly name: string; readonly email: string };
  /** As declared by the commit; the text here is UTF-8 whatever it was. */
  readonly encoding?: string;
  /** End trimmed. At most {@link MAX_MESSAGE} bytes. */
  readonly message: string;
  /** Present when `message` is cut: bytes of the whole. */
  readonly messageBytes?: number;
}

export const MAX_MESSAGE = 32 * 1024;
const NAME = 512;

const FIELDS: readonly (readonly [placeholder: string, keep: number])[] = [
  ["%H", 64],
  ["%h", 64],
  ["%aN", NAME],
  ["%aE", NAME],
  ["%an", NAME],
  ["%ae", NAME],
  ["%at", 64],
  ["%cN", NAME],
  ["%cE", NAME],
  ["%ct", 64],
  ["%P", MAX_PARENTS * 65],
  ["%e", 128],
  ["%D", 4_096],
  ["%B", MAX_MESSAGE],
];

/** Reads one commit by its full id. Throws {@link GitError}. */
export async function readCommit(repo: Repository, oid: string): Promise<Commit> {
  const args = [
    "log",
    ...LOG_FLAGS,
    "--no-walk",
    nulFormat(FIELDS.map(([placeholder]) => placeholder)),
    oid,
    "--",
  ];
  const records = new FieldRecords(FIELDS.map(([, keep]) => keep));
  let found: Commit | null = null;
  await streamGit(repo, args, { signal: repo.signal }, (chunk) =>
    records.push(chunk, (fields) => {
      const text = fields.map((field) => decodeText(field.bytes));
      const message = fields[13]!;
      found = {
        hash: text[0]!,
        shortHash: text[1]!,
        authorName: text[2]!,
        authorEmail: text[3]!,
        ...(text[2] === text[4] && text[3] === text[5]
          ? {}
          : { recordedAuthor: { name: text[4]!, email: text[5]! } }),
        author: commitTime(text[6]!),
        committerName: text[7]!,
        committerEmail: text[8]!,
        committer: commitTime(text[9]!),
        ...parseParents(fields[10]!, repo),
        ...(text[11] === "" ? {} : { encoding: text[11]! }),
        ...parseRefs(fields[12]!),
        ...(message.size > message.bytes.length
          ? { message: wholeCharacters(text[13]!, message), messageBytes: message.size }
          : { message: text[13]!.trimEnd() }),
      };
      return true;
    }));
  if (found === null) throw new GitError("failed", args, "git showed no commit");
  return (await settleCommits<Commit>(repo, [found]))[0]!;
}
