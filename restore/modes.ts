import { readPrivateFile } from "../common/private_file.ts";
import { readIndexNeeds } from "../git/index_file.ts";
import type { HiddenRepository } from "./hidden.ts";
import { fromRaw, rawNames, toRaw } from "./raw.ts";

/**
 * Permission bits of files. Git keeps the executable bit alone; the others are kept beside its trees,
 * for files that have neither 0644 nor 0755.
 */

/** Permission bits that git would not bring back; null for the two that it does. */
export function unusualMode(mode: number | null): number | null {
  if (mode === null || Deno.build.os === "windows") return null;
  const bits = mode & 0o7777;
  return bits === 0o644 || bits === 0o755 ? null : bits;
}

/** Bits and names, NUL-terminated. */
export function writeModes(modes: ReadonlyMap<string, number>): Uint8Array<ArrayBuffer> {
  let text = "";
  for (const name of [...modes.keys()].sort()) text += `${modes.get(name)!.toString(8)} ${name}\0`;
  return fromRaw(text);
}

/** Reads what {@link writeModes} wrote. */
export function parseModes(bytes: Uint8Array): Map<string, number> {
  return new Map(
    rawNames(bytes).map((line) => {
      const at = line.indexOf(" ");
      return [line.slice(at + 1), Number.parseInt(line.slice(0, at), 8)] as const;
    }),
  );
}

export function readModes(hidden: HiddenRepository): Map<string, number> | null {
  try {
    const bytes = readPrivateFile(modesPath(hidden), 256 * 1024 * 1024);
    return bytes === null ? null : parseModes(bytes);
  } catch {
    return null;
  }
}

export function modesPath(hidden: HiddenRepository): string {
  return hidden.indexPath.replace(/\.index$/, ".modes");
}

/**
 * Entries of the private index whose files changed about when it was written. Git compares whole
 * seconds, so a change of permission bits within the same one shows in nothing but the bits.
 */
export function changedLately(hidden: HiddenRepository): string[] {
  const bytes = Deno.readFileSync(hidden.indexPath);
  const written = (Deno.statSync(hidden.indexPath).mtime?.getTime() ?? 0) / 1_000;
  const names: string[] = [];
  readIndexNeeds(bytes, hidden.repo.facts.objectFormat === "sha256" ? 32 : 20, (entry) => {
    if (entry.changedSeconds >= written - 2) names.push(toRaw(entry.path));
  });
  return names;
}
