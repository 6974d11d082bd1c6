/// <reference no-default-lib="true" />
/// <reference lib="deno.worker" />
/**
 * The one thread of `serve` that may write: the run directory, the ledger's folder and the archive
 * folder. It owns the ledger, the presence record and the throw-away folders. It catches its own errors, because a dead
 * worker cannot be started again once the main program has given up its write permission.
 */
import type { CallRecord, Ledger } from "../audit/mod.ts";
import type { Numbered, WriterReply, WriterRequest } from "../common/writer/messages.ts";
import { PresenceRecord } from "../common/writer/presence_record.ts";
import { ScratchFolders } from "../common/writer/scratch_folders.ts";

let scratch: ScratchFolders | undefined;
let presence: PresenceRecord | undefined;
let ledger: Ledger | undefined;
let makeEntry: typeof import("../audit/mod.ts").callEntry | undefined;
/** Calls that came while the ledger's code was still being loaded. */
let loading: Promise<void> = Promise.resolve();

self.onmessage = (event: MessageEvent<Numbered>) => void answer(event.data);

async function answer({ id, request }: Numbered): Promise<void> {
  let reply: WriterReply;
  try {
    reply = { id, ok: true, value: await handle(request) };
  } catch (error) {
    reply = {
      id,
      ok: false,
      reason: error instanceof Error ? `${error.name}: ${error.message}` : String(error),
    };
  }
  self.postMessage(reply);
}

async function handle(request: WriterRequest): Promise<string | null> {
  switch (request.op) {
    case "start":
      scratch = new ScratchFolders(request.places.runDir, request.pid);
      presence = new PresenceRecord(
        request.places.runDir,
        request.pid,
        request.startedAtMs,
        presenceFailed,
      );
      if (request.ledger) loading = loadLedger(request.ledger);
      return null;
    case "record":
      await loading;
      if (ledger && makeEntry) void ledger.append(makeEntry(request.call as CallRecord));
      return null;
    case "flush":
      await loading;
      return String(ledger ? await ledger.flush() : 0);
    case "presence":
      presence?.add(request.call);
      return null;
    case "leave":
      presence?.leave();
      return null;
    case "copyDatabase": {
      const folder = started().make();
      try {
        const { copyDatabase } = await import("../common/writer/database_copy.ts");
        return await copyDatabase(request.path, folder);
      } catch (error) {
        started().remove(folder);
        throw error;
      }
    }
    case "makeFolder":
      return started().make();
    case "removeFolder":
      started().remove(request.path);
      return null;
  }
}

let presenceTold = false;

/** Told once: a record that cannot be written is no reason to bother anybody at each call. */
function presenceFailed(error: unknown): void {
  if (presenceTold) return;
  presenceTold = true;
  tell(`no presence record: ${error instanceof Error ? error.message : String(error)}`);
}

function tell(notice: string): void {
  self.postMessage({ id: 0, notice } satisfies WriterReply);
}

async function loadLedger(
  config: NonNullable<Extract<WriterRequest, { op: "start" }>["ledger"]>,
): Promise<void> {
  try {
    const audit = await import("../audit/mod.ts");
    ledger = audit.openLedger(config, { notice: (text) => tell(`ledger: ${text}`) });
    makeEntry = audit.callEntry;
    // In the background: an old break is told at start, not only when the tail is touched.
    void ledger.check();
  } catch (error) {
    tell(
      `the ledger cannot be opened: ${error instanceof Error ? error.message : String(error)}`,
    );
  }
}

function started(): ScratchFolders {
  if (!scratch) throw new Error("the writer was not told where to write");
  return scratch;
}
