import { GitConfig } from "./config.ts";
import { FileStamps } from "./config_stamp.ts";
import { Repository } from "./repository.ts";

/**
 * Opens the most ordinary shape of repository without asking git: a `.git` folder right at the path,
 * a configuration file that says nothing about programs, filters or layout, no submodule. For callers
 * that look at many repositories once, where the two questions of a cold opening cost more than the
 * answer. Everything else is `openRepository`'s work.
 */

const MAX_CONFIG = 64 * 1024;
const MAX_INDEX = 64 * 1024 * 1024;

/** An opened repository and the variables its commands need. */
export interface PlainRepository {
  /** Its `facts.config` is empty: for commands whose flags do not depend on configuration. */
  readonly repo: Repository;
  /** Keeps git from looking for a repository above, should it not like this one. */
  readonly env: Readonly<Record<string, string>>;
}

/**
 * The repository whose top is exactly `path` (canonical), or null when anything about it is unusual or
 * cannot be read. What makes it safe (`security.md` part 1): words that could name a program or move the
 * work tree are looked for anywhere in the configuration file; submodules, whose own configuration
 * would count, are excluded by the index; objects are borrowed from nowhere. Ownership is judged by
 * git itself in whatever command follows.
 */
export function plainRepository(path: string, signal?: AbortSignal): PlainRepository | null {
  // The separator of the variable that stops the search above cannot be quoted.
  if (Deno.build.os === "windows" || path === "/" || path.includes(":")) return null;
  const gitDir = `${path}/.git`;
  try {
    if (!Deno.lstatSync(gitDir).isDirectory) return null;
    if (exists(`${gitDir}/commondir`) || exists(`${gitDir}/objects/info/alternates`)) return null;
    const config = readRegular(`${gitDir}/config`, MAX_CONFIG);
    if (config === null || !isPlainConfig(new TextDecoder().decode(config))) return null;
    if (mayHoldSubmodules(`${gitDir}/index`)) return null;
  } catch {
    return null;
  }
  const above = path.slice(0, path.lastIndexOf("/")) || "/";
  return {
    repo: new Repository(
      {
        askedPath: path,
        topLevel: path,
        gitDir,
        commonDir: gitDir,
        bare: false,
        objectFormat: "sha1",
        config: new GitConfig([]),
        programs: [],
      },
      [],
      signal,
    ),
    env: { GIT_CEILING_DIRECTORIES: above },
  };
}

/**
 * True when a configuration file can neither define a clean filter, include another file, enable an
 * extension of the format, nor move the work tree. Words count wherever they stand, so that no
 * syntax needs to be understood. Exported for tests.
 */
export function isPlainConfig(text: string): boolean {
  if (/filter|include|extensions|worktree/i.test(text)) return false;
  return !/\bbare\b(?!\s*=\s*false\b)/i.test(text);
}

const GITLINK = [0x00, 0x00, 0xe0, 0x00];

/**
 * Whether an index file may hold an entry of a submodule, or keeps entries elsewhere (split or sparse
 * index). Looks for the four bytes of the mode anywhere: it can say yes wrongly, never no.
 * Throws when the file is not a regular one or is over 64 MiB. Exported for tests.
 */
export function mayHoldSubmodules(file: string): boolean {
  if (!exists(file)) return false;
  const bytes = readRegular(file, MAX_INDEX);
  if (bytes === null) throw new Error("the index cannot be read in one piece");
  for (let at = bytes.indexOf(0xe0); at !== -1; at = bytes.indexOf(0xe0, at + 1)) {
    if (GITLINK.every((byte, i) => bytes[at - 2 + i] === byte)) return true;
  }
  return hasExtension(bytes, "link") || hasExtension(bytes, "sdir");
}

/** A signature followed by a size that fits into the file. Names in the index can look like one. */
function hasExtension(bytes: Uint8Array, signature: string): boolean {
  const [a, b, c, d] = [...signature].map((char) => char.charCodeAt(0));
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  for (let at = bytes.indexOf(a!); at !== -1; at = bytes.indexOf(a!, at + 1)) {
    if (bytes[at + 1] !== b || bytes[at + 2] !== c || bytes[at + 3] !== d) continue;
    if (at + 8 <= bytes.length && at + 8 + view.getUint32(at + 4) <= bytes.length) return true;
  }
  return false;
}

/** The whole of a regular file (links are not followed), or null when it is longer than `max` or something else. */
function readRegular(path: string, max: number): Uint8Array | null {
  const info = Deno.lstatSync(path);
  if (!info.isFile || info.size > max) return null;
  return Deno.readFileSync(path);
}

function exists(path: string): boolean {
  try {
    Deno.lstatSync(path);
    return true;
  } catch (error) {
    return !(error instanceof Deno.errors.NotFound);
  }
}

const MAX_TRUSTED = 512;
const trusted = new Map<string, FileStamps>();

/**
 * As {@link plainRepository}, for callers that read files and would run no command in which git could
 * object (another owner, a damaged repository): git is asked once, and again when the folders are
 * others or belong to somebody else. Throws {@link GitError} only for cancellation and deadlines.
 */
export async function acceptedPlainRepository(
  path: string,
  signal?: AbortSignal,
): Promise<Repository | null> {
  const plain = plainRepository(path, signal);
  if (plain === null) return null;
  if (trusted.get(path)?.same()) return plain.repo;
  trusted.delete(path);
  const stamps = new FileStamps([path, plain.repo.facts.gitDir], Date.now());
  const asked = await plain.repo.run(["rev-parse", "--git-dir"], {
    env: plain.env,
    okCodes: "any",
  });
  if (asked.code !== 0) return null;
  trusted.set(path, stamps);
  if (trusted.size > MAX_TRUSTED) trusted.delete(trusted.keys().next().value!);
  return plain.repo;
}
