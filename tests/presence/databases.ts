import { DatabaseSync } from "node:sqlite";

/** Makes a database with a table of sessions and closes it; the folder must not exist yet or be there. */
export async function database(path: string, sql: string): Promise<string> {
  await Deno.mkdir(path.slice(0, path.lastIndexOf("/")), { recursive: true });
  const db = new DatabaseSync(path);
  db.exec(sql);
  db.close();
  return path;
}

/** A database that another process has open until it is disposed of. */
export async function heldDatabase(path: string, sql: string): Promise<AsyncDisposable> {
  await Deno.mkdir(path.slice(0, path.lastIndexOf("/")), { recursive: true });
  const child = new Deno.Command(Deno.execPath(), {
    args: ["run", "-q", "-A", new URL("./sqlite_writer.ts", import.meta.url).pathname, path, sql],
    stdin: "piped",
    stdout: "piped",
    stderr: "inherit",
  }).spawn();
  const reader = child.stdout.getReader();
  const { value } = await reader.read();
  if (new TextDecoder().decode(value) !== "ready\n") throw new Error("the writer did not start");
  return {
    async [Symbol.asyncDispose]() {
      await child.stdin.close();
      await reader.cancel();
      await child.status;
    },
  };
}

/** Names and sizes in a folder: what must be the same after a look. */
export async function folderState(folder: string): Promise<string[]> {
  const state: string[] = [];
  for await (const { name } of Deno.readDir(folder)) {
    const info = await Deno.lstat(`${folder}/${name}`);
    // Readers of an open database lock inside its -shm file, which changes that file's time.
    state.push(`${name} ${info.size} ${name.endsWith("-shm") ? "" : info.mtime?.getTime()}`);
  }
  return state.sort();
}

export const quote = (text: string) => `'${text.replaceAll("'", "''")}'`;
