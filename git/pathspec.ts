import { CodedError } from "../common/errors.ts";
import type { DecodedPath } from "../common/bytes.ts";
import { printable } from "./errors.ts";

/** A literal path as git stores it: bytes, and how answers show it. */
export interface LiteralPath extends DecodedPath {
  readonly bytes: Uint8Array;
}

/** The end of a git command line that limits it to paths. */
export interface Pathspecs {
  /** Begins with `--`. */
  readonly args: string[];
  /** When set, the command needs `--stdin` as well. */
  readonly stdin?: Uint8Array;
}

/** Longest list of paths put on a command line, in bytes. */
const MAX_ARGUMENT_BYTES = 64 * 1024;

/**
 * Makes the end of a command line of `log` or `diff`. A name that is not UTF-8, or a long list, goes
 * through standard input. Throws `CodedError` -32602 for a name that neither way can carry.
 */
export function pathspecs(paths: readonly LiteralPath[]): Pathspecs {
  const size = paths.reduce((sum, path) => sum + path.bytes.length + 1, 0);
  if (size <= MAX_ARGUMENT_BYTES && paths.every((path) => path.pathBytes === undefined)) {
    return { args: ["--", ...paths.map((path) => path.path)] };
  }
  const lines = new Uint8Array(size + 3);
  lines.set([0x2d, 0x2d, 0x0a]);
  let at = 3;
  for (const path of paths) {
    if (!fitsLines(path)) {
      throw new CodedError(-32602, "Invalid params", {
        details: `the path ${
          JSON.stringify(printable(path.path, 200))
        } holds or ends in a line end, which git takes neither beside bytes that are not UTF-8 nor in a long list`,
      });
    }
    lines.set(path.bytes, at);
    lines[at + path.bytes.length] = 0x0a;
    at += path.bytes.length + 1;
  }
  return { args: ["--"], stdin: lines };
}

/** False for a path that cannot stand on a line of its own (git also drops a CR before a line end). */
export function fitsLines(path: LiteralPath): boolean {
  return !path.bytes.includes(0x0a) && path.bytes.at(-1) !== 0x0d;
}
