import { isText, isTextOrNull, member } from "../approvals/gate.ts";
import { HubError, shown } from "../errors.ts";
import type { ToolRun } from "../hub.ts";
import { changeFile, contentBytes } from "../workspace/mutate.ts";
import { applyPatch, parsePatch } from "../workspace/patch.ts";
import { NOT_PATCHED, requirePatchSize } from "./apply_patch.ts";
import { execute } from "./file_request.ts";

const strict = new TextDecoder("utf-8", { fatal: true, ignoreBOM: true });

/** `filesystem.apply_patch_approved`: applies the stored patch, once, all of it or nothing. */
export const run: ToolRun<{ request_id: string }> = ({ request_id: id }, hub) =>
  execute(hub, {
    tool: "filesystem.apply_patch_approved",
    kind: "file_patch",
    id,
    nothing: NOT_PATCHED,
    failed: ({ payload }) => ({
      path: payload["path"],
      patch_chars: typeof payload["patch"] === "string" ? [...payload["patch"]].length : null,
      expected_hash: payload["expected_hash"],
    }),
    async act(record) {
      const path = member(record, "path", isText);
      const text = member(record, "patch", isText);
      requirePatchSize([...text].length);
      const patch = parsePatch(text, path);
      const done = await changeFile(hub.workspace, {
        path,
        expectedHash: member(record, "expected_hash", isTextOrNull),
        createParents: false,
        existing: true,
        next(before) {
          const old = decode(before ?? new Uint8Array(), path);
          const next = applyPatch(old, patch);
          return next === old ? null : contentBytes(next, "The patched file");
        },
      }, hub.hooks);
      const answer = {
        path,
        changed: done.newHash !== done.previousHash,
        additions: patch.additions,
        deletions: patch.deletions,
        bytes_before: done.before?.length ?? 0,
        bytes_after: done.after.length,
        previous_hash: done.previousHash,
        new_hash: done.newHash,
      };
      return { answer, told: answer };
    },
  });

function decode(bytes: Uint8Array, path: string): string {
  try {
    return strict.decode(bytes);
  } catch {
    throw new HubError("ValueError", `File ${shown(path)} is not valid UTF-8 text`);
  }
}
