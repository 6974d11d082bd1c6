/** The commands of `mcp-toolhub-admin`. They run no program and reach no network. */

import type { ApprovalRecord } from "../approvals/record.ts";
import { describeFailure, escapeText, StartError } from "../errors.ts";
import type { Hub } from "../hub.ts";
import { openHub } from "../open_hub.ts";
import { readEnvironment } from "../shell/environment.ts";
import { readSnapshot, verifySnapshot } from "../shell/fingerprint.ts";
import { readOperands } from "../shell/operands.ts";
import { openFolders } from "../state/open.ts";
import { readVariable, write } from "../world.ts";
import { contentText, recordText } from "./display.ts";
import { readAnswer } from "./read_answer.ts";

export type Command =
  | { readonly name: "list" }
  | { readonly name: "show" | "approve" | "reject"; readonly id: string }
  | { readonly name: "prune"; readonly days: number; readonly apply: boolean };

/** The word that a person has to type, exactly. */
const WORD = "APPROVE";
const DAY_MICROS = 86_400_000_000;

/** A command, or what is wrong with the arguments. */
export function parseCommand(args: readonly string[]): Command | string {
  const [name, ...rest] = args;
  switch (name) {
    case "list":
      return rest.length === 0 ? { name } : "list takes no arguments";
    case "show":
    case "approve":
    case "reject":
      if (rest.length !== 1 || rest[0] === "" || rest[0]!.startsWith("-")) {
        return `${name} takes one request id`;
      }
      return { name, id: rest[0]! };
    case "prune":
      return parsePrune(rest);
    case undefined:
      return "a command is missing";
    default:
      return `unknown command ${escapeText(JSON.stringify(name.slice(0, 80)))}`;
  }
}

function parsePrune(rest: readonly string[]): Command | string {
  const apply = rest.includes("--apply");
  const others = rest.filter((arg) => arg !== "--apply");
  if (others.length !== 2 || others[0] !== "--older-than-days" || !/^\d{1,5}$/.test(others[1]!)) {
    return "prune takes --older-than-days N and maybe --apply";
  }
  return { name: "prune", days: Number(others[1]), apply };
}

/** Carries out one command; gives the exit code. */
export async function runCommand(command: Command): Promise<number> {
  let hub: Hub;
  try {
    hub = openHub({
      folders: await openFolders(readVariable),
      env: readVariable,
      complain: (line) => write("stderr", `mcp-toolhub-admin: ${line}\n`),
    });
  } catch (error) {
    if (!(error instanceof StartError)) throw error;
    write("stderr", `mcp-toolhub-admin: ${error.message}\n`);
    return 2;
  }
  try {
    switch (command.name) {
      case "list":
        return list(hub);
      case "show":
        return await show(hub, command.id);
      case "approve":
        return await approve(hub, command.id);
      case "reject":
        return await reject(hub, command.id);
      case "prune":
        return await prune(hub, command);
    }
  } catch (error) {
    return failed(escapeText(describeFailure(error).message));
  } finally {
    await hub.audit.close();
  }
}

function list(hub: Hub): number {
  const records = hub.approvals.list();
  if (records.length === 0) write("stdout", "There are no approval requests.\n");
  for (const record of records) write("stdout", `${recordText(record)}\n`);
  return 0;
}

async function show(hub: Hub, id: string): Promise<number> {
  const record = await hub.approvals.get(id);
  if (record === null) return failed(unknown(id));
  write("stdout", recordText(record) + contentText(record));
  if (record.status === "CONSUMED") {
    const events = hub.audit.recent(100).filter((event) =>
      event["request_id"] === record.request_id && event["tool"] === record.resume_tool
    );
    const last = events.find((event) => event["error_type"] !== "ApprovalStateError");
    write(
      "stdout",
      `  ${"outcome:".padEnd(14)}${
        last === undefined
          ? "none among the recent audit events; it may be at work, or the server was stopped in between"
          : `${last["action"]}, success=${last["success"]}, ${last["timestamp"]}`
      }\n`,
    );
  }
  return 0;
}

async function approve(hub: Hub, id: string): Promise<number> {
  const record = await hub.approvals.get(id);
  if (record === null) return failed(unknown(id));
  write("stdout", `Approval candidate:\n${recordText(record)}`);
  if (record.status !== "PENDING") return failed(`the request is ${record.status}`);
  if (record.kind === "shell") {
    const problem = identityProblem(record);
    if (problem !== null) return failed(`Invalid executable snapshot: ${problem}`);
  } else {
    write("stdout", `  (the whole text: mcp-toolhub-admin show ${record.request_id})\n`);
  }
  write("stdout", `Type ${WORD} to approve ${record.request_id}: `);
  const answer = await readAnswer(Deno.stdin);
  write("stdout", "\n");
  if (answer !== WORD) return failed("cancelled; the request stays as it is");
  const { done, record: now } = await hub.approvals.approve(id, record);
  if (!done) return failed(now === null ? unknown(id) : `the request is ${now.status}`);
  await decided(hub, now, "approve");
  write("stdout", `Approved ${now.request_id}.\n${recordText(now)}`);
  return 0;
}

async function reject(hub: Hub, id: string): Promise<number> {
  const { done, record } = await hub.approvals.reject(id);
  if (record === null) return failed(unknown(id));
  if (!done) return failed(`the request is ${record.status}`);
  await decided(hub, record, "reject");
  write("stdout", `Rejected ${record.request_id}.\n${recordText(record)}`);
  return 0;
}

async function prune(hub: Hub, { days, apply }: Extract<Command, { name: "prune" }>) {
  const { removed, kept } = await hub.approvals.prune(hub.clock() - days * DAY_MICROS, apply);
  await hub.audit.record({
    tool: "mcp-toolhub-admin",
    action: "prune",
    executed: apply,
    success: true,
    arguments: { older_than_days: days, removed, kept },
  });
  write(
    "stdout",
    apply
      ? `Removed ${removed} ended requests; ${kept} are kept.\n`
      : `${removed} ended requests would be removed, ${kept} kept; nothing was changed (give --apply).\n`,
  );
  return 0;
}

/** What no longer is as it was at submission; null when a person may be asked. */
function identityProblem(record: ApprovalRecord): string | null {
  try {
    verifySnapshot(readSnapshot(record.payload["executable_snapshot"]));
    readEnvironment(record.payload["execution_environment"], record.request_id);
    for (const one of readOperands(record.payload["operand_snapshots"] ?? [], readSnapshot)) {
      verifySnapshot(one, "file that an argument names");
    }
    return null;
  } catch (error) {
    return escapeText(describeFailure(error).message);
  }
}

/** A decision goes into the log, with the way it came: nobody at a terminal typed a piped word. */
async function decided(
  hub: Hub,
  record: ApprovalRecord,
  action: "approve" | "reject",
): Promise<void> {
  await hub.audit.record({
    traceId: record.trace_id,
    tool: "mcp-toolhub-admin",
    action,
    risk: record.risk,
    approvalStatus: record.status,
    requestId: record.request_id,
    executed: false,
    success: true,
    arguments: { kind: record.kind },
    extra: { channel: Deno.stdin.isTerminal() ? "terminal" : "pipe" },
  });
}

function failed(why: string): number {
  write("stderr", `error: ${why}\n`);
  return 1;
}

function unknown(id: string): string {
  return `unknown approval request ${escapeText(JSON.stringify(id.slice(0, 100)))}`;
}
