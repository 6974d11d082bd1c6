const MAX_BYTES = 64 * 1024 * 1024;
const PIECE_BYTES = 1024 * 1024;

/**
 * Copies a closed SQLite database of another program into a folder of ours and takes the copy out of
 * write-ahead mode, so that it can be read without making files beside the original. Gives the copy's
 * path. Throws when it is no regular file or larger than 64 MiB.
 */
export async function copyDatabase(path: string, folder: string): Promise<string> {
  const info = await Deno.lstat(path);
  if (!info.isFile || info.size > MAX_BYTES) throw new Error("not a file that is copied");
  const copy = `${folder}/copy.db`;
  using from = await Deno.open(path, { read: true });
  using to = await Deno.open(copy, { write: true, createNew: true, mode: 0o600 });
  const piece = new Uint8Array(PIECE_BYTES);
  for (let done = 0; done < info.size;) {
    const n = await from.read(piece) ?? 0;
    if (n === 0) break;
    // Both bytes say how the file is written and read: 2 is write-ahead, 1 is the plain way.
    if (done === 0 && n >= 20) piece[18] = piece[19] = 1;
    for (let at = 0; at < n;) at += await to.write(piece.subarray(at, n));
    done += n;
    if (done > MAX_BYTES) throw new Error("it grew while it was copied");
  }
  return copy;
}
