import type { House } from "./house.ts";

/** A repository in which each operation has something real to do, and a proposal of each. */

export interface Scene {
  readonly repo: string;
  /** What the proposal of this operation asks for. */
  readonly members: Record<string, unknown>;
  readonly reason: string;
  /** Shows that it was really carried out. */
  readonly done: () => Promise<boolean>;
}

const GREETING = `export function greet(name: string): string {
  return "Hello, " + name + "!";
}

export function farewell(name: string): string {
  return "Goodbye, " + name + ".";
}
`;

const NEW_GREETING = `export function greet(name: string, polite = false): string {
  return polite ? "Good day, " + name + "." : "Hello, " + name + "!";
}

export function farewell(name: string): string {
  return "Goodbye, " + name + ".";
}
`;

type Maker = (house: House, repo: string) => Promise<Scene>;

/** A scene for an operation, in a repository of its own. */
export async function scene(house: House, type: string, name: string = type): Promise<Scene> {
  const make = MAKERS[type];
  if (!make) throw new Error(`no scene for ${type}`);
  const { sandbox } = house;
  const repo = await sandbox.repo(name);
  await sandbox.commit(repo, "Start the greeter", {
    "README.md": "# Greeter\n\nSays hello.\n",
    "src/greet.ts": GREETING,
    ".gitignore": "build/\n",
  });
  await sandbox.commit(repo, "Say how to build it", {
    "README.md": "# Greeter\n\nSays hello.\n\nBuild it with `make`.\n",
    Makefile: "all:\n\techo built\n",
  });
  await sandbox.write(repo, { "build/out.o": "x" });
  return await make(house, repo);
}

const MAKERS: Readonly<Record<string, Maker>> = {
  async merge({ sandbox }, repo) {
    await sandbox.git(repo, "switch", "-q", "-c", "feature/polite");
    await sandbox.commit(repo, "Greet politely when asked", { "src/greet.ts": NEW_GREETING });
    await sandbox.commit(repo, "Test polite greetings", {
      "tests/greet_test.ts": 'test("polite", () => greet("you", true));\n',
    });
    await sandbox.git(repo, "switch", "-q", "main");
    const before = await sandbox.commit(repo, "Mention the licence", { LICENSE: "Apache-2.0\n" });
    return {
      repo,
      members: { sourceRef: "feature/polite", targetRef: "main", strategy: "merge" },
      reason:
        "The polite greeting is reviewed and its tests pass. Merge it so that work on the command line can build on it.",
      done: async () => {
        const parents = (await sandbox.git(repo, "rev-list", "--parents", "-1", "main")).trim();
        return parents.split(" ").length === 3 && parents.includes(before);
      },
    };
  },
  async rebase({ sandbox }, repo) {
    await sandbox.git(repo, "switch", "-q", "-c", "topic");
    await sandbox.commit(repo, "Add a shouting mode", { "src/shout.ts": "export {};\n" });
    await sandbox.commit(repo, "Shout louder", { "src/shout.ts": "export const LOUD = 11;\n" });
    await sandbox.git(repo, "switch", "-q", "main");
    const onto = await sandbox.commit(repo, "Move main on", { CHANGES: "1.1\n" });
    await sandbox.git(repo, "switch", "-q", "topic");
    return {
      repo,
      members: { currentRef: "topic", ontoRef: "main", interactive: false },
      reason: "Bring the topic branch up to date before review.",
      done: async () =>
        (await sandbox.tryGit(repo, ["merge-base", "--is-ancestor", onto, "topic"])).code === 0,
    };
  },
  async discard({ sandbox }, repo) {
    await sandbox.write(repo, {
      "src/greet.ts": NEW_GREETING,
      "notes/idea.txt": "An idea that nobody wrote down elsewhere.\n",
    });
    return {
      repo,
      members: { paths: ["src/greet.ts", "notes/idea.txt"] },
      reason: "The experiment did not work out; go back to what is committed.",
      done: async () => (await sandbox.git(repo, "status", "--porcelain")) === "",
    };
  },
  async reset({ sandbox }, repo) {
    const target = (await sandbox.git(repo, "rev-parse", "HEAD~1")).trim();
    await sandbox.write(repo, { "src/greet.ts": NEW_GREETING });
    return {
      repo,
      members: { targetRef: "HEAD~1", mode: "hard" },
      reason: "The last commit belongs on another branch.",
      done: async () => (await sandbox.git(repo, "rev-parse", "HEAD")).trim() === target,
    };
  },
  async patch({ sandbox }, repo) {
    await sandbox.write(repo, { "src/greet.ts": NEW_GREETING });
    const patchContent = await sandbox.git(repo, "diff");
    await sandbox.git(repo, "checkout", "-q", "--", ".");
    return {
      repo,
      members: { patchContent, applyToIndex: false },
      reason: "Adds the polite form that was asked for.",
      done: async () => (await Deno.readTextFile(`${repo}/src/greet.ts`)).includes("polite"),
    };
  },
  async plan({ sandbox }, repo) {
    await sandbox.git(repo, "switch", "-q", "-c", "feature/polite");
    await sandbox.commit(repo, "Greet politely when asked", { "src/greet.ts": NEW_GREETING });
    await sandbox.git(repo, "switch", "-q", "main");
    await sandbox.write(repo, { "README.md": "# Greeter\n\nscratch\n" });
    return {
      repo,
      members: {
        steps: [
          { operationType: "discard", paths: ["README.md"] },
          {
            operationType: "merge",
            sourceRef: "feature/polite",
            targetRef: "main",
            strategy: "merge",
          },
        ],
      },
      reason: "Clean up, then take the feature in.",
      done: async () => (await Deno.readTextFile(`${repo}/src/greet.ts`)).includes("polite"),
    };
  },
  worktree({ sandbox }, repo) {
    return Promise.resolve({
      repo,
      members: { branch: "review" },
      reason: "A separate place to review without touching your files.",
      done: async () => (await sandbox.git(repo, "worktree", "list")).includes("review"),
    });
  },
  async commit({ sandbox }, repo) {
    await sandbox.write(repo, {
      "src/greet.ts": NEW_GREETING,
      "tests/greet_test.ts": 'test("polite", () => greet("you", true));\n',
      "docs/notes.md": "Not part of it.\n",
    });
    return {
      repo,
      members: {
        message: "Greet politely when asked\n\nThe second argument turns the polite form on.",
        paths: ["src/greet.ts", "tests/greet_test.ts"],
        stageAll: false,
      },
      reason: "The feature and its test belong in one commit.",
      done: async () =>
        (await sandbox.git(repo, "log", "-1", "--format=%s")).trim() ===
          "Greet politely when asked",
    };
  },
  async push({ sandbox }, repo) {
    await sandbox.git(sandbox.root, "init", "-q", "--bare", `${repo}-remote.git`);
    await sandbox.git(repo, "remote", "add", "origin", `${repo}-remote.git`);
    await sandbox.commit(repo, "A first try", { "try.txt": "one\n" });
    await sandbox.git(repo, "push", "-q", "origin", "main");
    await sandbox.git(repo, "reset", "-q", "--hard", "HEAD~1");
    const tip = await sandbox.commit(repo, "A better try", { "try.txt": "two\n" });
    return {
      repo,
      members: { remote: "origin", branch: "main", setUpstream: false, forceWithLease: true },
      reason: "The first try was pushed by mistake and should be replaced.",
      done: async () =>
        (await sandbox.git(`${repo}-remote.git`, "rev-parse", "main")).trim() === tip,
    };
  },
  branch({ sandbox }, repo) {
    return Promise.resolve({
      repo,
      members: { name: "feature/louder", startPoint: "HEAD", checkout: true },
      reason: "A branch of its own for the next piece of work.",
      done: async () =>
        (await sandbox.git(repo, "branch", "--show-current")).trim() === "feature/louder",
    });
  },
  async branchDelete({ sandbox }, repo) {
    await sandbox.git(repo, "branch", "done-1");
    await sandbox.git(repo, "branch", "done-2", "HEAD~1");
    await sandbox.git(repo, "switch", "-q", "-c", "unfinished");
    await sandbox.commit(repo, "Half of something", { "half.txt": "half\n" });
    await sandbox.git(repo, "switch", "-q", "main");
    return {
      repo,
      members: {
        targets: [{ repoPath: repo, branches: ["done-1", "done-2", "unfinished", "main"] }],
      },
      reason: "These branches look finished.",
      done: async () => {
        const left = await sandbox.git(repo, "branch", "--format=%(refname:short)");
        return !left.includes("done-") && left.includes("unfinished");
      },
    };
  },
  async submodulePointer({ sandbox }, repo) {
    const library = await sandbox.repo(`${repo.split("/").at(-1)}-library`);
    await sandbox.commit(library, "Library, first", { "lib.ts": "export const A = 1;\n" });
    await sandbox.git(
      repo,
      "-c",
      "protocol.file.allow=always",
      "submodule",
      "--quiet",
      "add",
      library,
      "vendor/lib",
    );
    await sandbox.commit(repo, "Use the library");
    await sandbox.commit(`${repo}/vendor/lib`, "Library, second", {
      "lib.ts": "export const A = 2;\n",
    });
    const tip = (await sandbox.git(`${repo}/vendor/lib`, "rev-parse", "HEAD")).trim();
    return {
      repo,
      members: {
        parentPath: "",
        relativePath: "vendor/lib",
        direction: "record",
        message: "Take the library's second version",
      },
      reason: "The library's new version has the fix that we need.",
      done: async () => (await sandbox.git(repo, "ls-tree", "HEAD", "vendor/lib")).includes(tip),
    };
  },
};

/** All operations that have a scene. */
export const SCENES: readonly string[] = Object.keys(MAKERS);
