/**
 * Runs the steps of a composite action as a runner does: expressions are filled in only where the
 * file has them, each step gets its environment, outputs go from step to step.
 */

/** A step, as far as `action.yml` uses them. */
interface Step {
  id: string;
  shell: string;
  run: string;
  env: Record<string, string>;
}

export interface Action {
  inputs: Record<string, { required: boolean; default: string }>;
  outputs: Record<string, string>;
  steps: Step[];
}

export interface ActionRun {
  /** Exit code of the first step that failed, else 0. */
  code: number;
  log: string;
  outputs: Record<string, string>;
  summary: string;
}

/** Values of YAML as this file has it: maps, lists of maps, plain and quoted scalars, `|` blocks. */
type Yaml = string | { [key: string]: Yaml } | Yaml[];

/** Reads the subset of YAML that `action.yml` keeps to; throws at anything else. */
export function parseYaml(text: string): Yaml {
  const lines = text.split("\n");
  let at = 0;
  const indentOf = (line: string) => line.length - line.trimStart().length;
  const skip = () => {
    while (at < lines.length && /^\s*(#.*)?$/.test(lines[at]!)) at++;
  };
  const scalar = (written: string): string => {
    if (/^"(?:[^"\\])*"$/.test(written)) return written.slice(1, -1);
    if (/^[\["'{&*!|>%@`]|: | #/.test(written)) throw new Error(`beyond this reader: ${written}`);
    return written;
  };
  const block = (indent: number): string => {
    const body: string[] = [];
    while (at < lines.length && (lines[at]!.trim() === "" || indentOf(lines[at]!) > indent)) {
      body.push(lines[at++]!);
    }
    while (body.at(-1)?.trim() === "") body.pop();
    const margin = indentOf(body[0]!);
    return body.map((line) => line.slice(margin)).join("\n") + "\n";
  };
  const value = (indent: number): Yaml => {
    skip();
    const isList = lines[at]?.trimStart().startsWith("- ");
    const list: Yaml[] = [];
    const map: { [key: string]: Yaml } = {};
    for (skip(); at < lines.length && indentOf(lines[at]!) === indent; skip()) {
      if (isList) {
        // The item is a map that starts two columns further in.
        lines[at] = " ".repeat(indent + 2) + lines[at]!.trimStart().slice(2);
        list.push(value(indent + 2));
        continue;
      }
      const match = /^([\w-]+):(?: (.*))?$/.exec(lines[at]!.trim());
      if (!match) throw new Error(`beyond this reader: ${lines[at]}`);
      at++;
      const [, key = "", rest] = match;
      if (rest === "|") map[key] = block(indent);
      else if (rest !== undefined) map[key] = scalar(rest);
      else {
        skip();
        map[key] = value(indentOf(lines[at]!));
      }
    }
    return isList ? list : map;
  };
  const result = value(0);
  if (at < lines.length) throw new Error(`line ${at + 1} is beyond this reader`);
  return result;
}

/** Reads an action and holds its shape. */
export function readAction(path: string): Action {
  // deno-lint-ignore no-explicit-any -- checked by use
  const file = parseYaml(Deno.readTextFileSync(path)) as any;
  if (file.runs.using !== "composite") throw new Error("not a composite action");
  return {
    inputs: Object.fromEntries(
      Object.entries<Record<string, string>>(file.inputs).map(([name, input]) => [
        name,
        { required: input.required === "true", default: input.default ?? "" },
      ]),
    ),
    outputs: Object.fromEntries(
      Object.entries<Record<string, string>>(file.outputs).map(([name, output]) => [
        name,
        output.value!,
      ]),
    ),
    steps: file.runs.steps.map((step: Step) => ({ ...step, env: step.env ?? {} })),
  };
}

/** Runs all steps with the given inputs. */
export async function runAction(
  action: Action,
  inputs: Record<string, string>,
  cwd: string,
): Promise<ActionRun> {
  const given: Record<string, string> = {};
  for (const [name, { required, default: fallback }] of Object.entries(action.inputs)) {
    if (required && inputs[name] === undefined) throw new Error(`input ${name} is required`);
    given[name] = inputs[name] ?? fallback;
  }
  const outputs: Record<string, Record<string, string>> = {};
  const fill = (text: string) =>
    text.replace(/\$\{\{\s*([\w.-]+)\s*\}\}/g, (_, name: string) => {
      const [kind, first = "", , third = ""] = name.split(".");
      if (kind === "inputs" && first in given) return given[first]!;
      if (kind === "steps") return outputs[first]?.[third] ?? "";
      throw new Error(`unknown expression ${name}`);
    });
  const summaryPath = await Deno.makeTempFile();
  let log = "";
  let code = 0;
  for (const step of action.steps) {
    if (step.shell !== "bash") throw new Error("only bash is known here");
    if (/\$\{\{/.test(step.run)) throw new Error("an expression in a script is an injection");
    const outputPath = await Deno.makeTempFile();
    const output = await new Deno.Command("bash", {
      args: ["--noprofile", "--norc", "-e", "-o", "pipefail", "-c", step.run],
      cwd,
      env: {
        ...Object.fromEntries(Object.entries(step.env).map(([key, text]) => [key, fill(text)])),
        GITHUB_OUTPUT: outputPath,
        GITHUB_STEP_SUMMARY: summaryPath,
      },
    }).output();
    const text = new TextDecoder();
    log += text.decode(output.stdout) + text.decode(output.stderr);
    outputs[step.id] = Object.fromEntries(
      (await Deno.readTextFile(outputPath)).split("\n").filter(Boolean).map((line) => {
        const split = line.indexOf("=");
        return [line.slice(0, split), line.slice(split + 1)];
      }),
    );
    await Deno.remove(outputPath);
    code = output.code;
    if (code !== 0) break;
  }
  const summary = await Deno.readTextFile(summaryPath);
  await Deno.remove(summaryPath);
  return {
    code,
    log,
    summary,
    outputs: Object.fromEntries(
      Object.entries(action.outputs).map(([name, text]) => [name, fill(text)]),
    ),
  };
}
