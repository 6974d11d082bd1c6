/** Unified diffs as git writes them, taken apart for display. Knows no document. */

export interface DiffLine {
  /** ` ` context, `+` added, `-` deleted, `\` a remark of git's. */
  readonly kind: " " | "+" | "-" | "\\";
  readonly text: string;
  /** Line numbers from 1; null on the side that has no such line. */
  readonly old: number | null;
  readonly new: number | null;
}

export interface DiffHunk {
  /** The line with the ranges and the function's name. */
  readonly header: string;
  readonly lines: readonly DiffLine[];
}

export interface DiffFile {
  readonly path: string;
  /** Set when it was renamed or copied. */
  readonly oldPath: string | null;
  readonly change: "added" | "deleted" | "renamed" | "copied" | "modified";
  readonly binary: boolean;
  readonly modes: { readonly old: string; readonly new: string } | null;
  /** Mode of an added or deleted file; says whether it is a link, a submodule or can be run. */
  readonly mode: string | null;
  readonly hunks: readonly DiffHunk[];
  readonly added: number;
  readonly deleted: number;
  /** Lines of the header that say more (similarity, index). */
  readonly notes: readonly string[];
}

interface Draft {
  path: string | null;
  oldPath: string | null;
  change: DiffFile["change"];
  binary: boolean;
  oldMode: string | null;
  newMode: string | null;
  mode: string | null;
  hunks: { header: string; lines: DiffLine[] }[];
  added: number;
  deleted: number;
  notes: string[];
}

const HUNK = /^@@ -(\d{1,9})(?:,(\d{1,9}))? \+(\d{1,9})(?:,(\d{1,9}))? @@/;

/**
 * Takes a diff apart. Lines beside the files, as a mail has them, become a file of their own
 * with an empty path, so that nothing of what was proposed is hidden.
 */
export function parseDiff(text: string): DiffFile[] {
  const lines = text.split("\n");
  if (lines.at(-1) === "") lines.pop();
  const files: DiffFile[] = [];
  let file: Draft | null = null;
  let preamble: string[] = [];
  const close = () => {
    if (preamble.length > 0) files.push(preambleFile(preamble));
    preamble = [];
    if (file) files.push(finish(file));
    file = null;
  };
  for (let i = 0; i < lines.length; i++) {
    const line = lines[i]!;
    if (line.startsWith("diff --git ") || line.startsWith("diff --cc ")) {
      close();
      file = draft(gitPath(line));
      continue;
    }
    // A patch that names its files only by `---` and `+++`.
    if (line.startsWith("--- ") && lines[i + 1]?.startsWith("+++ ") && !inHeader(file)) {
      close();
      file = draft(null);
    }
    if (file === null) {
      preamble.push(line);
      continue;
    }
    const hunk = HUNK.exec(line);
    if (hunk) {
      i = readHunk(file, hunk, lines, i);
      continue;
    }
    // Text after a file's changes, as between the steps of a plan, stands for itself.
    if (file.hunks.length > 0 && line !== "") {
      close();
      preamble.push(line);
      continue;
    }
    readHeader(file, line);
  }
  close();
  return files;
}

function inHeader(file: Draft | null): boolean {
  return file !== null && file.hunks.length === 0 && !file.notes.some((note) => note === "+++");
}

function draft(path: string | null): Draft {
  return {
    path,
    oldPath: null,
    change: "modified",
    binary: false,
    oldMode: null,
    newMode: null,
    mode: null,
    hunks: [],
    added: 0,
    deleted: 0,
    notes: [],
  };
}

/** Reads as many lines as the header counts; a body that is shorter ends where it ends. */
function readHunk(file: Draft, match: RegExpExecArray, lines: string[], at: number): number {
  let oldLine = Number(match[1]), newLine = Number(match[3]);
  let oldLeft = Number(match[2] ?? 1), newLeft = Number(match[4] ?? 1);
  const body: DiffLine[] = [];
  let i = at + 1;
  for (; i < lines.length && (oldLeft > 0 || newLeft > 0); i++) {
    const line = lines[i]!;
    const sign = line[0] ?? " ";
    const text = line.slice(1);
    if (sign === "+") {
      body.push({ kind: "+", text, old: null, new: newLine++ });
      newLeft--;
      file.added++;
    } else if (sign === "-") {
      body.push({ kind: "-", text, old: oldLine++, new: null });
      oldLeft--;
      file.deleted++;
    } else if (sign === "\\") {
      body.push({ kind: "\\", text: text.trim(), old: null, new: null });
    } else if (sign === " ") {
      body.push({ kind: " ", text, old: oldLine++, new: newLine++ });
      oldLeft--;
      newLeft--;
    } else break;
  }
  if (lines[i]?.startsWith("\\")) {
    body.push({ kind: "\\", text: lines[i]!.slice(1).trim(), old: null, new: null });
    i++;
  }
  file.hunks.push({ header: lines[at]!, lines: body });
  return i - 1;
}

function readHeader(file: Draft, line: string): void {
  const after = (prefix: string) => line.startsWith(prefix) ? line.slice(prefix.length) : null;
  let value: string | null;
  if ((value = after("new file mode ")) !== null) {
    file.change = "added";
    file.mode = value;
  } else if ((value = after("deleted file mode ")) !== null) {
    file.change = "deleted";
    file.mode = value;
  } else if ((value = after("old mode ")) !== null) file.oldMode = value;
  else if ((value = after("new mode ")) !== null) file.newMode = value;
  else if ((value = after("rename from ")) !== null) {
    file.change = "renamed";
    file.oldPath = unquote(value);
  } else if ((value = after("rename to ")) !== null) file.path = unquote(value);
  else if ((value = after("copy from ")) !== null) {
    file.change = "copied";
    file.oldPath = unquote(value);
  } else if ((value = after("copy to ")) !== null) file.path = unquote(value);
  else if ((value = after("--- ")) !== null) {
    if (value === "/dev/null") file.change = "added";
    else if (file.path === null) file.path = sidePath(value);
  } else if ((value = after("+++ ")) !== null) {
    if (value === "/dev/null") file.change = "deleted";
    else if (file.change !== "renamed" && file.change !== "copied") file.path = sidePath(value);
    file.notes.push("+++");
  } else if (line.startsWith("Binary files ") || line === "GIT binary patch") file.binary = true;
  else if (file.binary || line === "" || line.startsWith("index ")) return;
  else file.notes.push(line);
}

function finish(file: Draft): DiffFile {
  return {
    path: file.path ?? "",
    oldPath: file.oldPath,
    change: file.change,
    binary: file.binary,
    modes: file.oldMode !== null && file.newMode !== null
      ? { old: file.oldMode, new: file.newMode }
      : null,
    mode: file.mode,
    hunks: file.hunks,
    added: file.added,
    deleted: file.deleted,
    notes: file.notes.filter((note) => note !== "+++"),
  };
}

function preambleFile(lines: readonly string[]): DiffFile {
  return { ...finish(draft("")), notes: lines };
}

/** `a/x b/x`: both sides are the same, but for a rename, which names itself later. */
function gitPath(line: string): string | null {
  const combined = /^diff --cc (.*)$/.exec(line)?.[1];
  if (combined !== undefined) return unquote(combined);
  const rest = line.slice("diff --git ".length);
  const quoted = /^"(?:[^"\\]|\\.)*" ("(?:[^"\\]|\\.)*")$/.exec(rest)?.[1];
  if (quoted !== undefined) return sidePath(quoted);
  const half = (rest.length - 1) / 2;
  if (rest.slice(2, half) === rest.slice(half + 3)) return rest.slice(2, half);
  const at = rest.lastIndexOf(" b/");
  return at < 0 ? null : unquote(rest.slice(at + 3));
}

function sidePath(text: string): string {
  const name = unquote(text.replace(/\t.*$/, ""));
  return /^[a-z]\//.test(name) ? name.slice(2) : name;
}

/** Names that git wrote in C style: bytes are put together and read as UTF-8. */
export function unquote(text: string): string {
  if (!/^".*"$/.test(text)) return text;
  const simple: Record<string, number> = {
    a: 7,
    b: 8,
    t: 9,
    n: 10,
    v: 11,
    f: 12,
    r: 13,
    '"': 34,
    "\\": 92,
  };
  const bytes: number[] = [];
  const encoder = new TextEncoder();
  for (const part of text.slice(1, -1).match(/\\[0-7]{3}|\\.|[^\\]+/g) ?? []) {
    if (/^\\[0-7]{3}$/.test(part)) bytes.push(parseInt(part.slice(1), 8) & 255);
    else if (part.startsWith("\\")) bytes.push(simple[part[1]!] ?? part.charCodeAt(1));
    else bytes.push(...encoder.encode(part));
  }
  return new TextDecoder().decode(new Uint8Array(bytes));
}

/** What a mode means, in words. */
export function modeWords(mode: string): string {
  switch (mode) {
    case "100644":
      return "plain file";
    case "100755":
      return "executable file";
    case "120000":
      return "symbolic link";
    case "160000":
      return "submodule";
    default:
      return `mode ${mode}`;
  }
}
