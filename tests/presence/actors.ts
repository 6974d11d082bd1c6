/** Programs that sleep under the names of agents. */
export class Actors implements AsyncDisposable {
  readonly #children: Deno.ChildProcess[] = [];
  constructor(readonly folder: string) {}

  /** Starts `sleep` under a name; gives its pid once it runs. */
  async sleep(name: string, cwd: string): Promise<number> {
    return (await this.#start(name, "/bin/sleep", ["600"], cwd)).pid;
  }

  /** Starts a shell under a name, with a child that sleeps in another folder. */
  async withChild(name: string, cwd: string, childCwd: string): Promise<number> {
    const script = `cd "$1" && { sleep 600 & } && cd / && echo ready && read line; kill $!`;
    const child = await this.#start(name, "/bin/sh", ["-c", script, "sh", childCwd], cwd);
    const reader = child.stdout.getReader();
    await reader.read();
    reader.releaseLock();
    return child.pid;
  }

  async #start(name: string, program: string, args: string[], cwd: string) {
    const path = `${this.folder}/${name}`;
    await Deno.mkdir(this.folder, { recursive: true });
    await Deno.copyFile(await Deno.realPath(program), path);
    await Deno.chmod(path, 0o755);
    const child = new Deno.Command(path, {
      args,
      cwd,
      stdin: "piped",
      stdout: "piped",
      stderr: "null",
    }).spawn();
    this.#children.push(child);
    return child;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    for (const child of this.#children) {
      await child.stdin.close().catch(() => {});
      try {
        child.kill("SIGTERM");
      } catch { /* it has ended */ }
      await child.stdout.cancel().catch(() => {});
      await child.status;
    }
  }
}
