/** A request on the administrator's screen: every value apart, nothing that could steer a terminal. */

import type { ApprovalRecord } from "../approvals/record.ts";
import { isoTime, parseTime } from "../clock.ts";
import { escapeText } from "../errors.ts";
import { readSnapshot } from "../shell/fingerprint.ts";
import { readOperands } from "../shell/operands.ts";
import { sha256 } from "../workspace/hash.ts";

/** Columns before the value: of the general members, and of those of a command. */
const WIDTH = 14;
const WIDE = 22;

/** JSON text in ASCII: control characters, quotes and anything beyond show as escapes. */
export function jsonText(value: unknown): string {
  return escapeText(JSON.stringify(value) ?? "null");
}

/** The lines of a record, the last one ended. */
export function recordText(record: ApprovalRecord): string {
  const lines = [escapeText(record.request_id)];
  const line = (label: string, value: string, width = WIDTH) =>
    lines.push(`  ${`${label}:`.padEnd(width)}${value}`);
  line("workspace", jsonText(record.payload["workspace_root"] ?? null));
  line("status", record.status);
  line("kind", record.kind);
  if (record.kind === "shell") shellLines(record, (label, value) => line(label, value, WIDE));
  else fileLines(record, line);
  line("risk", `${record.risk} - ${escapeText(record.risk_reason)}`);
  line("created_at", shownTime(record.created_at));
  line("expires_at", shownTime(record.expires_at));
  line("decided_at", record.decided_at === null ? "-" : shownTime(record.decided_at));
  return lines.join("\n") + "\n";
}

function shellLines(record: ApprovalRecord, line: (label: string, value: string) => void): void {
  line("requested_program", jsonText(record.program));
  try {
    const snapshot = readSnapshot(record.payload["executable_snapshot"]);
    line("resolved_executable", jsonText(snapshot.canonical_path));
    line("executable_sha256", snapshot.sha256);
    line("executable_size", `${snapshot.size} bytes`);
  } catch (error) {
    line("executable_snapshot", `INVALID (${reason(error)})`);
  }
  line("cwd", jsonText(record.cwd));
  line("timeout_seconds", String(record.timeout_seconds));
  line("argument_count", String(record.args.length));
  for (const [at, arg] of record.args.entries()) line(`args[${at}]`, jsonText(arg));
  try {
    for (
      const one of readOperands(record.payload["operand_snapshots"] ?? [], readSnapshot)
    ) {
      line(
        `file of args[${one.index}]`,
        `${jsonText(one.canonical_path)} sha256=${one.sha256} ${one.size} bytes`,
      );
    }
  } catch (error) {
    line("operand_snapshots", `INVALID (${reason(error)})`);
  }
  line(
    "identity_scope",
    "primary executable only, and files of the workspace among the arguments; not libraries, interpreters or children",
  );
}

function fileLines(record: ApprovalRecord, line: (label: string, value: string) => void): void {
  const { payload, kind } = record;
  line("mutation", `${kind} path=${jsonText(payload["path"])}`);
  const name = kind === "file_write" ? "content" : "patch";
  const text = payload[name];
  line(
    name,
    typeof text === "string" ? `${[...text].length} chars sha256=${sha256(text)}` : "INVALID",
  );
  const expected = payload["expected_hash"];
  line("expected", `sha256=${typeof expected === "string" ? escapeText(expected) : "None"}`);
  if (kind === "file_write") line("parents", String(payload["create_parents"]));
}

/** The whole content or patch of a file request, one escaped line after another. */
export function contentText(record: ApprovalRecord): string {
  const name = record.kind === "file_write" ? "content" : "patch";
  const text = record.payload[name];
  if (record.kind === "shell" || typeof text !== "string") return "";
  const rows = text.split("\n").map((row) => `  | ${jsonText(row).slice(1, -1)}`);
  return `  ${name} in full, everything but plain ASCII escaped:\n${rows.join("\n")}\n`;
}

function shownTime(text: string): string {
  const micros = parseTime(text);
  return micros === null ? escapeText(text) : isoTime(micros, "+00:00");
}

function reason(error: unknown): string {
  return escapeText(error instanceof Error ? error.message : "unreadable");
}
