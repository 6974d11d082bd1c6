/** A ledger as data for other programs: JSON, JSON lines, or CSV that is safe in spreadsheets. */

import { canonicalJson } from "./canonical.ts";
import type { LedgerLine } from "./line.ts";
import { verifyLedger, type VerifyReport } from "./verify.ts";

export type ExportFormat = "csv" | "json" | "jsonl";

/** Which entries; all given conditions must hold. */
export interface ExportFilter {
  /** Unix milliseconds; entries stamped before it are left out. */
  readonly since?: number;
  /** Exact tool names, any of them. */
  readonly tools?: readonly string[];
  /** `result` values, any of them. */
  readonly results?: readonly string[];
}

export interface ExportOptions extends ExportFilter {
  readonly format: ExportFormat;
  readonly archive?: string | null;
  /** Called after each file, for progress. */
  readonly afterFile?: (filesDone: number, filesTotal: number) => void;
}

/** The columns of the CSV form; members without a column of their own stand in `other` as JSON. */
export const CSV_COLUMNS = [
  ...["sequence", "time", "timestamp", "session_id", "tool", "event_type", "result", "approval"],
  ...["risk", "readOnly", "sidecarReadOnly", "duration_ms", "repo_scope", "args_fingerprint"],
  ...["summary", "id", "segmentId", "previousHash", "entryHash", "signatureKeyId"],
  ...["signatureVersion", "signature", "auditChainVersion", "auditSchemaVersion", "other"],
] as const;

/**
 * Streams the entries of a ledger, oldest first, while it is verified (without a key). At a bad place
 * the output ends, well-formed, and the report says where.
 *
 * @param write takes the next piece of text; awaited between files, so memory stays bounded
 */
export async function exportLedger(
  path: string,
  options: ExportOptions,
  write: (text: string) => void | Promise<void>,
): Promise<{ report: VerifyReport; exported: number }> {
  const pieces: string[] = [];
  let exported = 0;
  const flush = async () => {
    if (pieces.length > 0) await write(pieces.splice(0).join(""));
  };
  if (options.format === "csv") pieces.push(CSV_COLUMNS.join(",") + "\r\n");
  if (options.format === "json") pieces.push("[");
  const report = await verifyLedger(path, {
    archive: options.archive ?? null,
    onRecord: (line) => {
      const text = recordText(line, options, exported === 0);
      if (text === null) return;
      exported++;
      pieces.push(text);
    },
    afterFile: async (done, total) => {
      options.afterFile?.(done, total);
      await flush();
    },
  });
  if (options.format === "json") pieces.push(exported === 0 ? "]\n" : "\n]\n");
  await flush();
  return { report, exported };
}

function recordText(line: LedgerLine, options: ExportOptions, first: boolean): string | null {
  const record = line.record();
  if (!matches(record, options)) return null;
  if (options.format === "csv") return csvRow(record);
  const text = canonicalJson(record);
  return options.format === "jsonl" ? `${text}\n` : `${first ? "" : ","}\n${text}`;
}

function matches(record: Record<string, unknown>, filter: ExportFilter): boolean {
  const { since, tools, results } = filter;
  if (since !== undefined && !(Number(record.timestamp) >= since)) return false;
  if (tools && !tools.includes(record.tool as string)) return false;
  return !results || results.includes(record.result as string);
}

function csvRow(record: Record<string, unknown>): string {
  const other: Record<string, unknown> = { ...record };
  const cells = CSV_COLUMNS.map((column) => {
    if (column === "time") return csvCell(isoTime(record.timestamp));
    if (column === "other") {
      return Object.keys(other).length === 0 ? "" : csvCell(canonicalJson(other));
    }
    delete other[column];
    return csvCell(record[column]);
  });
  return cells.join(",") + "\r\n";
}

/** ISO 8601 in UTC; empty when the stamp is no point in time that a calendar has. */
function isoTime(timestamp: unknown): string {
  const date = new Date(Number(timestamp));
  return Number.isNaN(date.getTime()) ? "" : date.toISOString();
}

/**
 * One CSV cell. Texts are quoted; characters that act on a terminal or hide text are written as
 * `\u{hex}`; where a spreadsheet might see the start of a formula, at the start of the cell or behind
 * a separator that it may split at, an apostrophe stands in front.
 */
export function csvCell(value: unknown): string {
  if (value === undefined || value === null) return "";
  if (typeof value !== "string" && typeof value !== "object") return canonicalJson(value);
  const text = (typeof value === "string" ? value : canonicalJson(value))
    .replace(
      /[\p{Cc}\p{Cf}\u2028\u2029\u{e0000}-\u{e007f}]/gu,
      (char) => `\\u{${char.codePointAt(0)!.toString(16)}}`,
    )
    .replace(/(^|[,;|"'])(\s*)(?=[=+\-@\uff1d\uff0b\uff0d\uff20])/g, "$1$2'");
  return `"${text.replaceAll('"', '""')}"`;
}
