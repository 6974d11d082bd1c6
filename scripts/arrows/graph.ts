/** The import graph, as Deno itself reads it: no parser of our own that could see less. */

import { denoOutput } from "../lib/deno.ts";

/** One import, export-from, dynamic import or type reference. */
export interface Edge {
  /** Path relative to the root, or a specifier such as `node:fs`, `npm:zod@4`. */
  readonly to: string;
  /** `static` code runs when the module is loaded; `type` leaves nothing in the program. */
  readonly kind: "static" | "dynamic" | "type";
  /** Line in the importing file, from 1. */
  readonly line: number;
}

/** Importing file (relative to the root) to what it imports. */
export type Graph = ReadonlyMap<string, readonly Edge[]>;

interface InfoTarget {
  readonly specifier?: string;
  readonly error?: string;
  readonly span?: { readonly start: { readonly line: number } };
}
interface InfoModule {
  readonly specifier: string;
  readonly error?: string;
  readonly dependencies?: readonly {
    readonly specifier: string;
    readonly isDynamic?: boolean;
    readonly code?: InfoTarget;
    readonly type?: InfoTarget;
  }[];
}

/**
 * Reads the graph of `files` below `root`. Throws when Deno cannot read one of them: a graph with a
 * hole would let anything through.
 */
export async function readGraph(root: string, files: readonly string[]): Promise<Graph> {
  const folder = await Deno.makeTempDir({ prefix: "fluxgit-arrows-" });
  try {
    const prefix = new URL(`file://${root}/`).href;
    const all = `${folder}/all.ts`;
    await Deno.writeTextFile(
      all,
      files.map((file) => `import ${JSON.stringify(new URL(file, prefix).href)};\n`).join(""),
    );
    const config = await Deno.stat(`${root}/deno.json`).then(
      () => ["--config", `${root}/deno.json`],
      () => ["--no-config"],
    );
    const out = await denoOutput(["info", "-q", "--json", ...config, all]);
    if (out.code !== 0) throw new Error(`deno info failed: ${out.stderr.trim()}`);
    const info = JSON.parse(out.stdout) as { modules: readonly InfoModule[] };
    return graphOf(info.modules, prefix);
  } finally {
    await Deno.remove(folder, { recursive: true });
  }
}

function graphOf(modules: readonly InfoModule[], prefix: string): Graph {
  const local = (specifier: string) =>
    specifier.startsWith(prefix) ? specifier.slice(prefix.length) : specifier;
  const graph = new Map<string, Edge[]>();
  for (const module of modules) {
    if (!module.specifier.startsWith(prefix)) continue;
    const from = local(module.specifier);
    if (module.error !== undefined) throw new Error(`${from}: ${module.error.split("\n")[0]}`);
    const edges: Edge[] = [];
    for (const dependency of module.dependencies ?? []) {
      const add = (target: InfoTarget | undefined, kind: Edge["kind"]) => {
        if (target === undefined) return;
        if (target.error !== undefined) throw new Error(`${from}: ${target.error}`);
        edges.push({
          to: local(target.specifier ?? dependency.specifier),
          kind,
          line: (target.span?.start.line ?? 0) + 1,
        });
      };
      add(dependency.code, dependency.isDynamic === true ? "dynamic" : "static");
      add(dependency.type, "type");
    }
    graph.set(from, edges);
  }
  return graph;
}
