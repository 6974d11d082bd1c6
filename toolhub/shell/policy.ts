/** How risky a command is. Nothing is allowed by it: everything but one built-in answer needs a person. */

import type { Risk } from "../approvals/record.ts";
import { WINDOWS } from "../platform.ts";
import { isRooted } from "../workspace/path.ts";

export interface Verdict {
  readonly risk: Risk;
  readonly reason: string;
  /** Name of the built-in answer, null for everything else. */
  readonly profile: string | null;
}

const SHELLS = new Set([
  ...["cmd", "cmd.exe", "powershell", "powershell.exe", "pwsh", "pwsh.exe"],
  ...["bash", "sh", "zsh"],
]);
const DESTRUCTIVE = new Set([
  ...["rm", "del", "erase", "rmdir", "rd", "format", "diskpart", "shutdown", "reboot"],
]);
const PYTHON = new Set(["python", "python.exe", "python3", "python3.exe"]);

/** What the policy may know of the running program. */
export interface RuntimeFacts {
  readonly windows: boolean;
  /** Canonical path of the runtime that runs this program; null when it is built into it. */
  readonly runtimePath: string | null;
  readonly realPath: (path: string) => string | null;
}

/** The running process. */
export function runtimeFacts(): RuntimeFacts {
  return {
    windows: WINDOWS,
    runtimePath: ownRuntime(),
    realPath(path) {
      try {
        return Deno.realPathSync(path);
      } catch {
        return null;
      }
    },
  };
}

/** A compiled program is not `deno`, though it holds one. */
function ownRuntime(): string | null {
  try {
    const path = Deno.realPathSync(Deno.execPath());
    return /^deno(?:\.exe)?$/i.test(commandName(path)) ? path : null;
  } catch {
    return null;
  }
}

/** Classifies a command; the first rule that fits counts. */
export function classify(
  program: string,
  args: readonly string[],
  facts: RuntimeFacts = runtimeFacts(),
): Verdict {
  const plain = commandName(program);
  const name = facts.windows ? plain.toLowerCase() : plain;
  const verdict = (risk: Risk, reason: string, profile: string | null = null) => ({
    risk,
    reason,
    profile,
  });
  if (SHELLS.has(name)) return verdict("HIGH", "Shell interpreters can run anything.");
  if (DESTRUCTIVE.has(name)) {
    return verdict("HIGH", `The destructive command ${name} can lose data or stop the machine.`);
  }
  if (name === "py" || name === "py.exe") {
    return verdict("HIGH", "The launcher py selects another Python interpreter by itself.");
  }
  if (/\.(?:bat|cmd)$/i.test(name)) {
    return verdict("HIGH", "Batch files run through the Windows command interpreter.");
  }
  if (args.length === 1 && args[0] === "--version" && isRuntime(program, facts)) {
    return verdict(
      "LOW",
      "The version of the running Deno is answered by the program itself.",
      "deno.version.long",
    );
  }
  if (args.some(leadsOutside)) {
    return verdict("HIGH", "An argument names a path that may lie outside the workspace.");
  }
  if (name === "git" || name === "git.exe") {
    return verdict("HIGH", "Generic Git can change the repository and run its programs.");
  }
  if (PYTHON.has(name)) {
    return args.some((arg) => arg.toLowerCase() === "-c")
      ? verdict("HIGH", "Python runs inline code from the arguments.")
      : verdict("MEDIUM", "Python runs code of the workspace.");
  }
  if (name === "pytest" || name === "pytest.exe") {
    return verdict("MEDIUM", "Tests run code of the workspace.");
  }
  return verdict("HIGH", "There is no policy for this program.");
}

/** The last component by the rules of Windows, which hold for every system here. */
export function commandName(program: string): string {
  return program.replace(/^[A-Za-z]:/, "").split(/[\\/]/).at(-1) ?? "";
}

/** Whether a program is named by a path rather than looked up. */
export function isExplicitPath(program: string): boolean {
  return /[\\/]/.test(program) || isRooted(program);
}

function isRuntime(program: string, facts: RuntimeFacts): boolean {
  if (program === "deno" || (facts.windows && program.toLowerCase() === "deno.exe")) return true;
  if (facts.runtimePath === null) return false;
  const absolute = facts.windows ? /^[A-Za-z]:[\\/]/.test(program) : program.startsWith("/");
  return absolute && facts.realPath(program) === facts.runtimePath;
}

function leadsOutside(arg: string): boolean {
  const text = arg.trim();
  if (text === "" || text.startsWith("-")) return false;
  return text === ".." || /^\.\.[\\/]/.test(text) || isRooted(text);
}
