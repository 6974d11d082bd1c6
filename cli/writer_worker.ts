/// <reference no-default-lib="true" />
/// <reference lib="deno.worker" />
/**
 * The one thread of `serve` that may write: the run directory, the ledger's folder and the archive
 * folder. It catches its own errors, because a dead worker cannot be started again once the main
 * program has given up its write permission.
 */
import type { Numbered, WriterReply, WriterRequest } from "./messages.ts";
import { ScratchFolders } from "./scratch_folders.ts";

let scratch: ScratchFolders | undefined;

self.onmessage = (event: MessageEvent<Numbered>) => {
  const { id, request } = event.data;
  let reply: WriterReply;
  try {
    reply = { id, ok: true, value: handle(request) };
  } catch (error) {
    reply = {
      id,
      ok: false,
      reason: error instanceof Error ? `${error.name}: ${error.message}` : String(error),
    };
  }
  self.postMessage(reply);
};

function handle(request: WriterRequest): string | null {
  if (request.op === "start") {
    scratch = new ScratchFolders(request.places.runDir, request.pid);
    return null;
  }
  if (!scratch) throw new Error("the writer was not told where to write");
  if (request.op === "makeFolder") return scratch.make();
  scratch.remove(request.path);
  return null;
}
