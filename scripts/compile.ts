/**
 * `deno task compile [--output FILE] [--empty FILE] [--toolhub FOLDER]`: the program as one file,
 * `dist/fluxgit-sidecar`, and beside it `mcp-toolhub` and `mcp-toolhub-admin`. With `--output` only the
 * former is made, unless `--toolhub` names a folder for the other two.
 *
 * The code is bundled in pieces first: a single-file bundle, or the sources beside `node_modules`,
 * start markedly slower. `--no-code-cache` is a matter of safety: with a cache file that anybody can
 * write, another program could be made to run in place of this one. `--empty` also compiles a program
 * that does nothing, in the same way: what the benchmark compares with.
 *
 * `DENO_COMPILE_BIN` names another `deno` for the last step and `DENORT_BIN` another runtime to embed,
 * for machines that cannot fetch Deno's own.
 */

import { parseArgs } from "node:util";
import { readGraph } from "./arrows/graph.ts";
import { checkStart } from "./arrows/rules.ts";
import { denoOutput, ROOT } from "./lib/deno.ts";
import { permissionFlags, readPermissionSet } from "./lib/profile.ts";
import { say } from "./lib/terminal.ts";

const WORKER = "cli/writer_worker";
/** Time stamp of every embedded file: it is stored, so the same sources give the same bytes. */
const STAMP = new Date(1_700_000_000_000);

async function main(): Promise<void> {
  const { values } = parseArgs({
    args: Deno.args,
    options: {
      output: { type: "string" },
      empty: { type: "string" },
      toolhub: { type: "string" },
    },
  });
  const output = absolute(values.output ?? "dist/fluxgit-sidecar");
  const flags = permissionFlags(await readPermissionSet("strict"));
  const build = `${ROOT}/build`;
  await bundle(build, ["main.ts", `${WORKER}.ts`]);
  await checkBundle(build);
  await compile(build, ["--include", "."], flags, output);
  say(`${output} (${megabytes((await Deno.stat(output)).size)})`);
  if (values.empty !== undefined) {
    const folder = await Deno.makeTempDir({ prefix: "fluxgit-empty-" });
    try {
      await Deno.writeTextFile(`${folder}/main.js`, "");
      await compile(folder, [], flags, absolute(values.empty));
    } finally {
      await Deno.remove(folder, { recursive: true });
    }
  }
  const toolhub = values.toolhub ?? (values.output === undefined ? "dist" : undefined);
  if (toolhub !== undefined) await compileToolhub(absolute(toolhub));
}

/** The second program and its administrator's, each with its own permissions and nothing of the other. */
async function compileToolhub(target: string): Promise<void> {
  for (const [name, entry] of [["mcp-toolhub", "main"], ["mcp-toolhub-admin", "admin_main"]]) {
    const folder = await Deno.makeTempDir({ prefix: "toolhub-build-" });
    try {
      await bundle(`${folder}/build`, [`toolhub/${entry}.ts`]);
      const set = await readPermissionSet(entry === "main" ? "toolhub" : "toolhub-admin");
      const output = `${target}/${name}`;
      const include = ["--include", "."];
      await compile(`${folder}/build`, include, permissionFlags(set), output, `${entry}.js`);
      say(`${output} (${megabytes((await Deno.stat(output)).size)})`);
    } finally {
      await Deno.remove(folder, { recursive: true });
    }
  }
}

/** A program (and its worker) into a folder, code that is loaded later in files of its own. */
async function bundle(build: string, sources: readonly string[]): Promise<void> {
  await Deno.remove(build, { recursive: true }).catch(() => {});
  const split = ["bundle", "-q", "--code-splitting", "--platform", "deno", "--outdir", build];
  const out = await denoOutput([...split, ...sources]);
  if (out.code !== 0) throw new Error(`bundling failed: ${out.stderr.trim()}`);
  for (const path of await filesBelow(build)) await Deno.utime(path, STAMP, STAMP);
}

/** The entry, the piece that serves and all they load at once must stay free of `node:` and npm. */
async function checkBundle(build: string): Promise<void> {
  const names = (await filesBelow(build)).map((path) => path.slice(build.length + 1));
  const serve = names.filter((name) => /^serve-\w+\.js$/.test(name));
  if (serve.length !== 1 || !names.includes("main.js") || !names.includes(`${WORKER}.js`)) {
    throw new Error(`the bundle has unexpected files: ${names.join(", ")}`);
  }
  const faults = checkStart(await readGraph(build, names), ["main.js", ...serve]);
  if (faults.length > 0) throw new Error(faults.join("\n"));
}

async function compile(
  folder: string,
  include: readonly string[],
  permissions: readonly string[],
  output: string,
  entry = "main.js",
): Promise<void> {
  await Deno.mkdir(output.slice(0, output.lastIndexOf("/")), { recursive: true });
  const out = await new Deno.Command(Deno.env.get("DENO_COMPILE_BIN") ?? Deno.execPath(), {
    args: [
      ...["compile", "-q", "--no-check", "--no-config", "--no-prompt", "--no-code-cache"],
      ...["--unstable-worker-options", "--v8-flags=--max-semi-space-size=2"],
      ...permissions,
      ...include,
      ...["--output", output, entry],
    ],
    cwd: folder,
    stdin: "null",
    stdout: "piped",
    stderr: "piped",
  }).output();
  if (out.code !== 0) {
    throw new Error(`compiling failed: ${new TextDecoder().decode(out.stderr).trim()}`);
  }
}

async function filesBelow(folder: string): Promise<string[]> {
  const files: string[] = [];
  for await (const entry of Deno.readDir(folder)) {
    const path = `${folder}/${entry.name}`;
    if (entry.isDirectory) files.push(...await filesBelow(path));
    else files.push(path);
  }
  return files.sort();
}

function absolute(path: string): string {
  return path.startsWith("/") ? path : `${ROOT}/${path}`;
}

function megabytes(bytes: number): string {
  return `${(bytes / 1_048_576).toFixed(0)} MB`;
}

if (import.meta.main) {
  await main().catch((error) => {
    say(error instanceof Error ? error.message : String(error));
    Deno.exit(1);
  });
}
