/** What a proposal touches, read from its arguments (`presence.md` 3.3). */

const MAX_PATHS = 1_000;
const MAX_OVERLAPS = 20;
const MAX_BRANCHES = 200;

type Args = Readonly<Record<string, unknown>>;

/**
 * Paths that a proposal names, relative to the repository; null when it names none.
 *
 * @param repoPath canonical, to make absolute names relative
 */
export function proposalPaths(args: Args, repoPath: string): readonly string[] | null {
  const paths = new Set<string>();
  const add = (path: string) => {
    if (paths.size < MAX_PATHS) paths.add(normalPath(path, repoPath));
  };
  for (const part of partsOf(args)) {
    for (const path of listOf(part["paths"])) if (typeof path === "string") add(path);
    const relative = part["relativePath"];
    if (typeof relative === "string") {
      const parent = String(part["parentPath"] ?? "").replace(/^\/+|\/+$/g, "");
      add(parent === "" ? relative : `${parent}/${relative}`);
    }
    const patch = part["patchContent"];
    if (typeof patch === "string") { for (const path of patchPaths(patch)) add(path); }
  }
  return paths.size === 0 ? null : [...paths];
}

/** Branches that a proposal names, by short name; empty when it names none. */
export function proposalBranches(args: Args, checkedOut: string | null): readonly string[] {
  const branches = new Set<string>();
  const add = (ref: unknown) => {
    if (typeof ref !== "string" || branches.size >= MAX_BRANCHES) return;
    const name = ref === "HEAD" ? checkedOut : ref.replace(/^refs\/heads\//, "");
    if (name) branches.add(name);
  };
  for (const part of partsOf(args)) {
    for (const name of ["sourceRef", "targetRef", "currentRef", "ontoRef", "branch", "name"]) {
      add(part[name]);
    }
    add(part["startPoint"]);
    for (const target of listOf(part["targets"])) {
      const { branches: named, repoPath } = target as Args;
      if (repoPath === args["repoPath"]) { for (const branch of listOf(named)) add(branch); }
    }
  }
  return [...branches];
}

/** Places where it would make a work tree, as given. */
export function proposalWorktrees(args: Args): readonly string[] {
  const path = args["path"];
  return typeof path === "string" && path.trim() !== "" ? [path] : [];
}

/** Files of an agent that a proposal touches too, at most 20. */
export function overlaps(files: readonly string[], paths: readonly string[]): string[] {
  return files.filter((file) => paths.some((path) => overlap(file, path))).slice(0, MAX_OVERLAPS);
}

/** Equal, one a folder above the other, or one the whole repository. */
function overlap(a: string, b: string): boolean {
  return a === b || a === "." || b === "." || a.startsWith(`${b}/`) || b.startsWith(`${a}/`);
}

/** The arguments themselves, then the steps of a plan. */
function partsOf(args: Args): Args[] {
  const steps = listOf(args["steps"]).filter((step) => typeof step === "object" && step !== null);
  return [args, ...steps as Args[]];
}

function listOf(value: unknown): readonly unknown[] {
  return Array.isArray(value) ? value : [];
}

function* patchPaths(patch: string): Generator<string> {
  let start = 0;
  while (start < patch.length) {
    const end = patch.indexOf("\n", start);
    const stop = end === -1 ? patch.length : end;
    // Content lines begin otherwise; most are passed over without being copied.
    const first = patch[start];
    if (first === "d" || first === "+" || first === "-") {
      const line = patch.slice(start, Math.min(stop, start + 65_536)).replace(/\r$/, "");
      if (line.startsWith("diff --git ")) {
        const at = line.lastIndexOf(" b/");
        if (at !== -1) yield line.slice(at + 3);
      } else if (line.startsWith("+++ b/") || line.startsWith("--- a/")) yield line.slice(6);
    }
    start = stop + 1;
  }
}

function normalPath(text: string, repoPath: string): string {
  let path = text.trim();
  if (path === repoPath) return ".";
  if (path.startsWith(`${repoPath}/`) || path.startsWith(`${repoPath}\\`)) {
    path = path.slice(repoPath.length + 1);
  }
  path = path.replaceAll("\\", "/");
  while (path.startsWith("./")) path = path.slice(2);
  path = path.replace(/\/+$/, "");
  return path === "" ? "." : path;
}
