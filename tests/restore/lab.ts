import assert from "node:assert/strict";
import { openRepository, type Repository } from "../../git/repository.ts";
import {
  applyRestore,
  createRestorePoint,
  finishRestorePoint,
  type PointRequest,
  previewRestore,
  readList,
  redo,
  registerRepository,
  type RestorePoint,
  type RestorePreview,
  type RestoreRequest,
  type RestoreResult,
  undo,
  withRepositoryLock,
  type WriteContext,
} from "../../restore/mod.ts";
import { Sandbox, useSandbox } from "../fixtures/sandbox.ts";

/** A sandbox with a run directory, and the steps of the gateway around a repository in it. */
export class Lab implements AsyncDisposable {
  readonly log: string[] = [];
  /** Bounds of the list for the calls that follow. */
  bounds: WriteContext["bounds"] = {};
  /** Moves with every call, so that ids and times differ. */
  #now = 1_790_000_000_000;

  private constructor(readonly box: Sandbox, readonly runDir: string) {}

  static async create(): Promise<Lab> {
    const box = await Sandbox.create();
    useSandbox(box);
    return new Lab(box, `${box.root}/run`);
  }

  now = (): number => (this.#now += 1_000);
  advance(ms: number): void {
    this.#now += ms;
  }

  async locked<T>(
    path: string,
    work: (repo: Repository, context: WriteContext) => Promise<T>,
  ): Promise<T> {
    const repo = await openRepository(path);
    const repoId = await registerRepository(this.runDir, path);
    return await withRepositoryLock(repo.facts.commonDir, (lock) =>
      work(repo, {
        runDir: this.runDir,
        repoId,
        lock,
        now: this.now,
        bounds: this.bounds ?? {},
        log: (line) => void this.log.push(line),
      }));
  }

  point(path: string, request: Partial<PointRequest> = {}): Promise<RestorePoint> {
    return this.locked(path, (repo, context) =>
      createRestorePoint(repo, context, {
        operation: "merge",
        previewId: "p-1",
        agentId: "test-agent",
        ...request,
      }));
  }

  async finish(
    path: string,
    point: RestorePoint,
    outcome: "completed" | "failed" = "completed",
  ): Promise<RestorePoint> {
    const done = await this.locked(
      path,
      (repo, context) => finishRestorePoint(repo, context, point.id, outcome),
    );
    assert(done);
    return done;
  }

  preview(path: string, point: RestorePoint | string): Promise<RestorePreview> {
    const id = typeof point === "string" ? point : point.id;
    return this.locked(path, (repo, context) => previewRestore(repo, context, id));
  }

  apply(
    path: string,
    point: RestorePoint | string,
    more: Partial<RestoreRequest> = {},
  ): Promise<RestoreResult> {
    const pointId = typeof point === "string" ? point : point.id;
    return this.locked(path, (repo, context) => applyRestore(repo, context, { pointId, ...more }));
  }

  undo(path: string): Promise<RestoreResult> {
    return this.locked(path, (repo, context) => undo(repo, context));
  }

  redo(path: string): Promise<RestoreResult> {
    return this.locked(path, (repo, context) => redo(repo, context));
  }

  async points(path: string): Promise<readonly RestorePoint[]> {
    const repoId = await registerRepository(this.runDir, path);
    const state = await readList(this.runDir, repoId, path);
    assert.equal(state.kind, "ok", JSON.stringify(state));
    return state.kind === "ok" ? state.list.points : [];
  }

  /**
   * Everything that a restore brings back, as text to compare: each file of the work tree with kind,
   * permission bits and content; the index byte for byte; HEAD, every ref, the stash with its messages;
   * the files of an operation in progress.
   */
  async state(path: string): Promise<Record<string, unknown>> {
    const gitDir = (await this.box.git(path, "rev-parse", "--absolute-git-dir")).trim();
    const bare = (await this.box.git(path, "rev-parse", "--is-bare-repository")).trim() === "true";
    const head = await this.box.tryGit(path, ["symbolic-ref", "-q", "HEAD"]);
    const oid = await this.box.tryGit(path, ["rev-parse", "--verify", "-q", "HEAD"]);
    const inProgress: Record<string, string> = {};
    for (
      const name of [
        "MERGE_HEAD",
        "MERGE_MSG",
        "MERGE_MODE",
        "CHERRY_PICK_HEAD",
        "REVERT_HEAD",
        "ORIG_HEAD",
        "BISECT_LOG",
        "rebase-merge",
        "rebase-apply",
        "sequencer",
      ]
    ) {
      for (const [file, text] of await hashes(`${gitDir}/${name}`)) {
        inProgress[name + file] = text;
      }
    }
    return {
      files: bare ? [] : await workTree(path),
      index: await hashOf(`${gitDir}/index`),
      head: [head.stdout.trim(), oid.stdout.trim()],
      refs: (await this.box.git(
        path,
        "for-each-ref",
        "--format=%(refname) %(objectname) %(symref)",
      )).split("\n"),
      stash: bare ? [] : (await this.box.git(path, "stash", "list", "--format=%H %gs")).split("\n"),
      inProgress,
    };
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.box[Symbol.asyncDispose]();
  }
}

async function workTree(top: string): Promise<string[]> {
  const lines: string[] = [];
  const walk = async (folder: string): Promise<void> => {
    for await (const entry of Deno.readDir(`${top}/${folder}`)) {
      if (entry.name === ".git") continue;
      const name = folder + entry.name;
      const full = `${top}/${name}`;
      const info = await Deno.lstat(full);
      const mode = ((info.mode ?? 0) & 0o7777).toString(8);
      if (entry.isDirectory) {
        await walk(`${name}/`);
      } else if (entry.isSymlink) lines.push(`${name} -> ${await Deno.readLink(full)}`);
      else lines.push(`${name} ${mode} ${await hashOf(full)}`);
    }
  };
  await walk("");
  return lines.sort();
}

async function hashOf(path: string): Promise<string> {
  try {
    const bytes = await Deno.readFile(path);
    return new Uint8Array(await crypto.subtle.digest("SHA-256", bytes)).toHex();
  } catch (error) {
    if (error instanceof Deno.errors.NotFound) return "absent";
    throw error;
  }
}

async function hashes(path: string): Promise<[string, string][]> {
  try {
    const info = await Deno.lstat(path);
    if (!info.isDirectory) return [["", await hashOf(path)]];
  } catch {
    return [];
  }
  const found: [string, string][] = [];
  for await (const entry of Deno.readDir(path)) {
    for (const [name, text] of await hashes(`${path}/${entry.name}`)) {
      found.push([`/${entry.name}${name}`, text]);
    }
  }
  return found.sort();
}

/** Makes a repository with most of what can be told apart: tracked, changed, staged, new, links, modes. */
export async function fullRepository(lab: Lab, ...initArgs: string[]): Promise<string> {
  const { box } = lab;
  const path = await box.repo("repo", ...initArgs);
  await box.commit(path, "First", {
    "a.txt": "one\n",
    "dir/b.txt": "two\n",
    "dir/deep/c.bin": new Uint8Array([0, 1, 2, 255, 254, 13, 10]),
    "run.sh": "#!/bin/sh\n",
    "gone.txt": "will be deleted\n",
    ".gitignore": "*.log\nbuild/\n",
  });
  await Deno.chmod(`${path}/run.sh`, 0o755);
  await Deno.symlink("a.txt", `${path}/link`);
  await Deno.symlink("/nowhere/at/all", `${path}/dangling`);
  await box.commit(path, "Second");
  await box.git(path, "branch", "feature");
  await box.git(path, "tag", "-a", "-m", "A tag", "v1");
  await box.git(path, "tag", "light");
  await box.commit(path, "Third", { "a.txt": "one\nthree\n" });
  await box.git(path, "update-ref", "refs/remotes/origin/main", "HEAD~1");
  await box.git(path, "symbolic-ref", "refs/remotes/origin/HEAD", "refs/remotes/origin/main");
  await box.git(path, "update-ref", "refs/notes/commits", "HEAD");
  // Something of everything that is not committed.
  await box.write(path, {
    "stashed.txt": "first stash\n",
  });
  await box.git(path, "stash", "push", "-q", "-u", "-m", "first");
  await box.write(path, { "a.txt": "stashed change\n" });
  await box.git(path, "stash", "push", "-q", "-m", "second");
  await box.write(path, {
    "a.txt": "one\nstaged\n",
    "dir/new file.txt": "untracked with a blank\n",
    "ünïcode.txt": "names\n",
    "x.log": "ignored\n",
    "build/out": "ignored too\n",
  });
  await box.git(path, "add", "a.txt");
  await box.write(path, { "a.txt": "one\nstaged\nand changed again\n", "dir/b.txt": "changed\n" });
  await Deno.remove(`${path}/gone.txt`);
  await box.write(path, { "intent.txt": "to be added\n" });
  await box.git(path, "add", "-N", "intent.txt");
  await box.write(path, { "secret": "private\n" });
  await Deno.chmod(`${path}/secret`, 0o600);
  await Deno.chmod(`${path}/dir/deep/c.bin`, 0o640);
  return path;
}
