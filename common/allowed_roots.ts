import { encodeText } from "./bytes.ts";
import { CodedError } from "./errors.ts";

/**
 * `FLUXGIT_MCP_ALLOWED_ROOTS` and repository paths (`protocol.md` section 9). Relative paths are
 * refused with the reason, links are resolved once, and outside paths get one answer whether they
 * exist or not (`security.md` S-22).
 */
export const ROOTS_VARIABLE = "FLUXGIT_MCP_ALLOWED_ROOTS";

/** What the functions here need of the platform; tests inject another one. */
export interface PathPlatform {
  readonly windows: boolean;
  readonly realPath: (path: string) => string;
}

export const denoPaths: PathPlatform = {
  windows: Deno.build.os === "windows",
  realPath: (path) => Deno.realPathSync(path),
};

/** Roots as configured and as resolved. */
export interface AllowedRoots {
  readonly configured: readonly string[];
  readonly canonical: readonly string[];
}

/** Parses the variable; null when unset. Throws `CodedError` -32010 for anything unusable in it. */
export function readAllowedRoots(
  value: string | undefined,
  platform = denoPaths,
): AllowedRoots | null {
  if (value === undefined) return null;
  const bad = (details: string, root?: string) =>
    new CodedError(-32010, "Invalid MCP allowed-roots configuration", {
      environmentVariable: ROOTS_VARIABLE,
      details,
      ...(root === undefined ? {} : { root }),
    });
  if (value.trim() === "") {
    throw bad("the variable is set but blank; unset it or list absolute directories");
  }
  const configured = value.split(platform.windows ? ";" : ":");
  const canonical = configured.map((root) => {
    if (root.trim() === "") throw bad("an entry is empty");
    if (!isAbsolutePath(root, platform.windows)) {
      throw bad("an entry is not an absolute path", root.slice(0, 300));
    }
    try {
      return platform.realPath(root);
    } catch (error) {
      throw bad(
        error instanceof Error ? error.message.slice(0, 300) : "cannot be resolved",
        root.slice(0, 300),
      );
    }
  });
  return { configured, canonical };
}

/** `/x` on Unix; `C:\x`, `C:/x` or a UNC path on Windows. */
export function isAbsolutePath(path: string, windows: boolean): boolean {
  return windows ? /^(?:[A-Za-z]:[\\/]|[\\/]{2}[^\\/])/.test(path) : path.startsWith("/");
}

/**
 * The canonical form of a repository path of the caller. Without roots a path that does not resolve
 * is given back as it is (git then says what is wrong). Throws `CodedError` -32602 or -32011.
 */
export async function canonicalRepositoryPath(
  path: string,
  roots: AllowedRoots | null,
  location = "arguments.repoPath",
  platform = denoPaths,
): Promise<string> {
  const shown = JSON.stringify(path.slice(0, 200));
  if (path.trim() === "" || path.includes("\0") || !isAbsolutePath(path, platform.windows)) {
    throw new CodedError(-32602, "Invalid params", {
      details: `${location} ${shown} is not an absolute path; repository paths must be absolute`,
    });
  }
  let real: string | null = null;
  let reason = "";
  try {
    real = platform.realPath(path);
  } catch (error) {
    reason = error instanceof Error ? error.name : "unknown";
  }
  if (roots === null) return real ?? path;
  if (real !== null && isInside(real, roots.canonical, platform.windows)) return real;
  const plain = plainPath(path, platform.windows);
  if (
    real === null && isInside(plain, [...roots.canonical, ...roots.configured], platform.windows)
  ) {
    throw new CodedError(-32602, "Repository path cannot be resolved", {
      details: `${location} ${shown}: ${reason}`,
    });
  }
  throw new CodedError(-32011, "Repository path is outside the MCP allowed roots", {
    environmentVariable: ROOTS_VARIABLE,
    repoPathFingerprint: await fingerprint(path),
  });
}

/** True when `path` is one of the roots or below one, by whole components. */
export function isInside(
  path: string,
  roots: readonly string[],
  windows = denoPaths.windows,
): boolean {
  const fold = (p: string) => (windows ? p.replaceAll("/", "\\").toLowerCase() : p);
  const sep = windows ? "\\" : "/";
  return roots.some((root) => {
    const base = fold(root).replace(windows ? /\\+$/ : /(?<=.)\/+$/, "");
    const own = fold(path);
    return own === base || own.startsWith(base.endsWith(sep) ? base : base + sep);
  });
}

/** Removes `.`, `..` and doubled separators by text alone. */
function plainPath(path: string, windows: boolean): string {
  const sep = windows ? "\\" : "/";
  const parts: string[] = [];
  for (const part of path.split(windows ? /[\\/]+/ : /\/+/)) {
    if (part === "..") parts.pop();
    else if (part !== "." && part !== "") parts.push(part);
  }
  return (windows ? "" : sep) + parts.join(sep);
}

async function fingerprint(path: string): Promise<string> {
  const hash = new Uint8Array(
    await crypto.subtle.digest("SHA-256", encodeText(JSON.stringify(path)) as BufferSource),
  );
  return "sha256:" + Array.from(hash, (b) => b.toString(16).padStart(2, "0")).join("");
}
