import { visible, visibleLines } from "./screen_text.ts";

/** A card as the gateway sends it; members of a foreign process are read with care. */
// deno-lint-ignore no-explicit-any
export type CardData = any;

const MAX_ROWS = 60;
const MAX_DIFF_LINES = 400;

/** The whole card as text for a terminal: what will happen, what is lost, what it could run later. */
export function cardText(card: CardData): string {
  const lines: string[] = [
    `Proposal ${visible(card.previewId)}   ${visible(card.status)}   risk: ${
      String(card.risk).toUpperCase()
    }`,
    `Operation  ${visible(card.operationType)}`,
    `Repository ${visible(card.repoPath)}`,
    `Agent      says it is ${visible(card.agentId)} (self-declared, not verified)`,
    `Time left  ${timeText(card.timeLeftMs)}`,
    "",
    "The agent's reason, in its own words:",
    visibleLines(String(card.reason), 40, "  | "),
  ];
  const effect = card.effect;
  if (effect) {
    lines.push("", `Effect: ${visible(effect.summary, 1_000)}`);
    for (const ref of list(effect.refs)) {
      lines.push(
        `  ref ${visible(ref.ref)}: ${short(ref.before)} -> ${
          ref.after === null ? "(deleted)" : short(ref.after)
        }`,
      );
    }
    more(lines, list(effect.refs).length, list(effect.refs).length, "refs");
    if (effect.filesTotal > 0) lines.push("", `Files (${effect.filesTotal}):`);
    for (const file of list(effect.files)) lines.push(`  ${fileText(file)}`);
    more(lines, list(effect.files).length, effect.filesTotal, "files");
    if (effect.commitsTotal > 0) lines.push("", `Commits (${effect.commitsTotal}):`);
    for (const commit of list(effect.commits)) {
      lines.push(`  ${short(commit.oid)} ${visible(commit.fate)}: ${visible(commit.subject, 120)}`);
    }
    more(lines, list(effect.commits).length, effect.commitsTotal, "commits");
    for (const [name, value] of Object.entries(effect.details ?? {})) {
      lines.push(detailText(name, value));
    }
    if (effect.diff) {
      lines.push("", "Diff:", visibleLines(effect.diff, MAX_DIFF_LINES, "  "));
      if (effect.diffTruncated) lines.push("  … the diff is longer than is shown here");
    }
  }
  for (const note of list(card.warnings)) {
    lines.push("", `Warning: ${visible(note.message, 1_000)}${pathsText(note.paths)}`);
  }
  for (const note of list(card.blockers)) {
    lines.push("", `Cannot be approved: ${visible(note.message, 1_000)}`);
  }
  if (card.rejectionReason) lines.push("", `Rejected: ${visible(card.rejectionReason, 1_000)}`);
  if (card.result) {
    lines.push("", `Result: ${visible(String(card.result.message ?? card.result.status), 1_000)}`);
  }
  if (card.words) lines.push("", `To approve, these words are asked for: ${visible(card.words)}`);
  if (card.digest) lines.push("", `Digest ${visible(card.digest)}`);
  return lines.join("\n") + "\n";
}

/** One line of the queue. */
export function rowText(row: CardData): string {
  const left = row.status === "pending"
    ? timeText(row.expiresAtMs - Date.now())
    : visible(row.status);
  return `${visible(row.previewId)}  ${visible(row.operationType).padEnd(16)} ${left.padEnd(10)} ${
    visible(row.agentId, 30).padEnd(20)
  } ${visible(row.repoPath, 120)}`;
}

// deno-lint-ignore no-explicit-any
function list(value: unknown): any[] {
  return Array.isArray(value) ? value.slice(0, MAX_ROWS) : [];
}

function more(lines: string[], shown: number, total: number, what: string): void {
  if (total > shown) lines.push(`  … and ${total - shown} more ${what}`);
}

function fileText(file: CardData): string {
  const name = file.origPath
    ? `${visible(file.origPath)} -> ${visible(file.path)}`
    : visible(file.path);
  const lines = file.binary
    ? "binary"
    : file.added === null
    ? ""
    : `+${file.added} -${file.deleted}`;
  const modes = file.modes ? ` mode ${file.modes.old} -> ${file.modes.new}` : "";
  return `${visible(file.status)} ${name} ${lines}${modes}${
    file.note ? ` (${visible(file.note)})` : ""
  }`.trimEnd();
}

function detailText(name: string, value: unknown): string {
  return `  ${visible(name)}: ${
    visible(typeof value === "string" ? value : JSON.stringify(value), 4_000)
  }`;
}

function pathsText(paths: unknown): string {
  return Array.isArray(paths) && paths.length > 0
    ? `: ${paths.slice(0, 10).map((path) => visible(String(path))).join(", ")}`
    : "";
}

function short(oid: unknown): string {
  return typeof oid === "string"
    ? visible(/^[0-9a-f]{40,64}$/.test(oid) ? oid.slice(0, 12) : oid)
    : "(none)";
}

function timeText(ms: number): string {
  const seconds = Math.max(0, Math.round(ms / 1_000));
  return `${Math.floor(seconds / 60)}:${String(seconds % 60).padStart(2, "0")}`;
}
