import { decodeText, splitNul } from "../../../../common/bytes.ts";
import type { Repository } from "../../../../git/repository.ts";
import { isDotGit } from "../../admission/names.ts";
import type { FileEffect, Note } from "../../types.ts";
import { Arming } from "./arming.ts";
import { deltaResultSize } from "./binary_delta.ts";
import { ancestry, firstArguments } from "./changed.ts";
import { type PatchFile, type PatchText, readPatchText } from "./patch_text.ts";
import { configVariables, wordsOf } from "./run.ts";

/** Settings of `apply.*` must not change what was shown. Never `--unsafe-paths`. */
export const APPLY_FLAGS = ["--whitespace=nowarn", "--no-ignore-whitespace"];

/** Bytes that the binary parts of one patch may make (`security.md` S-33). */
const MAX_BINARY_BYTES = 64 * 1_024 * 1_024;

/** What a patch would do here, as git and own code see it. */
export interface PatchLook {
  readonly files: readonly FileEffect[];
  readonly blockers: readonly Note[];
  readonly warnings: readonly Note[];
  /** Changes what runs later: asks for strong confirmation. */
  readonly arming: boolean;
  /** Where hunks really land, in git's words. */
  readonly places: readonly string[];
}

/** Looks at a patch without touching or running anything of the repository. */
export async function lookAtPatch(
  repo: Repository,
  patch: string,
  toIndex: boolean,
): Promise<PatchLook> {
  const text = readPatchText(patch, deltaResultSize);
  const nothing = { files: [], warnings: [], arming: false, places: [] };
  const early = sizeProblems(text);
  // What is too large is not even given to git.
  if (early.length > 0) return { ...nothing, blockers: early };
  let files: FileEffect[];
  try {
    files = await readFiles(repo, patch, text);
  } catch (error) {
    return {
      ...nothing,
      blockers: [{
        code: "unreadable_patch",
        message: `git cannot read this patch: ${wordsOf(error)}`,
      }],
    };
  }
  const outside = nameProblems(text, files);
  // Such names are not handed to any other command.
  if (outside.length > 0) return { ...nothing, blockers: outside };
  const blockers = await placeProblems(repo, files);
  if (files.length === 0) {
    blockers.push({ code: "empty_patch", message: "the patch changes nothing" });
  }
  const arming = new Arming();
  for (const file of text.files) {
    const path = file.newName ?? file.oldName;
    const before = file.kind === "added" ? undefined : file.oldMode ?? undefined;
    if (path !== null) arming.see(path, file.newMode ?? undefined, before);
  }
  for (const file of files) arming.see(file.path);
  const warnings = [...arming.notes()];
  let places: readonly string[] = [];
  if (blockers.length === 0) {
    const check = await checkPatch(repo, patch, toIndex);
    places = check.places;
    if (check.problem !== null && await isFiltered(repo, files)) {
      warnings.push({
        code: "filter_not_run",
        message:
          `files pass through filters of the repository's own configuration, which are not run before approval; without them git would not apply it: ${check.problem}`,
      });
    } else if (check.problem !== null) {
      blockers.push({
        code: "does_not_apply",
        message: `git would not apply it: ${check.problem}`,
      });
    }
  }
  return { files, blockers, warnings, arming: arming.any, places };
}

function sizeProblems({ binaryBytes, unreadable }: PatchText): Note[] {
  if (unreadable) {
    return [{ code: "unreadable_patch", message: "a binary part of the patch cannot be read" }];
  }
  return binaryBytes <= MAX_BINARY_BYTES ? [] : [{
    code: "patch_too_large",
    message:
      `the binary parts of the patch make ${binaryBytes} bytes; at most ${MAX_BINARY_BYTES} are taken`,
  }];
}

/** Which files git says it touches, with what their headers say of them. */
async function readFiles(
  repo: Repository,
  patch: string,
  text: PatchText,
): Promise<FileEffect[]> {
  const out = await repo.run(["apply", ...APPLY_FLAGS, "--numstat", "-z", "-"], {
    ...quiet(repo),
    stdin: patch,
    maxBytes: 16 * 1_024 * 1_024,
  });
  const headers = new Map<string, PatchFile>();
  for (const file of text.files) {
    const path = file.kind === "deleted" ? file.oldName : file.newName;
    if (path !== null) headers.set(path, file);
  }
  return splitNul(out.stdout).flatMap((field) => {
    const match = /^(\d+|-)\t(\d+|-)\t(.*)$/s.exec(decodeText(field));
    if (!match) return [];
    const [, plus = "-", minus = "-", path = ""] = match;
    return [{
      path,
      added: plus === "-" ? null : Number(plus),
      deleted: minus === "-" ? null : Number(minus),
      ...(plus === "-" ? { binary: true as const } : {}),
      ...described(headers.get(path)),
    }];
  });
}

const LETTERS: Readonly<Record<PatchFile["kind"], string>> = {
  added: "A",
  deleted: "D",
  renamed: "R",
  copied: "C",
  changed: "M",
};

function described(
  header: PatchFile | undefined,
): Pick<FileEffect, "status"> & Partial<FileEffect> {
  if (!header) return { status: "M" };
  const { kind, oldName, oldMode, newMode } = header;
  const notes: Readonly<Record<string, string>> = {
    "120000": "a symbolic link",
    "100755": "executable",
    "160000": "a repository of its own",
  };
  const note = kind === "deleted" ? undefined : notes[newMode ?? ""];
  return {
    status: LETTERS[kind],
    ...((kind === "renamed" || kind === "copied") && oldName !== null ? { origPath: oldName } : {}),
    ...(oldMode !== null && newMode !== null && oldMode !== newMode
      ? { modes: { old: oldMode, new: newMode } }
      : {}),
    ...(note ? { note } : {}),
  };
}

/** Every name in the patch, checked by own code beside git's own checks (`security.md` P-11). */
function nameProblems(text: PatchText, files: readonly FileEffect[]): Note[] {
  const names = new Set([...text.names, ...files.map((file) => file.path)]);
  const bad = [...names].filter((name) =>
    name === "" || name.startsWith("/") || /^[A-Za-z]:/.test(name) ||
    name.split(/[\\/]/).some((part) => part === ".." || isDotGit(part))
  );
  return bad.length === 0 ? [] : [{
    code: "path_outside",
    message: "the patch names paths outside the work tree or inside a git directory",
    paths: bad.slice(0, 50),
  }];
}

/** Places where a restore point could not bring a file back: other repositories, links, ignored files. */
async function placeProblems(repo: Repository, files: readonly FileEffect[]): Promise<Note[]> {
  const top = repo.facts.topLevel;
  if (top === null) return [];
  const paths = files.flatMap((file) => [file.path, ...(file.origPath ? [file.origPath] : [])]);
  const inside: string[] = [], links: string[] = [];
  for (const path of paths) {
    const folders = ancestry(path).slice(1);
    if (folders.some((folder) => look(`${top}/${folder}/.git`) !== null)) inside.push(path);
    else if (folders.some((folder) => look(`${top}/${folder}`)?.isSymlink)) links.push(path);
  }
  const notes: Note[] = [];
  const note = (code: string, message: string, found: readonly string[]) => {
    if (found.length > 0) notes.push({ code, message, paths: found.slice(0, 50) });
  };
  note("inside_other_repository", "the patch reaches into another repository", inside);
  note("beyond_link", "a folder on the way is a symbolic link", links);
  const standing = paths.filter((path) => look(`${top}/${path}`) !== null);
  note(
    "ignored_file",
    "git ignores these files, so no restore point would bring them back: patch them by hand",
    await ignoredAmong(repo, standing),
  );
  return notes;
}

async function ignoredAmong(repo: Repository, paths: readonly string[]): Promise<string[]> {
  const found: string[] = [];
  for (let at = 0; at < paths.length;) {
    const some = firstArguments(paths.slice(at), 1_000);
    const asked = some.length === 0 ? [paths[at]!] : some;
    const out = await repo.run([
      "ls-files",
      "--others",
      "--ignored",
      "--exclude-standard",
      "-z",
      "--",
      ...asked,
    ]);
    found.push(...splitNul(out.stdout).map(decodeText));
    at += asked.length;
  }
  return found;
}

/** Whether it applies, and where hunks really land ("Hunk #1 succeeded at 12 (offset 3 lines)"). */
async function checkPatch(
  repo: Repository,
  patch: string,
  toIndex: boolean,
): Promise<{ problem: string | null; places: string[] }> {
  const index = toIndex ? ["--index"] : [];
  const out = await repo.run(
    ["apply", ...APPLY_FLAGS, "--check", "--verbose", ...index, "-"],
    { ...quiet(repo), stdin: patch, okCodes: "any" },
  );
  const lines = (out.stderr + decodeText(out.stdout)).split("\n").map((line) => line.trim())
    .filter(Boolean);
  const places = lines.filter((line) => /^Hunk #\d+ succeeded/.test(line)).slice(0, 500);
  if (out.code === 0) return { problem: null, places };
  const errors = lines.filter((line) => /^(?:error|fatal):/.test(line)).join("; ");
  return { problem: errors.slice(0, 1_000) || "it does not apply", places };
}

/** True when a filter that was not run could be why it does not apply. */
async function isFiltered(repo: Repository, files: readonly FileEffect[]): Promise<boolean> {
  if (!repo.overrides.some(([key]) => key.startsWith("filter."))) return false;
  const some = firstArguments(files.map((file) => file.path), 500);
  const out = await repo.run(["check-attr", "-z", "filter", "--", ...some]);
  const fields = splitNul(out.stdout).map(decodeText);
  return fields.some((value, i) => i % 3 === 2 && !/^(?:unspecified|unset|set)$/.test(value));
}

/** `git apply` as a look: what the repository names as a program is switched off, as on any read. */
function quiet(repo: Repository) {
  return {
    profile: "approved",
    env: configVariables([
      ...repo.overrides,
      ["core.hooksPath", "/dev/null"],
      ["core.safecrlf", "false"],
    ]),
  } as const;
}

function look(path: string): Deno.FileInfo | null {
  try {
    return Deno.lstatSync(path);
  } catch {
    return null;
  }
}
