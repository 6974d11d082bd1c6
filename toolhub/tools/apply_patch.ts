import { HubError, shown } from "../errors.ts";
import type { ToolRun } from "../hub.ts";
import { steadily } from "../workspace/chain.ts";
import { sha256 } from "../workspace/hash.ts";
import { inspectTarget, requireHash, targetBytes } from "../workspace/mutate.ts";
import { MAX_PATCH_CHARS, parsePatch } from "../workspace/patch.ts";
import { riskReason, submit } from "./file_request.ts";

export interface PatchArgs {
  readonly path: string;
  readonly patch: string;
  readonly expected_hash: string | null;
}

/** An answer that says that nothing was patched. */
export const NOT_PATCHED = {
  path: "",
  executed: false,
  changed: false,
  additions: 0,
  deletions: 0,
  bytes_before: 0,
  bytes_after: 0,
  previous_hash: null,
  new_hash: null,
};

/** `filesystem.apply_patch`: asks, never writes. Whether the lines match shows at execution. */
export const run: ToolRun<PatchArgs> = async (args, hub) => {
  const { path, patch } = args;
  const expected_hash = args.expected_hash ?? null;
  const chars = [...patch].length;
  const gated = await submit(hub, {
    tool: "filesystem.apply_patch",
    kind: "file_patch",
    path,
    reason: riskReason("Changing", path),
    told: { path, patch_chars: chars, patch_sha256: sha256(patch), expected_hash },
    payload: { path, patch, expected_hash },
    check() {
      requirePatchSize(chars);
      return steadily(path, () => {
        const target = inspectTarget(hub.workspace, path);
        if (target.info === null) {
          throw new HubError("FileNotFoundError", `File not found: ${shown(path)}`);
        }
        parsePatch(patch, path);
        const bytes = targetBytes(hub.workspace, target, path);
        requireHash(expected_hash, bytes === null ? null : sha256(bytes), path);
      });
    },
  });
  return { ...NOT_PATCHED, path, ...gated };
};

/** @throws {HubError} `too large` */
export function requirePatchSize(chars: number): void {
  if (chars <= MAX_PATCH_CHARS) return;
  throw new HubError(
    "ValueError",
    `The patch is too large: ${chars} characters, at most ${MAX_PATCH_CHARS} are taken`,
  );
}
