import { isFlag, isText, isTextOrNull, member } from "../approvals/gate.ts";
import type { ToolRun } from "../hub.ts";
import { changeFile, contentBytes } from "../workspace/mutate.ts";
import { execute } from "./file_request.ts";
import { NOT_WRITTEN } from "./write_file.ts";

/** `filesystem.write_file_approved`: writes what was stored, once. */
export const run: ToolRun<{ request_id: string }> = ({ request_id: id }, hub) =>
  execute(hub, {
    tool: "filesystem.write_file_approved",
    kind: "file_write",
    id,
    nothing: NOT_WRITTEN,
    failed: ({ payload }) => ({ path: payload["path"], expected_hash: payload["expected_hash"] }),
    async act(record) {
      const path = member(record, "path", isText);
      const bytes = contentBytes(member(record, "content", isText), "The content");
      const { created, previousHash, newHash } = await changeFile(hub.workspace, {
        path,
        expectedHash: member(record, "expected_hash", isTextOrNull),
        createParents: member(record, "create_parents", isFlag),
        existing: false,
        next: () => bytes,
      }, hub.hooks);
      const answer = {
        path,
        created,
        bytes_written: bytes.length,
        previous_hash: previousHash,
        new_hash: newHash,
      };
      return { answer, told: answer };
    },
  });
