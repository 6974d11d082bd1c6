import { invalid } from "../refusal.ts";
import { type Action, OPERATION_TYPES, type OperationType, type StepAction } from "../types.ts";
import { checkText, Fields } from "./fields.ts";
import { checkAbsolutePath, checkBranch, checkInnerPath, checkRef } from "./names.ts";

/** What every preview body carries besides its operation (`operations.md` 4.1). */
export interface Envelope {
  readonly previewId: string;
  readonly agentId: string;
  readonly idempotencyKey: string;
  readonly repoPath: string;
  readonly reason: string;
  /** Information only; expiry counts from the gateway's own clock. */
  readonly requestedAt: string | null;
}

export interface ParsedBody {
  readonly envelope: Envelope;
  readonly action: Action;
}

const ID = /^[A-Za-z0-9_-]{1,128}$/;
const OID = /^(?:[0-9a-f]{40}|[0-9a-f]{64})$/;
const MAX_PATHS = 10_000;

/**
 * Validates a preview body against the contract, independent of what the sender validated
 * (requirement A1). Throws a 422 {@link Refusal} naming the first place that is wrong.
 *
 * @param suffix the operation type of the request path
 */
export function parseBody(
  body: unknown,
  suffix: string,
  windows = Deno.build.os === "windows",
): ParsedBody {
  const fields = new Fields(body, "body");
  const type = fields.choice("operationType", OPERATION_TYPES);
  if (type !== suffix) {
    throw invalid(`body.operationType is ${type}, but the path says ${suffix.slice(0, 40)}`);
  }
  const previewId = fields.text("previewId", {
    max: 128,
    pattern: ID,
    form: "1 to 128 ASCII letters, digits, _ and -",
  });
  const envelope: Envelope = {
    previewId,
    agentId: fields.text("agentId", {
      max: 128,
      pattern: /^[A-Za-z0-9._:-]+$/,
      form: "ASCII letters, digits and . _ : -",
    }),
    // Older senders give none: then each request is an intent of its own.
    idempotencyKey: fields.optionalText("idempotencyKey", {
      max: 160,
      pattern: /^[A-Za-z0-9_:-]+$/,
      form: "ASCII letters, digits and _ : -",
    }) ?? `${type}:id:${previewId}`,
    repoPath: checkAbsolutePath(fields.raw("repoPath"), "body.repoPath", windows),
    reason: fields.text("reason", {
      max: 4_096,
      pattern: /\S/,
      form: "a reason a person can read",
    }),
    requestedAt: fields.optionalText("requestedAt", { max: 64 }),
  };
  const action = readAction(type, fields, envelope.repoPath, windows);
  fields.done();
  return { envelope, action };
}

function readAction(
  type: OperationType,
  fields: Fields,
  repoPath: string,
  windows: boolean,
): Action {
  switch (type) {
    case "merge":
    case "rebase":
    case "discard":
    case "reset":
    case "patch":
      return readStep(type, fields);
    case "plan":
      return { operationType: "plan", steps: readSteps(fields) };
    case "worktree": {
      const path = fields.optionalText("path", { max: 32_768, min: 0 });
      return {
        operationType: "worktree",
        branch: checkBranch(fields.raw("branch"), "body.branch"),
        path: path === null || path.trim() === ""
          ? null
          : checkAbsolutePath(path, "body.path", windows),
      };
    }
    case "commit":
      return {
        operationType: "commit",
        message: fields.text("message", { max: 65_536, pattern: /\S/, form: "a message" }),
        paths: fields.texts("paths", MAX_PATHS, 0, checkInnerPath),
        stageAll: fields.bool("stageAll", false),
      };
    case "push": {
      const branch = fields.optionalText("branch", { max: 4_096, min: 0 });
      const remote = fields.optionalText("remote", { max: 4_096, min: 0 });
      return {
        operationType: "push",
        remote: remote === null || remote.trim() === ""
          ? "origin"
          : checkRef(remote, "body.remote"),
        branch: branch === null || branch.trim() === "" ? null : checkBranch(branch, "body.branch"),
        setUpstream: fields.bool("setUpstream", false),
        forceWithLease: fields.bool("forceWithLease", false),
      };
    }
    case "branch": {
      const start = fields.optionalText("startPoint", { max: 4_096, min: 0 });
      return {
        operationType: "branch",
        name: checkBranch(fields.raw("name"), "body.name"),
        startPoint: start === null || start.trim() === ""
          ? "HEAD"
          : checkRef(start, "body.startPoint"),
        checkout: fields.bool("checkout", true),
      };
    }
    case "branchDelete":
      return { operationType: "branchDelete", targets: readTargets(fields, repoPath, windows) };
    case "submodulePointer":
      return readPointer(fields);
  }
}

function readStep(type: StepAction["operationType"], fields: Fields): StepAction {
  const ref = (name: string) => checkRef(fields.raw(name), `${fields.at}.${name}`);
  switch (type) {
    case "merge":
      return {
        operationType: type,
        sourceRef: ref("sourceRef"),
        targetRef: ref("targetRef"),
        strategy: fields.choice("strategy", ["merge", "squash"], "merge"),
      };
    case "rebase": {
      if (fields.bool("interactive", false)) {
        throw invalid(`${fields.at}.interactive: an interactive rebase cannot be proposed`);
      }
      return {
        operationType: type,
        currentRef: fields.has("currentRef") ? ref("currentRef") : "HEAD",
        ontoRef: ref("ontoRef"),
      };
    }
    case "discard":
      return {
        operationType: type,
        paths: required(fields.texts("paths", MAX_PATHS, 1, checkInnerPath), `${fields.at}.paths`),
      };
    case "reset":
      return {
        operationType: type,
        targetRef: ref("targetRef"),
        mode: fields.choice("mode", ["soft", "mixed", "hard"], "mixed"),
      };
    case "patch":
      return {
        operationType: type,
        patchContent: fields.text("patchContent", { max: 4_194_304 }),
        applyToIndex: fields.bool("applyToIndex", false),
      };
  }
}

function readSteps(fields: Fields): StepAction[] {
  const steps = required(fields.list("steps", 10, 1), `${fields.at}.steps`);
  return steps.map((value, i) => {
    const step = new Fields(value, `body.steps[${i}]`);
    const type = step.choice(
      "operationType",
      ["merge", "rebase", "discard", "reset", "patch"] as const,
    );
    const action = readStep(type, step);
    // A member of another step type would be shown to nobody and mean nothing: refused.
    step.done();
    return action;
  });
}

function readTargets(
  fields: Fields,
  repoPath: string,
  windows: boolean,
): { repoPath: string; branches: string[] }[] {
  const targets = required(fields.list("targets", 20, 1), "body.targets").map((value, i) => {
    const target = new Fields(value, `body.targets[${i}]`);
    const path = checkAbsolutePath(target.raw("repoPath"), `${target.at}.repoPath`, windows);
    const branches = required(
      target.texts("branches", 20, 1, checkBranch),
      `${target.at}.branches`,
    );
    if (new Set(branches).size !== branches.length) {
      throw invalid(`${target.at}.branches names a branch twice`);
    }
    target.done();
    return { repoPath: path, branches };
  });
  if (targets.reduce((sum, target) => sum + target.branches.length, 0) > 100) {
    throw invalid("body.targets names more than 100 branches");
  }
  if (new Set(targets.map((target) => target.repoPath)).size !== targets.length) {
    throw invalid("body.targets names a repository twice");
  }
  if (!targets.some((target) => target.repoPath === repoPath)) {
    throw invalid("body.repoPath must be one of body.targets[].repoPath");
  }
  return targets;
}

function readPointer(fields: Fields): Action {
  const direction = fields.choice("direction", ["record", "return"]);
  const parent = fields.optionalText("parentPath", { max: 32_768, min: 0 });
  const pin = (name: string) => {
    const value = fields.raw(name);
    return value === undefined ? null : checkText(value, `body.${name}`, {
      max: 64,
      pattern: OID,
      form: "a full lower-case object id",
    });
  };
  const message = fields.optionalText("message", { max: 2_000 });
  if (direction === "record" && (message === null || message.trim() === "")) {
    throw invalid("body.message is required to record a pointer");
  }
  if (direction === "return" && message !== null) {
    throw invalid("body.message is only for recording a pointer");
  }
  return {
    operationType: "submodulePointer",
    parentPath: parent === null || parent === "" ? "" : checkInnerPath(parent, "body.parentPath"),
    relativePath: checkInnerPath(fields.raw("relativePath"), "body.relativePath"),
    direction,
    message,
    expectedRecordedOid: pin("expectedRecordedOid"),
    expectedCheckedOutOid: pin("expectedCheckedOutOid"),
  };
}

function required<T>(value: T | null, at: string): T {
  if (value === null) throw invalid(`${at} is required`);
  return value;
}
