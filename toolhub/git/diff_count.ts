/**
 * Counts the lines of a unified diff as it streams by, all of it and not only what is shown. Inside a
 * hunk a line is told by its place, so a removed line that begins with `--` counts as one.
 */
export class DiffCounter {
  additions = 0;
  deletions = 0;
  binary = false;

  readonly #decoder = new TextDecoder();
  #rest = "";
  /** Lines of the open hunk still to come; for combined diffs one old count a parent. */
  #old: number[] = [];
  #new = 0;

  add(chunk: Uint8Array): void {
    const lines = (this.#rest + this.#decoder.decode(chunk, { stream: true })).split("\n");
    this.#rest = lines.pop() ?? "";
    // Only the beginning of a line matters; a line without end must not be kept whole.
    if (this.#rest.length > 1_024) this.#rest = this.#rest.slice(0, 1_024);
    for (const line of lines) this.#line(line);
  }

  end(): void {
    if (this.#rest !== "") this.#line(this.#rest);
    this.#rest = "";
  }

  #line(line: string): void {
    if (this.#new > 0 || this.#old.some((count) => count > 0)) {
      if (!line.startsWith("\\")) this.#body(line);
      return;
    }
    const ranges = /^(@@+) ((?:-\d+(?:,\d+)? )+)\+\d+(?:,(\d+))? @@/.exec(line);
    if (ranges !== null) {
      this.#old = ranges[2]!.trim().split(" ").map((range) => Number(range.split(",")[1] ?? 1));
      this.#new = Number(ranges[3] ?? 1);
    } else if (/^(?:Binary files |GIT binary patch)/.test(line)) this.binary = true;
  }

  #body(line: string): void {
    const marks = line.slice(0, this.#old.length);
    const removed = marks.includes("-"), added = marks.includes("+");
    if (removed) this.deletions++;
    else if (added) this.additions++;
    if (!removed) this.#new--;
    // A line of a parent's side: removed from it, or common to it and the result.
    this.#old = this.#old.map((count, at) => {
      const mark = marks[at] ?? " ";
      const present = removed ? mark === "-" : mark !== "+";
      return present ? count - 1 : count;
    });
  }
}
