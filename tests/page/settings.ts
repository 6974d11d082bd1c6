import { AUDIT_SETTINGS, type AuditSettings, readLedgerConfig } from "../../audit/config.ts";
import type { GatewayOptions } from "../../gateway/server/gateway.ts";
import { restoreRoom } from "../../gateway/server/restore_room.ts";

/** A gateway as `fluxgit-sidecar gateway` starts it at a terminal, without a policy file. */
export async function readPolicyless(
  runDir: string,
): Promise<Pick<GatewayOptions, "runDir" | "attended" | "policy" | "ledger" | "restore">> {
  const settings = Object.fromEntries(
    AUDIT_SETTINGS.map((name) => [name, undefined]),
  ) as AuditSettings;
  return {
    runDir,
    attended: true,
    policy: null,
    ledger: await readLedgerConfig(settings, { runDir }),
    restore: restoreRoom,
  };
}
