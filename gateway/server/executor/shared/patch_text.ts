/** What a patch says in its own headers, read apart from its content: a removed line `-- x` is no header. */

/** One file of a patch, by its headers; names unquoted, without the `a/` and `b/` in front. */
export interface PatchFile {
  oldName: string | null;
  newName: string | null;
  kind: "added" | "deleted" | "renamed" | "copied" | "changed";
  oldMode: string | null;
  newMode: string | null;
  binary: boolean;
  /** Its `---` line was seen. */
  dashes: boolean;
}

export interface PatchText {
  readonly files: readonly PatchFile[];
  /** Every name in any header. */
  readonly names: ReadonlySet<string>;
  /** Bytes that binary parts say they inflate to; for deltas what they say they make. */
  readonly binaryBytes: number;
  /** A binary part that cannot be read far enough to tell its size. */
  readonly unreadable: boolean;
}

/** Enough of a delta to read its size: compressed data begins with a table. */
const DELTA_LINES = 24;
const HUNK = /^@@ -\d+(?:,(\d+))? \+\d+(?:,(\d+))? @@/;

/**
 * Reads the headers of a unified or git patch.
 *
 * @param deltaSize gives the bytes that a binary delta makes, by its first encoded lines; null when it
 *   cannot tell
 */
export function readPatchText(
  patch: string,
  deltaSize: (lines: readonly string[]) => number | null,
): PatchText {
  const files: PatchFile[] = [];
  const names = new Set<string>();
  let file = null as PatchFile | null;
  let binaryBytes = 0, unreadable = false;
  const begin = (): PatchFile => {
    files.push(
      file = {
        oldName: null,
        newName: null,
        kind: "changed",
        oldMode: null,
        newMode: null,
        binary: false,
        dashes: false,
      },
    );
    return file;
  };
  const name = (text: string, strip: boolean): string | null => {
    const plain = unquote(text.replace(/\t.*$/, "").replace(/\r$/, ""));
    if (plain === "/dev/null") return null;
    const found = strip ? plain.replace(/^[^/]*\//, "") : plain;
    names.add(found);
    return found;
  };
  const lines = linesOf(patch);
  for (let line = lines.next(); line !== null; line = lines.next()) {
    const hunk = HUNK.exec(line);
    if (hunk) {
      skipHunk(lines, Number(hunk[1] ?? 1), Number(hunk[2] ?? 1));
      continue;
    }
    const size = /^(literal|delta) (\d{1,15})$/.exec(line);
    if (size) {
      (file ?? begin()).binary = true;
      binaryBytes += Number(size[2]);
      if (size[1] === "delta") {
        const made = deltaSize(lines.ahead(DELTA_LINES));
        if (made === null) unreadable = true;
        else binaryBytes += made;
      }
      continue;
    }
    const [, word = "", rest = ""] =
      /^(diff --git|--- |\+\+\+ |rename from|rename to|copy from|copy to|new file mode|deleted file mode|old mode|new mode|index) ?(.*)$/s
        .exec(line) ?? [];
    switch (word) {
      case "diff --git": {
        begin();
        const both = splitNames(rest);
        if (both) {
          file!.oldName = name(both[0], true);
          file!.newName = name(both[1], true);
        }
        break;
      }
      case "--- ":
        // A patch without git's headers begins its next file here.
        if (!file || file.dashes) begin();
        file!.dashes = true;
        file!.oldName = name(rest, true) ?? file!.oldName;
        if (unquote(rest.replace(/\t.*$/, "")) === "/dev/null") file!.kind = "added";
        break;
      case "+++ ":
        (file ?? begin()).newName = name(rest, true) ?? file!.newName;
        if (unquote(rest.replace(/\t.*$/, "")) === "/dev/null") file!.kind = "deleted";
        break;
      case "rename from":
      case "copy from":
        (file ?? begin()).oldName = name(rest, false);
        break;
      case "rename to":
      case "copy to":
        (file ?? begin()).newName = name(rest, false);
        file!.kind = word === "rename to" ? "renamed" : "copied";
        break;
      case "new file mode":
        (file ?? begin()).kind = "added";
        file!.newMode = rest.trim();
        break;
      case "deleted file mode":
        (file ?? begin()).kind = "deleted";
        file!.oldMode = rest.trim();
        break;
      case "old mode":
        (file ?? begin()).oldMode = rest.trim();
        break;
      case "new mode":
        (file ?? begin()).newMode = rest.trim();
        break;
      case "index": {
        const mode = /^[0-9a-f]+\.\.[0-9a-f]+ (\d{6})\r?$/.exec(rest)?.[1];
        if (file && mode !== undefined) file.oldMode = file.newMode = mode;
        break;
      }
    }
  }
  return { files, names, binaryBytes, unreadable };
}

interface Lines {
  next(): string | null;
  /** Lines that follow, without taking them. */
  ahead(count: number): string[];
}

function linesOf(text: string): Lines {
  let at = 0;
  const lineAt = (from: number): [line: string, end: number] | null => {
    if (from >= text.length) return null;
    const end = text.indexOf("\n", from);
    return end === -1 ? [text.slice(from), text.length] : [text.slice(from, end), end + 1];
  };
  return {
    next() {
      const found = lineAt(at);
      if (found === null) return null;
      at = found[1];
      return found[0];
    },
    ahead(count) {
      const found: string[] = [];
      for (let next = lineAt(at); next !== null && found.length < count; next = lineAt(next[1])) {
        found.push(next[0]);
      }
      return found;
    },
  };
}

/** Takes the content of a hunk: as many old and new lines as its header says. */
function skipHunk(lines: Lines, old: number, fresh: number): void {
  while (old > 0 || fresh > 0) {
    const [line] = lines.ahead(1);
    if (line === undefined) return;
    const mark = line[0];
    if (mark === "-") old--;
    else if (mark === "+") fresh--;
    else if (mark === " " || line === "" || line === "\r") {
      old--;
      fresh--;
    } else if (mark !== "\\") return;
    lines.next();
  }
}

/** `a/x b/x`: two equal names, or two quoted ones; null when they cannot be told apart. */
function splitNames(text: string): [string, string] | null {
  const quoted = /^("(?:[^"\\]|\\.)*"|\S+) ("(?:[^"\\]|\\.)*"|\S+)$/.exec(text);
  if (quoted) return [quoted[1]!, quoted[2]!];
  const half = (text.length - 1) / 2;
  if (!Number.isInteger(half)) return null;
  const [one, two] = [text.slice(0, half), text.slice(half + 1)];
  return one.replace(/^[^/]*\//, "") === two.replace(/^[^/]*\//, "") ? [one, two] : null;
}

const ESCAPES: Readonly<Record<string, number>> = {
  a: 7,
  b: 8,
  t: 9,
  n: 10,
  v: 11,
  f: 12,
  r: 13,
};

/** Undoes git's C-style quoting; bytes that are no UTF-8 show as U+FFFD. */
function unquote(text: string): string {
  if (!/^".*"$/s.test(text)) return text;
  const bytes: number[] = [];
  for (
    const [, octal, letter, plain] of text.slice(1, -1).matchAll(/\\([0-7]{3})|\\(.)|([^\\]+)/gs)
  ) {
    if (octal !== undefined) bytes.push(parseInt(octal, 8) & 0xff);
    else if (letter !== undefined) bytes.push(ESCAPES[letter] ?? letter.charCodeAt(0));
    else bytes.push(...new TextEncoder().encode(plain));
  }
  return new TextDecoder().decode(Uint8Array.from(bytes));
}
