import { indexFingerprint } from "../git/index_file.ts";
import type { Repository } from "../git/repository.ts";
import { readState } from "./plan.ts";
import { checkLock, openHidden } from "./points.ts";
import type { RepositoryLock } from "./lock.ts";
import { readRefState, readStashLog, writeRefState } from "./refs.ts";
import { readIndexFile } from "./snapshot.ts";
import { writeModes } from "./modes.ts";
import { captureWorkTree } from "./work_tree.ts";

/**
 * One text that is the same exactly when HEAD, refs, the stash, the index (what it says, not the times
 * in it), every covered file with its permission bits, and the state of an operation in progress are.
 * The caller holds the lock.
 *
 * @throws {import("./errors.ts").RestoreError} `cannot_make` when something cannot be read
 */
export async function fingerprintRepository(
  repo: Repository,
  context: { readonly lock: RepositoryLock },
): Promise<string> {
  checkLock(repo, context);
  const hidden = openHidden(repo);
  const index = readIndexFile(repo);
  const looking = Promise.allSettled([
    readRefState(repo),
    repo.facts.topLevel === null ? null : captureWorkTree(repo, hidden),
  ]);
  const [refs, files] = await looking;
  if (refs.status === "rejected") throw refs.reason;
  if (files.status === "rejected") throw files.reason;
  const hash = async (bytes: Uint8Array) =>
    new Uint8Array(await crypto.subtle.digest("SHA-256", bytes as BufferSource)).toHex();
  const parts = [
    await hash(writeRefState(refs.value)),
    await hash(readStashLog(repo) ?? new Uint8Array()),
    index === null ? "no index" : indexFingerprint(index, repo.facts.objectFormat),
    files.value?.tree ?? "bare",
    files.value ? await hash(writeModes(files.value.modes)) : "",
  ];
  for (const [name, content] of readState(repo)) {
    // Written by operations that then fail, and read by nothing that continues.
    if (name !== "ORIG_HEAD") parts.push(`${name} ${await hash(content)}`);
  }
  return await hash(new TextEncoder().encode(parts.join("\n")));
}
