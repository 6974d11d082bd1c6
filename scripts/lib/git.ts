/** Plain git for scripts: to build repositories and to be compared with. */

/** What one git command gave back. */
export interface GitRun {
  readonly code: number;
  readonly stdout: string;
  readonly stderr: string;
  /** From start to the end of its output, milliseconds. */
  readonly ms: number;
}

/**
 * Runs git with the caller's own environment and settings, as an agent in a shell would.
 *
 * @param env variables to add or replace
 */
export async function plainGit(
  cwd: string,
  args: readonly string[],
  env: Readonly<Record<string, string>> = {},
): Promise<GitRun> {
  const start = performance.now();
  const out = await new Deno.Command("git", {
    args: ["--no-pager", ...args],
    cwd,
    env,
    stdin: "null",
    stdout: "piped",
    stderr: "piped",
  }).output();
  const ms = performance.now() - start;
  const text = new TextDecoder();
  return { code: out.code, stdout: text.decode(out.stdout), stderr: text.decode(out.stderr), ms };
}

/** Settings of the machine must not change what is built. */
const ISOLATED = {
  LC_ALL: "C",
  GIT_CONFIG_NOSYSTEM: "1",
  GIT_CONFIG_GLOBAL: Deno.build.os === "windows" ? "NUL" : "/dev/null",
  GIT_AUTHOR_NAME: "Sample Author",
  GIT_AUTHOR_EMAIL: "author@example.org",
  GIT_COMMITTER_NAME: "Sample Author",
  GIT_COMMITTER_EMAIL: "author@example.org",
};

/** Builds repositories that are the same bytes in every run: own settings, own clock. */
export class Builder {
  #clock: number;

  /** @param startSeconds Unix time of the first commit */
  constructor(startSeconds: number) {
    this.#clock = startSeconds;
  }

  /** Moves the clock of coming commits on. */
  tick(seconds: number): void {
    this.#clock += seconds;
  }

  /** Runs git; throws with its complaint when it fails. */
  async git(cwd: string, ...args: string[]): Promise<string> {
    return await this.feed(cwd, args, null);
  }

  /** Runs git with bytes on its standard input, such as a stream for `fast-import`. */
  async feed(cwd: string, args: readonly string[], input: Uint8Array | null): Promise<string> {
    const date = `${this.#clock} +0000`;
    const child = new Deno.Command("git", {
      args: [...args],
      cwd,
      env: { ...ISOLATED, GIT_AUTHOR_DATE: date, GIT_COMMITTER_DATE: date },
      stdin: input === null ? "null" : "piped",
      stdout: "piped",
      stderr: "piped",
    }).spawn();
    if (input !== null) {
      const writer = child.stdin.getWriter();
      await writer.write(input);
      await writer.close();
    }
    const out = await child.output();
    const text = new TextDecoder();
    if (out.code !== 0) {
      throw new Error(`git ${args.join(" ")} exited with ${out.code}: ${text.decode(out.stderr)}`);
    }
    return text.decode(out.stdout);
  }

  /** Writes files below `dir`, making folders on the way. */
  async write(dir: string, files: Readonly<Record<string, string>>): Promise<void> {
    for (const [name, content] of Object.entries(files)) {
      const path = `${dir}/${name}`;
      await Deno.mkdir(path.slice(0, path.lastIndexOf("/")), { recursive: true });
      await Deno.writeTextFile(path, content);
    }
  }

  /** Writes and commits, an hour after the commit before. */
  async commit(
    dir: string,
    message: string,
    files: Readonly<Record<string, string>>,
  ): Promise<void> {
    this.tick(3_600);
    await this.write(dir, files);
    await this.git(dir, "add", "-A");
    await this.git(dir, "commit", "-q", "-m", message);
  }
}
