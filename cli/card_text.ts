import { visible, visibleLines } from "./screen_text.ts";

/** A card as the gateway sends it; members of a foreign process are read with care. */
// deno-lint-ignore no-explicit-any
export type CardData = any;

/** Rows of one list; what is left out is counted. */
const MAX_ROWS = 1_000;
const MAX_DIFF_LINES = 2_000;

/** The whole card as text for a terminal: what will happen, what is lost, what it could run later. */
export function cardText(card: CardData): string {
  const lines: string[] = [
    `Proposal ${visible(String(card.previewId))}   ${visible(String(card.status))}   risk: ${
      visible(String(card.risk)).toUpperCase()
    }`,
    `Operation  ${visible(String(card.operationType))}`,
    `Repository ${visible(String(card.repoPath), 4_096)}`,
    `Agent      says it is ${visible(String(card.agentId))} (self-declared, not verified)`,
    ...(card.timeLeftMs > 0 ? [`Time left  ${timeText(card.timeLeftMs)}`] : []),
    ...(card.running ? ["It is being carried out at this moment."] : []),
    "",
    "The agent's reason, in its own words:",
    visibleLines(String(card.reason), 40, "  | "),
  ];
  const effect = card.effect;
  if (effect) {
    lines.push("", `Effect: ${visible(String(effect.summary), 1_000)}`);
    for (const ref of list(effect.refs)) {
      lines.push(
        `  ref ${visible(String(ref.ref), 1_000)}: ${short(ref.before)} -> ${
          ref.after === null ? "(deleted)" : short(ref.after)
        }`,
      );
    }
    more(lines, list(effect.refs).length, effect.refs?.length, "refs");
    if (effect.filesTotal > 0) lines.push("", `Files (${effect.filesTotal}):`);
    for (const file of list(effect.files)) lines.push(`  ${fileText(file)}`);
    more(lines, list(effect.files).length, effect.filesTotal, "files");
    if (effect.commitsTotal > 0) lines.push("", `Commits (${effect.commitsTotal}):`);
    for (const commit of list(effect.commits)) {
      lines.push(
        `  ${short(commit.oid)} ${visible(String(commit.fate))}: ${
          visible(String(commit.subject), 120)
        }`,
      );
    }
    more(lines, list(effect.commits).length, effect.commitsTotal, "commits");
    for (const [name, value] of Object.entries(effect.details ?? {})) {
      lines.push(detailText(name, value));
    }
    if (effect.diff) {
      lines.push("", "Diff:", visibleLines(String(effect.diff), MAX_DIFF_LINES, "  "));
      if (effect.diffTruncated) lines.push("  … the diff is longer than is shown here");
    }
  }
  const agents = [...list(card.otherAgents?.agents), ...list(card.otherAgents?.worktreeAgents)];
  if (agents.length > 0) lines.push("", "Also at work here, by what they call themselves:");
  for (const agent of agents) lines.push(`  ${agentText(agent)}`);
  for (const note of list(card.warnings)) {
    lines.push("", `Warning: ${visible(String(note.message), 1_000)}${pathsText(note.paths)}`);
  }
  for (const note of list(card.blockers)) {
    lines.push(
      "",
      `Cannot be approved: ${visible(String(note.message), 1_000)}${pathsText(note.paths)}`,
    );
  }
  lines.push(...recoveryLines(card.recovery));
  if (card.rejectionReason) {
    lines.push("", "Rejected:", visibleLines(String(card.rejectionReason), 40, "  | "));
  }
  if (card.result) {
    lines.push("", `Result: ${visible(String(card.result.message ?? card.result.status), 1_000)}`);
  }
  if (card.words) {
    lines.push("", `To approve, these words are asked for: ${visible(String(card.words), 8_192)}`);
  }
  if (card.digest) lines.push("", `Digest ${visible(String(card.digest))}`);
  return lines.join("\n") + "\n";
}

/** What is known of an execution that was cut off. */
function recoveryLines(recovery: CardData): string[] {
  if (!recovery) return [];
  const lines = ["", `Interrupted: ${visible(String(recovery.message), 1_000)}`];
  for (const place of list(recovery.repositories)) {
    lines.push(
      `  ${visible(String(place.repoPath), 4_096)}`,
      `    HEAD before ${short(place.headBefore)}, now ${short(place.headNow)}; ${
        place.unchanged === true
          ? "nothing is changed"
          : place.unchanged === false
          ? "it is changed"
          : "it cannot be read"
      }`,
      `    everything from before: fluxgit-sidecar restore show ${
        visible(String(place.restorePointId))
      }`,
    );
  }
  lines.push(
    "",
    "Look at it, bring it to the state you want, and say what became of it:",
    "  fluxgit-sidecar approvals reconcile ID --completed | --failed",
  );
  return lines;
}

/** One line of the queue. */
export function rowText(row: CardData): string {
  const left = row.status === "pending"
    ? timeText(row.timeLeftMs)
    : visible(row.running === true ? "running" : String(row.status));
  const equal = row.equal > 1 ? ` (one of ${Number(row.equal)} that ask for the same)` : "";
  const headline = typeof row.headline === "string" ? `\n    ${visible(row.headline, 200)}` : "";
  return `${visible(String(row.previewId))}  ${visible(String(row.operationType)).padEnd(16)} ${
    left.padEnd(10)
  } ${visible(String(row.risk)).padEnd(6)} ${visible(String(row.agentId), 30).padEnd(20)} ${
    visible(String(row.repoPath), 400)
  }${equal}${headline}`;
}

// deno-lint-ignore no-explicit-any
function list(value: unknown): any[] {
  return Array.isArray(value) ? value.slice(0, MAX_ROWS) : [];
}

function more(lines: string[], shown: number, total: unknown, what: string): void {
  if (typeof total === "number" && total > shown) {
    lines.push(`  … and ${total - shown} more ${what}`);
  }
}

function agentText(agent: CardData): string {
  const shared = [...list(agent.overlappingPaths), ...list(agent.overlappingBranches)];
  return `${visible(agent.agent, 60)} (${visible(agent.state)})` +
    (agent.worktree ? ` in ${visible(agent.worktree, 200)}` : "") +
    (shared.length > 0
      ? ` works on ${shared.slice(0, 10).map((name) => visible(String(name))).join(", ")} too`
      : "");
}

function fileText(file: CardData): string {
  const name = file.origPath
    ? `${visible(String(file.origPath), 4_096)} -> ${visible(String(file.path), 4_096)}`
    : visible(String(file.path), 4_096);
  const lines = file.binary
    ? " binary"
    : typeof file.added === "number"
    ? ` +${file.added} -${Number(file.deleted)}`
    : "";
  const modes = file.modes
    ? ` mode ${visible(String(file.modes.old))} -> ${visible(String(file.modes.new))}`
    : "";
  const note = file.note ? ` (${visible(String(file.note))})` : "";
  return `${visible(String(file.status))} ${name}${lines}${modes}${note}`;
}

function detailText(name: string, value: unknown): string {
  return `  ${visible(name)}: ${
    typeof value === "string" && value.includes("\n")
      ? "\n" + visibleLines(value, 200, "  | ")
      : visible(typeof value === "string" ? value : JSON.stringify(value) ?? "", 4_000)
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

function timeText(ms: unknown): string {
  const seconds = Math.max(0, Math.round(Number(ms) / 1_000)) || 0;
  return `${Math.floor(seconds / 60)}:${String(seconds % 60).padStart(2, "0")}`;
}
