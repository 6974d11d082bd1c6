/**
 * What a restore point costs beside the two plain git commands that do less: `git stash create` and
 * `git add -A` into a private index. All in one run and in turn, over a repository of 10,000 files of
 * which 100 are changed or new.
 */

import { readDenoVariable } from "../../git/environment.ts";
import { useVariables } from "../../git/program.ts";
import { openRepository } from "../../git/repository.ts";
import {
  applyRestore,
  createRestorePoint,
  finishRestorePoint,
  registerRepository,
  withRepositoryLock,
  type WriteContext,
} from "../../restore/mod.ts";
import { Builder, plainGit } from "../lib/git.ts";
import { interleave, timed } from "./measure.ts";

/** One measured number; `budget` is its upper limit. */
export interface BenchResult {
  readonly name: string;
  readonly unit: string;
  readonly value: number;
  readonly budget?: number;
}

const FILES = 10_000;
const CHANGES = 100;

/** All cases of restore points. Takes about half a minute. */
export async function benchRestore(rounds = 15): Promise<BenchResult[]> {
  const folder = await Deno.realPath(await Deno.makeTempDir({ prefix: "restore-bench-" }));
  try {
    return await measure(folder, rounds);
  } finally {
    useVariables(readDenoVariable);
    await Deno.remove(folder, { recursive: true });
  }
}

async function measure(folder: string, rounds: number): Promise<BenchResult[]> {
  const home = `${folder}/home`;
  await Deno.mkdir(home);
  await Deno.writeTextFile(
    `${home}/.gitconfig`,
    "[user]\n\tname = Sample Author\n\temail = author@example.org\n",
  );
  const env = { HOME: home, GIT_CONFIG_NOSYSTEM: "1" };
  useVariables((name) =>
    name === "HOME" ? home : name === "PATH" ? Deno.env.get("PATH") : undefined
  );
  const path = await build(`${folder}/repo`);
  const runDir = `${folder}/run`;
  const repoId = await registerRepository(runDir, path);
  let change = 0;
  // Every round works on other content, or the second of two ways would find it stored already.
  const touch = async () => {
    change++;
    for (let i = 0; i < CHANGES; i++) {
      const name = i % 5 === 4 ? `new_${i}.txt` : `area_${i}/file_${i}.txt`;
      await Deno.writeTextFile(`${path}/${name}`, `change ${change} of ${i}\n`);
    }
  };
  const plain = async () => {
    const index = `${folder}/private-${change}.index`;
    const stash = await plainGit(path, ["stash", "create"], env);
    const add = await plainGit(path, ["add", "-A"], { ...env, GIT_INDEX_FILE: index });
    if (stash.code !== 0 || add.code !== 0) throw new Error(stash.stderr + add.stderr);
    await Deno.remove(index);
    return stash.ms + add.ms;
  };
  const locked = async <T>(work: (context: WriteContext) => Promise<T>) => {
    const repo = await openRepository(path);
    return await withRepositoryLock(
      repo.facts.commonDir,
      (lock) => work({ runDir, repoId, lock, now: Date.now }),
    );
  };
  const request = { operation: "merge", previewId: null, agentId: null };
  const point = () =>
    locked(async (context) => {
      const repo = await openRepository(path);
      return await createRestorePoint(repo, context, request);
    });
  await touch();
  const plainFirst = await plain();
  await touch();
  const first = await timed(point);
  const ms = await interleave({
    plain: async () => {
      await touch();
      return await plain();
    },
    point: async () => {
      await touch();
      return await timed(point);
    },
    // Without the work tree to copy, as right after a point: what is left is reading and refs.
    again: () => timed(point),
  }, rounds);
  const made = await point();
  const finish = await timed(() =>
    locked(async (context) =>
      void await finishRestorePoint(await openRepository(path), context, made.id, "completed")
    )
  );
  await touch();
  const apply = await timed(() =>
    locked(async (context) =>
      void await applyRestore(await openRepository(path), context, { pointId: made.id })
    )
  );
  return [
    { name: "git stash create + git add -A into a private index", unit: "ms", value: ms.plain },
    { name: `restore point, ${FILES} files, ${CHANGES} changes`, unit: "ms", value: ms.point },
    {
      name: "restore point to the two commands",
      unit: "ratio",
      value: ms.point / ms.plain,
      budget: 3,
    },
    {
      name: "the first point of a repository to the two commands",
      unit: "ratio",
      value: first / plainFirst,
      budget: 3,
    },
    { name: "restore point, nothing changed since", unit: "ms", value: ms.again },
    { name: "restore point, closing it after the operation", unit: "ms", value: finish },
    { name: `restore, ${CHANGES} files back`, unit: "ms", value: apply },
  ];
}

async function build(path: string): Promise<string> {
  const git = new Builder(1_788_000_000);
  await Deno.mkdir(path, { recursive: true });
  await git.git(path, "init", "-q", "-b", "main");
  for (let i = 0; i < FILES; i++) {
    const folder = `${path}/area_${i % 100}`;
    if (i < 100) await Deno.mkdir(folder);
    Deno.writeTextFileSync(`${folder}/file_${i}.txt`, `file ${i}\nsome more of its content\n`);
  }
  await git.git(path, "add", "-A");
  await git.git(path, "commit", "-q", "-m", "Many files");
  await plainGit(path, ["status", "--short"]);
  return path;
}

if (import.meta.main) {
  for (const { name, unit, value, budget } of await benchRestore()) {
    const limit = budget === undefined ? "" : ` (budget ${budget})`;
    Deno.stdout.writeSync(
      new TextEncoder().encode(`${name}: ${value.toFixed(2)} ${unit}${limit}\n`),
    );
  }
}
