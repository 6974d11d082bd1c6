import { decodePath, decodeText, encodeText, fromBase64, latin1 } from "../common/bytes.ts";
import { CodedError } from "../common/errors.ts";
import { printable } from "../git/errors.ts";
import type { LiteralPath } from "../git/pathspec.ts";
import type { Repository } from "../git/repository.ts";

/**
 * Paths that a caller names: literal, relative to the top of the work tree (the absolute form below
 * it is accepted too), never outside it (`security.md` S-16).
 */

/** The arguments that tools with paths have, all or some of them. */
export interface PathArguments {
  readonly path?: string | undefined;
  readonly pathBytes?: string | undefined;
  readonly paths?: readonly string[] | undefined;
}

/**
 * Reads `path`, `pathBytes` and `paths`. An empty list means no filter: nothing was given, or the
 * repository itself was named. Throws `CodedError` -32602 naming the argument.
 */
export function readPaths(repo: Repository, args: PathArguments): LiteralPath[] {
  const given: { field: string; bytes: Uint8Array }[] = [];
  // An answer carries both for a name that is not UTF-8; the bytes are the ones that name it.
  if (args.pathBytes !== undefined) {
    given.push({ field: "pathBytes", bytes: decodeBase64(args.pathBytes) });
  } else if (args.path !== undefined) {
    given.push({ field: "path", bytes: encodeText(args.path) });
  }
  args.paths?.forEach((path, i) => given.push({ field: `paths[${i}]`, bytes: encodeText(path) }));
  const paths: LiteralPath[] = [];
  for (const { field, bytes } of given) {
    const inside = relativeToTop(repo, field, bytes);
    // The whole repository is among the named ones: nothing is left out.
    if (inside.length === 0) return [];
    paths.push({ bytes: inside, ...decodePath(inside) });
  }
  return paths;
}

function decodeBase64(text: string): Uint8Array {
  try {
    return fromBase64(text);
  } catch {
    throw refused("pathBytes", text, "is not base64");
  }
}

/** Works on bytes as Latin-1 text, one character a byte, so that nothing is lost on the way. */
function relativeToTop(repo: Repository, field: string, bytes: Uint8Array): Uint8Array {
  const windows = Deno.build.os === "windows";
  const raw = latin1(bytes);
  const shown = decodeText(bytes);
  if (raw.includes("\0")) throw refused(field, shown, "holds a NUL byte");
  let path = windows ? raw.replaceAll("\\", "/") : raw;
  if (path.split("/").includes("..")) throw refused(field, shown, 'may not have ".." as a part');
  if (path.startsWith("/") || (windows && /^[A-Za-z]:/.test(path))) {
    path = belowTop(repo, field, shown, path);
  }
  const parts = path.split("/").filter((part) => part !== "" && part !== ".");
  return Uint8Array.from(parts.join("/"), (c) => c.charCodeAt(0));
}

function belowTop(repo: Repository, field: string, shown: string, path: string): string {
  const { topLevel, askedPath } = repo.facts;
  const latin = (text: string) => latin1(encodeText(text)).replaceAll("\\", "/");
  const plain = path.replace(/(?<=.)\/+$/, "");
  if (plain === latin(askedPath)) return "";
  if (topLevel === null) {
    throw refused(field, shown, "is absolute, but a bare repository has no work tree");
  }
  const top = latin(topLevel);
  const under = (candidate: string) =>
    candidate === top
      ? ""
      : candidate.startsWith(top + "/")
      ? candidate.slice(top.length + 1)
      : null;
  const direct = under(plain);
  if (direct !== null) return direct;
  // The same place by another name (a link above the repository); the last part stays as it is.
  const at = plain.lastIndexOf("/");
  try {
    const folder = latin(
      Deno.realPathSync(decodeText(Uint8Array.from(plain.slice(0, at), (c) => c.charCodeAt(0)))),
    );
    const resolved = under(`${folder}${plain.slice(at)}`);
    if (resolved !== null) return resolved;
  } catch { /* said below, whether it exists or not */ }
  throw refused(field, shown, "lies outside the work tree; give it relative to the top");
}

function refused(field: string, value: string, why: string): CodedError {
  return new CodedError(-32602, "Invalid params", {
    details: `arguments.${field} ${JSON.stringify(printable(value, 200))} ${why}`,
  });
}
