/** Running the same Deno that runs this script, and listing the project's own files. */

/** Root of the project, as a path without a trailing slash. */
export const ROOT: string = Deno.realPathSync(new URL("../..", import.meta.url));

/** Folders that hold no source of the project. */
const NOT_OURS = new Set([".git", "build", "dist", "cov", "node_modules"]);

/** What a finished child left behind. */
export interface Finished {
  readonly code: number;
  readonly stdout: string;
  readonly stderr: string;
}

/** Runs `deno` with the given arguments in the root of the project, output to the terminal. */
export async function denoInherit(args: readonly string[]): Promise<number> {
  const child = new Deno.Command(Deno.execPath(), {
    args: [...args],
    cwd: ROOT,
    stdin: "null",
    stdout: "inherit",
    stderr: "inherit",
  }).spawn();
  return (await child.status).code;
}

/** Runs `deno` in the root of the project and keeps its output. */
export async function denoOutput(args: readonly string[]): Promise<Finished> {
  const out = await new Deno.Command(Deno.execPath(), {
    args: [...args],
    cwd: ROOT,
    stdin: "null",
    stdout: "piped",
    stderr: "piped",
  }).output();
  const text = new TextDecoder();
  return { code: out.code, stdout: text.decode(out.stdout), stderr: text.decode(out.stderr) };
}

/** Whether the running Deno is at least this version: some flags exist only from there on. */
export function denoAtLeast(major: number, minor: number, version = Deno.version.deno): boolean {
  const [a = 0, b = 0] = version.split(".").map(Number);
  return a > major || (a === major && b >= minor);
}

/** Every TypeScript file of the project, relative to its root, sorted. */
export async function sourceFiles(root: string = ROOT): Promise<string[]> {
  const files: string[] = [];
  const walk = async (folder: string): Promise<void> => {
    for await (const entry of Deno.readDir(`${root}/${folder}`)) {
      const path = folder === "" ? entry.name : `${folder}/${entry.name}`;
      if (entry.isDirectory) {
        if (!NOT_OURS.has(entry.name)) await walk(path);
      } else if (entry.isFile && entry.name.endsWith(".ts")) files.push(path);
    }
  };
  await walk("");
  return files.sort();
}
