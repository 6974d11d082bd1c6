/**
 * The twelve tools as `tools/list` shows them, in their fixed order. The schemas are the contract:
 * `tests/toolhub/schemas.snap` holds them still.
 */

import type { JsonSchema } from "../registry/define.ts";
import type { ToolRun } from "./hub.ts";

/** One tool: what is shown of it, and where its code is. */
export interface HubTool {
  readonly name: string;
  /** Null for the one tool without title and annotations. */
  readonly title: string | null;
  readonly description: string;
  readonly readOnly: boolean;
  readonly input: JsonSchema;
  readonly output: JsonSchema;
  // deno-lint-ignore no-explicit-any
  readonly load: () => Promise<{ readonly run: ToolRun<any> }>;
}

const text = { type: "string" };
const flag = { type: "boolean" };
const whole = { type: "integer" };
const texts = { type: "array", items: text };
const nullable = (schema: JsonSchema): JsonSchema => ({ anyOf: [schema, { type: "null" }] });
const optional = (schema: JsonSchema): JsonSchema => ({ ...nullable(schema), default: null });
const object = (properties: JsonSchema, required: readonly string[]): JsonSchema => ({
  type: "object",
  properties,
  ...(required.length > 0 ? { required } : {}),
});
/** An output: every member is always there. */
const all = (properties: JsonSchema): JsonSchema => object(properties, Object.keys(properties));

const REQUEST_ID = object({ request_id: text }, ["request_id"]);

/** Members that every answer about an approval has. */
const gated = {
  trace_id: nullable(text),
  request_id: nullable(text),
  approval_status: nullable(text),
  message: text,
};
const WRITE_OUTPUT = all({
  path: text,
  executed: flag,
  created: flag,
  bytes_written: whole,
  previous_hash: nullable(text),
  new_hash: nullable(text),
  ...gated,
});
const PATCH_OUTPUT = all({
  path: text,
  executed: flag,
  changed: flag,
  additions: whole,
  deletions: whole,
  bytes_before: whole,
  bytes_after: whole,
  previous_hash: nullable(text),
  new_hash: nullable(text),
  ...gated,
});
const SHELL_OUTPUT = all({
  program: text,
  args: texts,
  cwd: text,
  risk: { enum: ["LOW", "MEDIUM", "HIGH"] },
  risk_reason: text,
  executed: flag,
  returncode: nullable(whole),
  stdout: text,
  stderr: text,
  timed_out: flag,
  ...gated,
});

/** In the order of `tools/list`. */
export const TOOLS: readonly HubTool[] = [
  {
    name: "toolhub.ping",
    title: null,
    description: "Answers with the given message; changes nothing.",
    readOnly: true,
    input: object({ message: { ...text, default: "hello" } }, []),
    output: { type: "object", additionalProperties: text },
    load: () => import("./tools/ping.ts"),
  },
  {
    name: "filesystem.read_file",
    title: "Read a file",
    description:
      "Reads one UTF-8 text file of the workspace (at most 262,144 bytes) with the SHA-256 of its bytes. Paths are relative to the workspace.",
    readOnly: true,
    input: object({ path: text }, ["path"]),
    output: all({ path: text, size: whole, sha256: text, content: text }),
    load: () => import("./tools/read_file.ts"),
  },
  {
    name: "filesystem.list_directory",
    title: "List a folder",
    description:
      "Lists one folder of the workspace, hidden names included, without going deeper. Links are named, not followed.",
    readOnly: true,
    input: object({ path: { ...text, default: "." } }, []),
    output: all({
      path: text,
      entries: {
        type: "array",
        items: all({
          name: text,
          kind: { enum: ["file", "directory", "symlink", "other"] },
          size: nullable(whole),
        }),
      },
    }),
    load: () => import("./tools/list_directory.ts"),
  },
  {
    name: "filesystem.write_file",
    title: "Ask to write a file",
    description:
      "Asks a person to allow writing a whole text file; writes nothing itself. Keep request_id and call filesystem.write_file_approved after the approval. expected_hash refuses the write when the file is no longer the one you read.",
    readOnly: false,
    input: object({
      path: text,
      content: text,
      expected_hash: optional(text),
      create_parents: { ...flag, default: false },
    }, ["path", "content"]),
    output: WRITE_OUTPUT,
    load: () => import("./tools/write_file.ts"),
  },
  {
    name: "filesystem.apply_patch",
    title: "Ask to patch a file",
    description:
      "Asks a person to allow a single-file unified diff (---, +++ and exact hunks, no fuzz) on an existing file; writes nothing itself. Then call filesystem.apply_patch_approved with request_id.",
    readOnly: false,
    input: object({ path: text, patch: text, expected_hash: optional(text) }, ["path", "patch"]),
    output: PATCH_OUTPUT,
    load: () => import("./tools/apply_patch.ts"),
  },
  {
    name: "filesystem.write_file_approved",
    title: "Write an approved file",
    description: "Carries out one approved filesystem.write_file request, exactly as stored, once.",
    readOnly: false,
    input: REQUEST_ID,
    output: WRITE_OUTPUT,
    load: () => import("./tools/write_file_approved.ts"),
  },
  {
    name: "filesystem.apply_patch_approved",
    title: "Apply an approved patch",
    description:
      "Carries out one approved filesystem.apply_patch request, exactly as stored, once.",
    readOnly: false,
    input: REQUEST_ID,
    output: PATCH_OUTPUT,
    load: () => import("./tools/apply_patch_approved.ts"),
  },
  {
    name: "shell.run",
    title: "Ask to run a program",
    description:
      "Asks a person to allow one program with arguments, without a shell; starts nothing itself (deno --version alone is answered at once). Then call shell.run_approved with request_id.",
    readOnly: false,
    input: object({
      program: text,
      args: optional(texts),
      cwd: { ...text, default: "." },
      timeout_seconds: { ...whole, default: 20 },
    }, ["program"]),
    output: SHELL_OUTPUT,
    load: () => import("./tools/shell_run.ts"),
  },
  {
    name: "shell.run_approved",
    title: "Run an approved program",
    description:
      "Carries out one approved shell.run request, exactly as stored, once. Output is cut at 20,000 characters a stream.",
    readOnly: false,
    input: REQUEST_ID,
    output: SHELL_OUTPUT,
    load: () => import("./tools/shell_run_approved.ts"),
  },
  {
    name: "git.status",
    title: "Git status",
    description: "Branch and changed paths of the workspace's repository; runs nothing of it.",
    readOnly: true,
    input: object({}, []),
    output: all({
      path: text,
      branch: nullable(text),
      clean: flag,
      entries: { type: "array", items: all({ code: text, path: text }) },
      raw: text,
    }),
    load: () => import("./tools/git_status.ts"),
  },
  {
    name: "git.diff",
    title: "Git diff",
    description:
      "Unstaged (or staged) changes of the workspace's repository as a unified diff, cut at 20,000 characters; counts are of all of it. path is one literal file or folder.",
    readOnly: true,
    input: object({ path: optional(text), staged: { ...flag, default: false } }, []),
    output: all({
      path: nullable(text),
      staged: flag,
      additions: nullable(whole),
      deletions: nullable(whole),
      binary: flag,
      raw: text,
    }),
    load: () => import("./tools/git_diff.ts"),
  },
  {
    name: "toolhub.audit_recent",
    title: "Recent audit events",
    description: "The newest events of this workspace's audit log (1 to 100), oldest first.",
    readOnly: true,
    input: object({ limit: { ...whole, default: 20 } }, []),
    output: all({ count: whole, events: { type: "array", items: { type: "object" } } }),
    load: () => import("./tools/audit_recent.ts"),
  },
];
