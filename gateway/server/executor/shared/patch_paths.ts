import { decodePath, decodeText, splitNul } from "../../../../common/bytes.ts";
import { CodedError } from "../../../../common/errors.ts";
import type { Repository } from "../../../../git/repository.ts";
import { isDotGit } from "../../admission/names.ts";
import type { FileEffect, Note } from "../../types.ts";

/** What git itself says a patch touches, never what its header lines look like. */
export interface PatchSummary {
  readonly files: readonly FileEffect[];
  readonly added: number;
  readonly deleted: number;
  /** Lines of `git apply --summary`: creations, deletions, mode changes, renames. */
  readonly summary: readonly string[];
}

/** Inflated bytes that the binary parts of one patch may have (`security.md` S-33). */
const MAX_BINARY_BYTES = 64 * 1_024 * 1_024;

/** Reads a patch with git. Throws `CodedError` 422-like details when git cannot read it. */
export async function readPatch(repo: Repository, patch: string): Promise<PatchSummary> {
  const binary = binaryBytes(patch);
  if (binary > MAX_BINARY_BYTES) {
    throw new CodedError(10010, "patch too large", {
      details: `its binary parts inflate to ${binary} bytes; at most ${MAX_BINARY_BYTES} are taken`,
    });
  }
  const options = { profile: "approved", stdin: patch, maxBytes: 8 * 1_024 * 1_024 } as const;
  const [numstat, summary] = await Promise.all([
    repo.run(["apply", "--numstat", "-z", "-"], options),
    repo.run(["apply", "--summary", "-"], options),
  ]);
  const files: FileEffect[] = [];
  let added = 0, deleted = 0;
  const fields = splitNul(numstat.stdout);
  for (const field of fields) {
    const text = decodeText(field);
    const match = /^(\d+|-)\t(\d+|-)\t/.exec(text);
    if (!match) continue;
    const path = decodePath(field.subarray(match[0].length));
    const plus = match[1] === "-" ? null : Number(match[1]),
      minus = match[2] === "-" ? null : Number(match[2]);
    added += plus ?? 0;
    deleted += minus ?? 0;
    files.push({
      ...path,
      status: "M",
      added: plus,
      deleted: minus,
      ...(plus === null ? { binary: true as const } : {}),
    });
  }
  return {
    files,
    added,
    deleted,
    summary: decodeText(summary.stdout).split("\n").map((line) => line.trim()).filter(Boolean)
      .slice(0, 2_000),
  };
}

/** Bytes that `GIT binary patch` parts say they inflate to. */
export function binaryBytes(patch: string): number {
  let sum = 0;
  for (const match of patch.matchAll(/^(?:literal|delta) (\d{1,15})$/gm)) sum += Number(match[1]);
  return sum;
}

/**
 * Every name in the patch, checked by own code beside git's own checks (P-11): `--- a/x`, `+++ b/x`,
 * renames and copies. A path out of the work tree or into a git directory blocks the card.
 */
export function patchPathProblems(patch: string, files: readonly FileEffect[]): Note[] {
  const names = new Set(files.map((file) => file.path));
  for (
    const match of patch.matchAll(/^(?:--- |\+\+\+ |rename (?:from|to) |copy (?:from|to) )(.+)$/gm)
  ) {
    const name = match[1]!.replace(/\t.*$/, "").replace(/^"(.*)"$/s, "$1");
    if (name !== "/dev/null") {
      names.add(/^(?:---|\+\+\+) /.test(match[0]) ? name.replace(/^[^/]+\//, "") : name);
    }
  }
  const bad = [...names].filter((name) =>
    name.startsWith("/") || /^[A-Za-z]:/.test(name) ||
    name.split(/[\\/]/).some((part) => part === ".." || isDotGit(part))
  );
  return bad.length === 0 ? [] : [{
    code: "path_outside",
    message: "the patch names paths outside the work tree or inside a git directory",
    paths: bad.slice(0, 50),
  }];
}
