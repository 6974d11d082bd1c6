import type { ToolRun } from "../hub.ts";
import { sha256 } from "../workspace/hash.ts";
import {
  contentBytes,
  inspectTarget,
  requireHash,
  requireParent,
  targetBytes,
} from "../workspace/mutate.ts";
import { steadily } from "../workspace/chain.ts";
import { riskReason, submit } from "./file_request.ts";

export interface WriteArgs {
  readonly path: string;
  readonly content: string;
  readonly expected_hash: string | null;
  readonly create_parents: boolean;
}

/** An answer that says that nothing was written. */
export const NOT_WRITTEN = {
  path: "",
  executed: false,
  created: false,
  bytes_written: 0,
  previous_hash: null,
  new_hash: null,
};

/** `filesystem.write_file`: asks, never writes. */
export const run: ToolRun<WriteArgs> = async (args, hub) => {
  const { path, content, create_parents } = args;
  const expected_hash = args.expected_hash ?? null;
  const gated = await submit(hub, {
    tool: "filesystem.write_file",
    kind: "file_write",
    path,
    reason: riskReason("Writing", path),
    told: { path, content_chars: [...content].length, expected_hash, create_parents },
    payload: { path, content, expected_hash, create_parents },
    check() {
      contentBytes(content, "The content");
      return steadily(path, () => {
        const target = inspectTarget(hub.workspace, path);
        requireParent(target, path, create_parents);
        const bytes = targetBytes(hub.workspace, target, path);
        requireHash(expected_hash, bytes === null ? null : sha256(bytes), path);
      });
    },
  });
  return { ...NOT_WRITTEN, path, ...gated };
};
