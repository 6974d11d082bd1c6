import type { Repository } from "../git/repository.ts";
import { RestoreError } from "./errors.ts";
import type { HiddenRepository } from "./hidden.ts";
import { rawNames } from "./raw.ts";

/** Bytes of copies that are read back whole; of more, only that they are there. */
const READ_BACK = 256 * 1024 * 1024;

/**
 * Reads the copies just made, so that nothing is deleted on the strength of one that cannot be read
 * (`security.md` P-20). Content that the repository has already is its own.
 */
export async function readBack(
  repo: Repository,
  hidden: HiddenRepository,
  taken: ReadonlySet<string>,
): Promise<void> {
  if (taken.size === 0) return;
  const big = { maxBytes: 1024 * 1024 * 1024 };
  const { stdout } = await hidden.run(["ls-files", "-s", "-z"], big);
  const oids = new Set<string>();
  for (const line of rawNames(stdout)) {
    const tab = line.indexOf("\t");
    if (taken.has(line.slice(tab + 1))) oids.add(line.slice(7, line.indexOf(" ", 7)));
  }
  if (oids.size === 0) return;
  const asked = { ...big, stdin: [...oids].join("\n") + "\n" };
  const own = await repo.run(["cat-file", "--batch-check"], asked);
  const copies = new TextDecoder().decode(own.stdout).split("\n")
    .flatMap((line) => line.endsWith(" missing") ? [line.slice(0, -8)] : []);
  if (copies.length === 0) return;
  const stdin = copies.join("\n") + "\n";
  const there = await hidden.run(["cat-file", "--batch-check"], { ...big, stdin });
  const lines = new TextDecoder().decode(there.stdout).trimEnd().split("\n");
  const absent = lines.filter((line) => !/^[0-9a-f]+ blob \d+$/.test(line)).length;
  if (absent > 0) {
    throw new RestoreError("cannot_make", `${absent} copies of files cannot be read back`);
  }
  const bytes = lines.reduce((sum, line) => sum + Number(line.slice(line.lastIndexOf(" "))), 0);
  if (bytes > READ_BACK) return;
  await hidden.stream(["cat-file", "--batch"], () => true, { stdin });
}
