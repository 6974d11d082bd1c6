import { NulRecords } from "../common/bytes.ts";
import { streamGit } from "./command.ts";
import { diffArguments, type DiffRequest, forDiff } from "./diff.ts";
import { type DiffSummary, type FileWindow, SummaryParser } from "./diff_records.ts";
import { type DiffWindow, WindowCollector } from "./diff_text.ts";
import { GitError, lacksObjects } from "./errors.ts";
import type { Repository } from "./repository.ts";

/** Summary and text of a diff from one command. */
export interface DiffBoth {
  readonly summary: DiffSummary;
  readonly window: DiffWindow;
}

/**
 * Reads the files and the beginning of the text with one command: half the work of two where the
 * work tree must be compared. Gives why it cannot be done so: `unmerged` entries (git then leaves
 * their text and numbers out of such a list), or objects that are not here.
 *
 * Throws {@link GitError} for other failures.
 */
export async function readDiffOnce(
  repo: Repository,
  request: DiffRequest,
  files: FileWindow,
  contextLines: number,
  pageBytes: number,
): Promise<DiffBoth | "unmerged" | "missing_objects"> {
  const stream = new ListThenText(files, pageBytes);
  const args = diffArguments(request, [
    "--raw",
    "--numstat",
    "-z",
    "--no-abbrev",
    "--patch",
    `--unified=${contextLines}`,
  ]);
  const both = (end: DiffWindow["end"]): DiffBoth => ({
    summary: stream.summary(end === "timed_out"),
    window: stream.text.window(end),
  });
  try {
    const end = await streamGit(
      forDiff(repo),
      args,
      {
        signal: repo.signal,
        okCodes: "any",
        ...(request.stdin ? { stdin: request.stdin } : {}),
      },
      stream.push,
    );
    if (stream.unmerged) return "unmerged";
    if (end.stopped) return both("ceiling");
    if (end.code === 0) return both("whole");
    if (lacksObjects(end.stderr)) return "missing_objects";
    throw new GitError("failed", args, end.stderr, end.code);
  } catch (error) {
    if (error instanceof GitError && error.kind === "timed_out") return both("timed_out");
    throw error;
  }
}

/** Records, an empty one, then the text of the diff. */
class ListThenText {
  readonly text: WindowCollector;
  readonly #parser: SummaryParser;
  readonly #records = new NulRecords();
  #inText = false;
  /** Bytes given to, and taken by, the records. */
  #given = 0;
  #taken = 0;
  unmerged = false;

  constructor(files: FileWindow, pageBytes: number) {
    this.#parser = new SummaryParser(files);
    this.text = new WindowCollector(0, pageBytes);
  }

  readonly push = (chunk: Uint8Array): boolean => {
    if (this.#inText) return this.text.push(chunk);
    const before = this.#given;
    this.#given += chunk.length;
    this.#records.push(chunk, this.#record);
    if (this.unmerged) return false;
    return this.#inText ? this.text.push(chunk.subarray(this.#taken - before)) : true;
  };

  readonly #record = (record: Uint8Array): boolean => {
    this.#taken += record.length + 1;
    if (record.length === 0 && !this.#parser.expectsPath) {
      this.#inText = true;
      return false;
    }
    // Two colons: a combined entry.
    if (record[0] === 0x3a && record[1] === 0x3a && !this.#parser.expectsPath) {
      this.unmerged = true;
      return false;
    }
    return this.#parser.record(record);
  };

  /** @param early the list itself may be incomplete */
  summary(early: boolean): DiffSummary {
    const summary = this.#parser.finish();
    return early && !this.#inText
      ? {
        ...summary,
        totals: { files: null, added: null, deleted: null, binary: null },
        more: true,
      }
      : summary;
  }
}
