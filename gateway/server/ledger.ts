import { type Ledger, openLedger, repoPathScope } from "../../audit/mod.ts";
import type { LedgerConfig } from "../../audit/config.ts";
import { proposalRisk } from "../../audit/labels.ts";
import type { LedgerEvent, LedgerPort } from "./ports.ts";

/**
 * Decisions and executions in the same ledger as the sidecar's calls (`operations.md` 11.7), through
 * the same writer. A failing append is told and changes nothing that the journal holds.
 */
export function ledgerPort(
  config: LedgerConfig | null,
  log: (line: string) => void,
  now: () => number,
): LedgerPort {
  if (config === null) {
    return {
      record() {},
      state: () => Promise.resolve({ status: "off" }),
      close: () => Promise.resolve(),
    };
  }
  const ledger: Ledger = openLedger(config, { notice: (text) => log(`ledger: ${text}`) });
  void ledger.check();
  return {
    record: (event) => void ledger.append(entryOf(event, now())),
    state: () => Promise.resolve({ ...ledger.state() }),
    async close() {
      let timer: ReturnType<typeof setTimeout> | undefined;
      const late = new Promise<number>((resolve) => {
        timer = setTimeout(() => resolve(ledger.state().waiting), FLUSH_MS);
      });
      const left = await Promise.race([ledger.close(), late]);
      clearTimeout(timer);
      if (left > 0) log(`${left} ledger entries were not written`);
    },
  };
}

/** The flush may hold up the end so long (`additions.md` section 6). Milliseconds. */
const FLUSH_MS = 800;

const EVENT_TYPES: Readonly<Record<LedgerEvent["kind"], string>> = {
  approve: "human_decision",
  reject: "human_decision",
  reconcile: "human_decision",
  execute: "operation_execution",
  expire: "proposal_expired",
  wrong_code: "human_sign_in",
  restore: "restore_execution",
};

/** The members of an entry; paths and texts never stand in it. */
function entryOf(
  event: LedgerEvent,
  timestamp: number,
): Record<string, string | number | boolean | null> {
  const tool = event.operationType === null
    ? `gateway.${event.kind}`
    : `operation.${event.operationType}`;
  const ids: Record<string, string | null> = {};
  for (const [name, value] of Object.entries(event.ids ?? {})) ids[`id_${name}`] = value;
  return {
    timestamp,
    tool,
    event_type: EVENT_TYPES[event.kind],
    decision: event.kind,
    approval: event.kind === "approve" || event.kind === "execute" ? "human" : "not_required",
    risk:
      (event.operationType === null
        ? null
        : proposalRisk(`operation.preview.${event.operationType}`)) ?? "none",
    readOnly: false,
    sidecarReadOnly: false,
    result: event.result,
    repo_scope: event.repoPath === null ? "unknown" : repoPathScope(event.repoPath),
    args_fingerprint: null,
    session_id: event.agentId ?? "gateway",
    previewId: event.previewId,
    channel: event.channel,
    card_digest: event.digest,
    ...(event.tries === undefined ? {} : { tries: event.tries }),
    duration_ms: 0,
    summary: `${event.kind} ${tool}: ${event.result}`,
    ...ids,
  };
}
