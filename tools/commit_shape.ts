import type { CommitTime } from "../git/log.ts";
import type { Z } from "../registry/define.ts";
import { count } from "./shapes.ts";

/** Schema pieces and members of commits that `repo.history` and `commit.details` share. */

const times = (z: Z) => ({
  authorTime: z.int().nullable(),
  authorTimeRaw: z.string().optional(),
  committerTime: z.int().nullable(),
  committerTimeRaw: z.string().optional(),
  dateOutOfRange: z.literal(true).optional(),
});

const parents = (z: Z) => ({
  parents: z.array(z.string()),
  parentCount: count(z).optional(),
  shallowBoundary: z.literal(true).optional(),
  refs: z.array(z.string()).optional(),
  refsTruncated: z.literal(true).optional(),
});

/** A commit of `repo.history`. */
export const historyCommit = (z: Z) =>
  z.object({
    hash: z.string(),
    shortHash: z.string(),
    authorName: z.string(),
    authorEmail: z.string(),
    ...times(z),
    subject: z.string(),
    subjectTruncated: z.literal(true).optional(),
    ...parents(z),
  });

/** The commit of `commit.details`. */
export const detailedCommit = (z: Z) =>
  z.object({
    hash: z.string(),
    shortHash: z.string(),
    authorName: z.string(),
    authorEmail: z.string(),
    committerName: z.string().optional(),
    committerEmail: z.string().optional(),
    recordedAuthor: z.object({ name: z.string(), email: z.string() }).optional(),
    ...times(z),
    committerTime: z.int().nullable().optional(),
    ...parents(z),
    encoding: z.string().optional(),
    message: z.string(),
    messageTruncated: z.literal(true).optional(),
    messageBytes: count(z).optional(),
  });

/** Times of a commit: the recorded text beside what is no ordinary date. */
export function commitTimes(commit: { author: CommitTime; committer: CommitTime }) {
  const { author, committer } = commit;
  return {
    authorTime: author.time,
    ...(author.raw === undefined ? {} : { authorTimeRaw: author.raw }),
    committerTime: committer.time,
    ...(committer.raw === undefined ? {} : { committerTimeRaw: committer.raw }),
    ...(author.raw === undefined && committer.raw === undefined ? {} : {
      dateOutOfRange: true as const,
    }),
  };
}
