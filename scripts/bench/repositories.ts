/** Synthetic repositories to measure on, built fast and the same in every run. */

import { Builder, plainGit } from "../lib/git.ts";

const START = 1_788_000_000;
const encoder = new TextEncoder();

/** A history of `commits` commits over 200 files, with 20 branches; the tree is clean. */
export async function manyCommits(folder: string, commits: number): Promise<string> {
  const stream: string[] = [];
  for (let i = 1; i <= commits; i++) {
    const content = `line ${i}\n`.repeat(1 + i % 20);
    const subject = `Change number ${i}, with a subject of usual length`;
    stream.push(
      `commit refs/heads/main\nmark :${i}\n`,
      `author Sample Author <author@example.org> ${START + i * 600} +0000\n`,
      `committer Sample Author <author@example.org> ${START + i * 600} +0000\n`,
      `data ${subject.length}\n${subject}\n`,
      i > 1 ? `from :${i - 1}\n` : "",
      `M 100644 inline src/part_${i % 10}/file_${i % 200}.ts\n`,
      `data ${content.length}\n${content}\n`,
    );
  }
  for (let i = 0; i < 20; i++) {
    stream.push(`reset refs/heads/topic/${i}\nfrom :${Math.max(1, commits - i * 7)}\n\n`);
  }
  return await imported(folder, stream.join(""));
}

/** A tree of `files` small files in one commit; the tree is clean. */
export async function manyFiles(folder: string, files: number): Promise<string> {
  const stream = [
    "commit refs/heads/main\n",
    `committer Sample Author <author@example.org> ${START} +0000\n`,
    "data 10\nMany files\n",
  ];
  for (let i = 0; i < files; i++) {
    const content = `file ${i}\n`;
    const path = `area_${i % 10}/part_${i % 1_000}/file_${i}.txt`;
    stream.push(`M 100644 inline ${path}\ndata ${content.length}\n${content}\n`);
  }
  return await imported(folder, stream.join(""));
}

async function imported(folder: string, stream: string): Promise<string> {
  const build = new Builder(START);
  await Deno.mkdir(folder, { recursive: true });
  await build.git(folder, "init", "-q", "-b", "main");
  await build.feed(folder, ["fast-import", "--quiet"], encoder.encode(stream));
  await build.git(folder, "reset", "-q", "--hard", "main");
  await settle(folder);
  return await Deno.realPath(folder);
}

/**
 * Ten commits with subjects of 50 characters over `changes` files. With `dirty`, each of them is
 * changed: a third staged, a third not, a third new.
 */
export async function tenCommits(folder: string, changes: number, dirty: boolean): Promise<string> {
  const build = new Builder(START);
  await Deno.mkdir(folder, { recursive: true });
  await build.git(folder, "init", "-q", "-b", "main");
  const path = (i: number) => `src/area_${i % 7}/component_${i}.ts`;
  const tracked = Object.fromEntries(
    Array.from({ length: changes }, (_, i) => i).filter((i) => i % 3 !== 2)
      .map((i) => [path(i), `export const value = ${i};\n`]),
  );
  for (let i = 0; i < 10; i++) {
    const subject = `Improve part ${i} of the sample so that it reads well`.slice(0, 50);
    await build.commit(folder, subject, { "notes.md": `${i}\n`, ...(i === 0 ? tracked : {}) });
  }
  if (dirty) {
    for (let i = 0; i < changes; i++) {
      await build.write(folder, { [path(i)]: `export const value = ${i + 1};\n` });
      if (i % 3 === 0) await build.git(folder, "add", path(i));
    }
  }
  await settle(folder);
  return await Deno.realPath(folder);
}

/** `count` small repositories, every fifth of them with a change. */
export async function manyRepositories(folder: string, count: number): Promise<string[]> {
  const first = await tenCommits(`${folder}/0`, 12, false);
  const paths = [first];
  for (let i = 1; i < count; i++) {
    const path = `${folder}/${i}`;
    await copyTree(first, path);
    if (i % 5 === 0) await Deno.writeTextFile(`${path}/notes.md`, `${i} was here\n`);
    paths.push(path);
  }
  for (const path of paths) await settle(path);
  return paths;
}

/** Lets git write down the times of all files once, as in a repository that somebody works in. */
async function settle(repo: string): Promise<void> {
  const { code, stderr } = await plainGit(repo, ["status", "--short"]);
  if (code !== 0) throw new Error(stderr);
}

async function copyTree(from: string, to: string): Promise<void> {
  await Deno.mkdir(to);
  for await (const entry of Deno.readDir(from)) {
    const [source, target] = [`${from}/${entry.name}`, `${to}/${entry.name}`];
    if (entry.isDirectory) await copyTree(source, target);
    else if (entry.isFile) await Deno.copyFile(source, target);
  }
}
