import { encodeText } from "../common/bytes.ts";
import { makePrivateFolder, readPrivateFile, writePrivateFile } from "../common/private_file.ts";
import { type GitOutput, runGit, type RunOptions, streamGit } from "../git/command.ts";
import type { Repository } from "../git/repository.ts";
import { RestoreError } from "./errors.ts";
import { RESTORE_LIMITS } from "./limits.ts";
import { OWN_FOLDER } from "./lock.ts";

/**
 * The hidden repository that snapshots live in: `fluxgit/restore.git` inside the common git directory.
 * It has its own refs, indexes and configuration and borrows objects from the repository around it.
 * Nothing of it is a ref, an object or a setting of that repository, so `log --all`, pushes, mirrors,
 * clones and gc do not know it (`docs/decisions.md`).
 *
 * Git runs in it with the user's work tree. Its `info/attributes` outranks every other attributes file
 * and switches all conversions off: files go in and out as the bytes that they are, and no filter runs.
 */
export class HiddenRepository {
  readonly path: string;
  readonly objects: string;
  /** Object directory of the repository around it. */
  readonly mainObjects: string;
  readonly #target: { path: string; overrides: readonly (readonly [string, string])[] };

  private constructor(readonly repo: Repository) {
    const { commonDir } = repo.facts;
    this.path = hiddenPath(commonDir);
    this.objects = `${this.path}/objects`;
    this.mainObjects = `${commonDir}/objects`;
    this.#target = { path: repo.facts.topLevel ?? commonDir, overrides: settings(repo) };
  }

  /**
   * Opens it and checks that it is as this program made it; makes it when `create` is set.
   *
   * @returns null when it does not exist and is not to be made
   * @throws {RestoreError} `store_altered`, `cannot_make`
   */
  static open(repo: Repository, options: { create: boolean }): HiddenRepository | null {
    const hidden = new HiddenRepository(repo);
    if (!exists(hidden.path)) {
      if (!options.create) return null;
      try {
        hidden.#make();
      } catch (error) {
        throw new RestoreError(
          "cannot_make",
          `no restore point can be kept in ${JSON.stringify(hidden.path)}: ${
            error instanceof Error ? error.message : error
          }`,
        );
      }
    }
    hidden.#check();
    return hidden;
  }

  /** Name of the private index of this work tree. */
  get workTreeKey(): string {
    const { gitDir, commonDir } = this.repo.facts;
    return gitDir === commonDir ? "main" : `linked-${gitDir.slice(gitDir.lastIndexOf("/") + 1)}`;
  }

  /** Private index of this work tree. */
  get indexPath(): string {
    return `${this.path}/trees/${this.workTreeKey}.index`;
  }

  /** Runs plumbing in the hidden repository, over the user's work tree. Failures as `runGit`. */
  run(args: readonly string[], options: RunOptions = {}): Promise<GitOutput> {
    return runGit(this.#target, args, this.#options(options));
  }

  /**
   * Stores content as blobs, in order, as it is. Goes through files because one process then takes
   * all of it; their names hold no character that could end a line.
   */
  async storeBlobs(contents: readonly Uint8Array[]): Promise<string[]> {
    if (contents.length === 0) return [];
    const name = `tmp/${crypto.randomUUID()}`;
    const folder = `${this.path}/${name}`;
    Deno.mkdirSync(folder, { mode: 0o700 });
    try {
      contents.forEach((content, i) => {
        using file = Deno.openSync(`${folder}/${i}`, { write: true, createNew: true, mode: 0o600 });
        for (let at = 0; at < content.length;) at += file.writeSync(content.subarray(at));
      });
      const out = await runGit(
        { path: this.path, overrides: this.#target.overrides, allowBare: true },
        ["hash-object", "-w", "--no-filters", "--stdin-paths"],
        {
          ...this.#options({}),
          // Without a work tree git stays where it is, and the names are read from there.
          env: { GIT_DIR: this.path },
          stdin: contents.map((_, i) => `${name}/${i}\n`).join(""),
        },
      );
      const oids = new TextDecoder().decode(out.stdout).split("\n").slice(0, -1);
      if (oids.length !== contents.length) throw new Error("git did not store every part");
      return oids;
    } finally {
      Deno.removeSync(folder, { recursive: true });
    }
  }

  /** As {@link run}, with standard output handed over piece by piece. */
  stream(
    args: readonly string[],
    onStdout: (chunk: Uint8Array) => boolean,
    options: RunOptions = {},
  ): Promise<{ code: number; stderr: string; stopped: boolean }> {
    return streamGit(this.#target, args, this.#options(options), onStdout);
  }

  /** Standard output without the last line end. */
  async text(args: readonly string[], options: RunOptions = {}): Promise<string> {
    const { stdout } = await this.run(args, options);
    return new TextDecoder().decode(stdout).replace(/\n$/, "");
  }

  /** Options that let the repository around it find objects here too. */
  lending(options: RunOptions = {}): RunOptions {
    return {
      profile: "store",
      deadlineMs: RESTORE_LIMITS.deadlineMs,
      ...options,
      env: {
        GIT_ALTERNATE_OBJECT_DIRECTORIES: quoteDirectory(this.objects),
        ...options.env,
      },
    };
  }

  #options(options: RunOptions): RunOptions {
    const { topLevel, commonDir } = this.repo.facts;
    return {
      profile: "store",
      signal: this.repo.signal,
      deadlineMs: RESTORE_LIMITS.deadlineMs,
      ...options,
      env: {
        GIT_DIR: this.path,
        GIT_INDEX_FILE: this.indexPath,
        ...(topLevel === null ? {} : { GIT_WORK_TREE: topLevel }),
        // The walk over history must stop where a shallow repository stops.
        ...(exists(`${commonDir}/shallow`) ? { GIT_SHALLOW_FILE: `${commonDir}/shallow` } : {}),
        ...options.env,
      },
    };
  }

  #make(): void {
    const folder = makePrivateFolder(this.repo.facts.commonDir, OWN_FOLDER);
    // Made beside its place and moved there whole: a half-made one would be refused for ever.
    const draft = `${folder}/making-${crypto.randomUUID()}`;
    for (
      const name of [
        "",
        "/objects",
        "/objects/info",
        "/objects/pack",
        "/refs",
        "/info",
        "/trees",
        "/tmp",
      ]
    ) {
      Deno.mkdirSync(draft + name, { mode: 0o700 });
    }
    for (const [name, content] of this.#fixedFiles()) writePrivateFile(`${draft}/${name}`, content);
    try {
      Deno.renameSync(draft, this.path);
    } catch (error) {
      Deno.removeSync(draft, { recursive: true });
      if (!exists(this.path)) throw error;
    }
  }

  /** What must hold before git is run on it: somebody may have written here since. */
  #check(): void {
    const { commonDir } = this.repo.facts;
    const folders = [
      "",
      "/objects",
      "/objects/info",
      "/objects/pack",
      "/refs",
      "/info",
      "/trees",
      "/tmp",
    ];
    for (
      const folder of [
        `${commonDir}/${OWN_FOLDER}`,
        ...folders.map((name) => this.path + name),
      ]
    ) {
      if (!isFolder(folder)) throw altered(`${folder} is not a folder`);
    }
    for (const [name, content] of this.#fixedFiles()) {
      if (!holds(`${this.path}/${name}`, encodeText(content))) {
        throw altered(`${this.path}/${name} is not as it was made`);
      }
    }
    for (const { name } of Deno.readDirSync(this.path)) {
      // What a process left that was killed while it wrote; the lock is ours now.
      if (LEFT_BEHIND.test(name)) Deno.removeSync(`${this.path}/${name}`);
      else if (!KNOWN.has(name)) {
        throw altered(`${this.path}/${name.slice(0, 80)} does not belong there`);
      }
    }
  }

  #fixedFiles(): [name: string, content: string][] {
    const sha256 = this.repo.facts.objectFormat === "sha256";
    return [
      ["HEAD", "ref: refs/heads/none\n"],
      [
        "config",
        `[core]\n\trepositoryformatversion = ${sha256 ? 1 : 0}\n\tbare = true\n` +
        (sha256 ? "[extensions]\n\tobjectFormat = sha256\n" : ""),
      ],
      ["objects/info/alternates", "../../../objects\n"],
      ["info/attributes", "* -text !eol !crlf -ident !filter !working-tree-encoding\n"],
    ];
  }

  /** Brings the repository's own ignore rules over; called before the work tree is looked at. */
  copyExcludes(): void {
    let rules: Uint8Array = new Uint8Array();
    try {
      const path = `${this.repo.facts.commonDir}/info/exclude`;
      if (Deno.statSync(path).size <= 1024 * 1024) rules = Deno.readFileSync(path);
    } catch { /* no such file: no rules */ }
    const own = `${this.path}/info/exclude`;
    const known = readPrivateFile(own, 1024 * 1024);
    if (known === null || !equal(known, rules)) writePrivateFile(own, rules);
  }
}

/** Place of the hidden repository. */
export function hiddenPath(commonDir: string): string {
  return `${commonDir}/${OWN_FOLDER}/restore.git`;
}

const KNOWN = new Set([
  "HEAD",
  "config",
  "objects",
  "refs",
  "packed-refs",
  "info",
  "trees",
  "tmp",
  "state.json",
  "index-lock.json",
]);

const LEFT_BEHIND = /^(?:(?:state|index-lock)\.json\.tmp-[0-9a-f-]{36}|packed-refs\.(?:lock|new))$/;

/** Settings of the work tree's own that change what is seen; everything else is git's default. */
function settings(repo: Repository): (readonly [string, string])[] {
  const windows = Deno.build.os === "windows";
  const copied = [
    "core.ignorecase",
    "core.precomposeunicode",
    "core.longpaths",
    "core.excludesfile",
  ]
    .flatMap((key) => {
      const value = repo.facts.config.get(key);
      return value === undefined ? [] : [[key, value ?? "true"] as const];
    });
  const posix = windows ? [] : [
    ["core.fileMode", "true"],
    ["core.symlinks", "true"],
    // Names that only Windows or macOS would take for `.git` are names like others here.
    ["core.protectNTFS", "false"],
    ["core.protectHFS", Deno.build.os === "darwin" ? "true" : "false"],
  ] as const;
  return [
    ...copied,
    ...posix,
    ["core.attributesFile", windows ? "NUL" : "/dev/null"],
    ["core.autocrlf", "false"],
    ["core.trustctime", "true"],
    ["core.checkStat", "default"],
    ["core.untrackedCache", "false"],
    ["core.splitIndex", "false"],
    ["core.sparseCheckout", "false"],
    ["index.sparse", "false"],
    ["core.logAllRefUpdates", "false"],
    ["core.sharedRepository", "false"],
    // A point must outlive a power cut that the operation after it does not.
    ["core.fsync", "all"],
    ["core.fsyncMethod", "batch"],
    ["pack.writeReverseIndex", "false"],
  ];
}

/** A directory for GIT_ALTERNATE_OBJECT_DIRECTORIES, where a colon separates and quotes protect. */
export function quoteDirectory(path: string): string {
  return /[:"\\\n]/.test(path)
    ? `"${path.replace(/["\\]/g, "\\$&").replaceAll("\n", "\\n")}"`
    : path;
}

function altered(what: string): RestoreError {
  return new RestoreError(
    "store_altered",
    `the restore points were altered by something else (${what}); look at it, then move ${OWN_FOLDER}/restore.git out of the git directory`,
  );
}

function isFolder(path: string): boolean {
  try {
    return Deno.lstatSync(path).isDirectory;
  } catch {
    return false;
  }
}

function exists(path: string): boolean {
  try {
    Deno.lstatSync(path);
    return true;
  } catch {
    return false;
  }
}

/** True for a regular file with exactly this content. */
function holds(path: string, content: Uint8Array): boolean {
  try {
    const found = readPrivateFile(path, 64 * 1024);
    return found !== null && equal(found, content);
  } catch {
    return false;
  }
}

function equal(a: Uint8Array, b: Uint8Array): boolean {
  return a.length === b.length && a.every((byte, i) => byte === b[i]);
}
