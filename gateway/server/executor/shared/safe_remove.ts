/**
 * Removing a file below a directory without being led out of it: no component on the way may be a
 * link, and the last one is removed as what it is (`security.md` P-12, S-23).
 */

/** Throws when a component of `path` is missing, a link, or leads outside `top`. */
export function checkInside(top: string, path: string): void {
  const parts = path.split("/");
  let at = top;
  for (const part of parts.slice(0, -1)) {
    if (part === "" || part === "." || part === "..") {
      throw new Error(`${JSON.stringify(path.slice(0, 200))} is not a plain path`);
    }
    at += `/${part}`;
    const info = Deno.lstatSync(at);
    if (info.isSymlink) throw new Error("a folder on the way is a symbolic link");
    if (!info.isDirectory) throw new Error("a folder on the way is no folder");
  }
}

/** Removes a file or link, then the folders above it that became empty, up to `top`. */
export function removeInside(top: string, path: string): void {
  checkInside(top, path);
  const full = `${top}/${path}`;
  const info = Deno.lstatSync(full);
  if (info.isDirectory) throw new Error("it is a folder, not a file");
  Deno.removeSync(full);
  let folder = path.slice(0, Math.max(0, path.lastIndexOf("/")));
  while (folder !== "") {
    try {
      Deno.removeSync(`${top}/${folder}`);
    } catch {
      return; // not empty: something else lives there
    }
    folder = folder.slice(0, Math.max(0, folder.lastIndexOf("/")));
  }
}
