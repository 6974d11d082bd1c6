import assert from "node:assert/strict";
import { copyDatabase } from "../../common/writer/database_copy.ts";
import type { NoProcesses, ProcessReader, ProcessRow } from "../../presence/process_table.ts";
import { Scan, type Seen } from "../../presence/scan.ts";
import type { Surroundings } from "../../presence/surroundings.ts";
import type { Finding } from "../../presence/types.ts";

/** A word that stands in every message-like field of the fixtures and may never come out. */
export const MARKER = "xyzzy-marker-word";

/** An agent's home with three repositories A, B, C, each with a folder `src`. */
export class Lab implements AsyncDisposable {
  readonly a: string;
  readonly b: string;
  readonly c: string;
  /** A folder outside all of them. */
  readonly elsewhere: string;
  readonly home: string;
  readonly runDir: string;
  readonly now = Date.now();

  private constructor(readonly root: string) {
    this.a = `${root}/A`;
    this.b = `${root}/B`;
    this.c = `${root}/C`;
    this.elsewhere = `${root}/else`;
    this.home = `${root}/home`;
    this.runDir = `${root}/run`;
  }

  static async create(): Promise<Lab> {
    const lab = new Lab(await Deno.realPath(await Deno.makeTempDir({ prefix: "fluxgit-lab-" })));
    for (const path of [lab.a, lab.b, lab.c]) {
      await Deno.mkdir(`${path}/src`, { recursive: true });
    }
    for (const path of [lab.elsewhere, lab.home, lab.runDir]) await Deno.mkdir(path);
    return lab;
  }

  /** RFC 3339, so many milliseconds ago. */
  time(agoMs = 0): string {
    return new Date(this.now - agoMs).toISOString();
  }

  /** Writes a file, making folders; JSON for anything that is no text. */
  async write(path: string, content: unknown): Promise<string> {
    const full = path.startsWith("/") ? path : `${this.home}/${path}`;
    await Deno.mkdir(full.slice(0, full.lastIndexOf("/")), { recursive: true });
    if (content instanceof Uint8Array) await Deno.writeFile(full, content);
    else {
      await Deno.writeTextFile(
        full,
        typeof content === "string" ? content : JSON.stringify(content),
      );
    }
    return full;
  }

  /** One JSON object a line. */
  lines(path: string, ...objects: unknown[]): Promise<string> {
    return this.write(
      path,
      objects.map((one) => typeof one === "string" ? one : JSON.stringify(one)).join("\n") + "\n",
    );
  }

  /** Sets a time back by 20 minutes, or another time. */
  async age(path: string, ms = 20 * 60_000): Promise<void> {
    const at = new Date(this.now - ms);
    await Deno.utime(path, at, at);
  }

  around(options: LabOptions = {}): Surroundings {
    return {
      os: options.os ?? "linux",
      env: (name) => name === "HOME" && !options.noHome ? this.home : options.env?.[name],
      now: () => this.now,
      runDir: options.runDir === undefined ? this.runDir : options.runDir,
      ownPid: options.ownPid ?? 999_999,
      parentPid: options.parentPid ?? 999_998,
      processes: options.processes ?? noProcesses("not_permitted"),
      copyDatabase: async (path) => {
        const folder = await Deno.makeTempDir({ dir: this.root });
        return {
          path: await copyDatabase(path, folder),
          done: () => Deno.removeSync(folder, { recursive: true }),
        };
      },
    };
  }

  async seen(options: LabOptions = {}): Promise<Seen> {
    const scan = new Scan(
      options.roots ?? [this.a, this.b, this.c],
      this.around(options),
      options.limitMs ?? 30_000,
    );
    await scan.done;
    const seen = scan.seen();
    assert(!JSON.stringify(seen.findings).includes(MARKER), "text of a store came out");
    assert(!JSON.stringify(seen.missing).includes(MARKER), "text of a store came out");
    return seen;
  }

  async findings(options: LabOptions = {}): Promise<readonly Finding[]> {
    return (await this.seen(options)).findings;
  }

  /** The one finding; fails when there are none or more. */
  async one(options: LabOptions = {}): Promise<Finding> {
    const found = await this.findings(options);
    assert.equal(found.length, 1, JSON.stringify(found));
    return found[0]!;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await Deno.remove(this.root, { recursive: true });
  }
}

export interface LabOptions {
  readonly roots?: readonly string[];
  readonly os?: typeof Deno.build.os;
  readonly env?: Record<string, string>;
  readonly noHome?: boolean;
  readonly runDir?: string | null;
  readonly ownPid?: number;
  readonly parentPid?: number;
  readonly processes?: ProcessReader;
  readonly limitMs?: number;
}

export function noProcesses(reason: NoProcesses["reason"]): ProcessReader {
  const answer = () => Promise.resolve({ reason, message: "not in this test" });
  return { table: answer, directories: answer };
}

/** A made-up process list: `[pid, parent, name, command, age in seconds or null, directory]`. */
export function processList(
  now: number,
  ...rows: readonly [number, number, string, string, number | null, string?][]
): ProcessReader {
  const table = new Map<number, ProcessRow>(rows.map(([pid, parent, name, command, age]) => [
    pid,
    { pid, parent, name, command, startedMs: age === null ? null : now - age * 1_000 },
  ]));
  return {
    table: () => Promise.resolve({ table }),
    directories: (pids) =>
      Promise.resolve({
        directories: new Map(rows.flatMap((row) =>
          row[5] !== undefined && pids.includes(row[0]) ? [[row[0], row[5]]] : []
        )),
      }),
  };
}

/** `[agent, root's last letter, state]` of each finding, sorted. */
export function brief(lab: Lab, findings: readonly Finding[]): string[] {
  return findings.map(({ agent, root, state }) =>
    `${agent} ${root.slice(lab.root.length + 1)} ${state}`
  ).sort();
}
