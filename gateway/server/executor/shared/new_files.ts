import { toBase64 } from "../../../../common/bytes.ts";
import type { FileEffect } from "../../types.ts";

/** Files that a commit would add although git does not track them yet: shown as what they will be. */

const MAX_FILE_BYTES = 128 * 1_024;
const MAX_FILES = 200;

/** Effects and a unified diff for new files, at most `room` characters of diff. */
export async function newFileEffects(
  top: string,
  paths: readonly string[],
  room: number,
): Promise<{ files: FileEffect[]; diff: string; truncated: boolean }> {
  const files: FileEffect[] = [];
  let diff = "", truncated = paths.length > MAX_FILES;
  for (const path of paths.slice(0, MAX_FILES)) {
    const read = await readNewFile(`${top}/${path}`);
    files.push({
      path,
      status: "A",
      added: read.text === null ? null : lineCount(read.text),
      deleted: read.text === null ? null : 0,
      ...(read.binary ? { binary: true as const } : {}),
      ...(read.note ? { note: read.note } : {}),
    });
    const piece = read.text === null
      ? `${header(path, read.mode)}Binary files /dev/null and ${quoted(`b/${path}`)} differ\n`
      : header(path, read.mode) + addedLines(path, read.text);
    if (diff.length + piece.length > room) truncated = true;
    else diff += piece;
  }
  for (const path of paths.slice(MAX_FILES)) {
    files.push({ path, status: "A", added: null, deleted: null });
  }
  return { files, diff, truncated };
}

interface NewFile {
  readonly text: string | null;
  readonly binary: boolean;
  readonly mode: string;
  readonly note?: string;
}

async function readNewFile(path: string): Promise<NewFile> {
  try {
    return await lookAt(path);
  } catch (error) {
    // Its name is not UTF-8, it is gone, or it may not be read: git will say so if it cannot either.
    const note = `not shown: ${error instanceof Error ? error.name : "unreadable"}`;
    return { text: null, binary: false, mode: "100644", note };
  }
}

async function lookAt(path: string): Promise<NewFile> {
  const info = await Deno.lstat(path);
  if (info.isSymlink) {
    return {
      text: await Deno.readLink(path),
      binary: false,
      mode: "120000",
      note: "a symbolic link",
    };
  }
  const mode = ((info.mode ?? 0) & 0o111) !== 0 ? "100755" : "100644";
  if (info.size > MAX_FILE_BYTES) {
    return { text: null, binary: false, mode, note: `${info.size} bytes, too long to show` };
  }
  const bytes = await Deno.readFile(path);
  if (bytes.includes(0)) return { text: null, binary: true, mode, note: `${bytes.length} bytes` };
  try {
    return {
      text: new TextDecoder("utf-8", { fatal: true, ignoreBOM: true }).decode(bytes),
      binary: false,
      mode,
    };
  } catch {
    return {
      text: null,
      binary: true,
      mode,
      note: `not UTF-8; base64 begins ${toBase64(bytes.subarray(0, 24))}`,
    };
  }
}

function header(path: string, mode: string): string {
  return `diff --git ${quoted(`a/${path}`)} ${quoted(`b/${path}`)}\nnew file mode ${mode}\n`;
}

/** A name as git writes it into a diff: one with control characters, quotes or backslashes in C style. */
function quoted(name: string): string {
  // deno-lint-ignore no-control-regex
  if (!/[\x00-\x1f\x7f"\\]/.test(name)) return name;
  return `"${
    name.replace(/["\\]/g, "\\$&").replace(
      // deno-lint-ignore no-control-regex
      /[\x00-\x1f\x7f]/g,
      (c) => `\\${c.charCodeAt(0).toString(8).padStart(3, "0")}`,
    )
  }"`;
}

function addedLines(path: string, text: string): string {
  if (text === "") return "";
  const complete = text.endsWith("\n");
  const lines = (complete ? text.slice(0, -1) : text).split("\n");
  return `--- /dev/null\n+++ ${quoted(`b/${path}`)}\n@@ -0,0 +1,${lines.length} @@\n${
    lines.map((line) => `+${line}`).join("\n")
  }\n${complete ? "" : "\\ No newline at end of file\n"}`;
}

function lineCount(text: string): number {
  return text === "" ? 0 : text.split("\n").length - (text.endsWith("\n") ? 1 : 0);
}
