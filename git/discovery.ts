/**
 * Finds which kind of repository git would find from a path, to decide one thing before git runs:
 * whether a bare repository may be served. One that lies inside another work tree came with somebody's
 * commit, configuration included, and is refused (`security.md` S-10).
 */
export type Discovery =
  /** `git-dir`: inside the `.git` folder of an ordinary repository. */
  | { kind: "work-tree" | "git-dir" | "none" }
  | { kind: "bare" | "embedded"; directory: string };

/** Walks up as git does: `.git` first at each level, then a directory that looks like a repository. */
export function discover(path: string): Discovery {
  for (const dir of upwards(path)) {
    if (exists(`${dir}/.git`)) return { kind: "work-tree" };
    if (looksBare(dir)) {
      const name = dir.slice(dir.lastIndexOf("/") + 1);
      if (name === ".git" || dir.includes("/.git/")) return { kind: "git-dir" };
      const above = dir.slice(0, dir.lastIndexOf("/"));
      const embedded = upwards(above).some((parent) => exists(`${parent}/.git`));
      return { kind: embedded ? "embedded" : "bare", directory: dir };
    }
  }
  return { kind: "none" };
}

function upwards(path: string): string[] {
  const dirs: string[] = [];
  for (let dir = path.replace(/\\/g, "/"); dir !== "" && dirs.length < 4_096;) {
    dirs.push(dir);
    const at = dir.lastIndexOf("/");
    if (at <= 0) break;
    dir = dir.slice(0, at);
  }
  return dirs;
}

/** `commondir` lets a directory keep its objects and refs elsewhere. */
function looksBare(dir: string): boolean {
  return exists(`${dir}/HEAD`) &&
    (exists(`${dir}/commondir`) || (exists(`${dir}/objects`) && exists(`${dir}/refs`)));
}

function exists(path: string): boolean {
  try {
    Deno.lstatSync(path);
    return true;
  } catch {
    return false;
  }
}
