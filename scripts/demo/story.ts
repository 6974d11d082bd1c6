/**
 * The sample repository of the demo and of the token comparison: a shop whose feature branch has
 * moved apart from its upstream, will conflict with main, and was left with a stash and a dirty tree.
 *
 * Alone: `deno run -A scripts/demo/story.ts FOLDER` builds it in FOLDER, the same bytes every time.
 */

import { Builder } from "../lib/git.ts";

/** Where the parts of the story are. */
export interface Story {
  /** The work tree. */
  readonly repo: string;
  /** The bare repository that `origin` names. */
  readonly origin: string;
}

/** Unix time of the first commit. */
const START = 1_788_000_000;

/** Builds the story below `folder`, which must be empty. Throws when git fails. */
export async function buildStory(folder: string): Promise<Story> {
  const repo = `${folder}/shop`, origin = `${folder}/origin.git`;
  const build = new Builder(START);
  await Deno.mkdir(repo, { recursive: true });
  await build.git(folder, "init", "-q", "--bare", "-b", "main", origin);
  await build.git(repo, "init", "-q", "-b", "main");
  await build.git(repo, "remote", "add", "origin", "../origin.git");
  await mainLine(build, repo);
  await sideBranches(build, repo);
  await feature(build, repo);
  await build.git(repo, "push", "-q", "origin", "main", "release/1.2", "docs/readme", "--tags");
  await build.git(repo, "branch", "-q", "--set-upstream-to=origin/main", "main");
  await unfinishedWork(build, repo);
  return { repo, origin };
}

const price = (tax: string, discount: string) =>
  `import { round } from "./money.ts";

/** Price of a line of the cart, in cents. */
export function price(cents: number, count: number): number {
  const net = cents * count;
  return round(net ${tax});
}

/** What a voucher takes off, in cents. */
export function discount(cents: number): number {
  return ${discount};
}
`;

async function mainLine(build: Builder, repo: string): Promise<void> {
  await build.commit(repo, "Start the shop", {
    "README.md": "# Shop\n",
    "src/money.ts": "export const round = (cents: number) => Math.round(cents);\n",
    ".github/CODEOWNERS": "* @shop/core\n/src/ @shop/checkout\n",
  });
  await build.commit(repo, "Compute prices of cart lines", { "src/price.ts": price("", "0") });
  const small = [
    ["Add a cart that keeps its lines", "src/cart.ts", "export const cart: string[] = [];\n"],
    ["Read the catalogue from a file", "src/catalogue.ts", "export const items = [];\n"],
    ["Show prices with two decimals", "src/view.ts", "export const show = String;\n"],
    ["Test rounding of half cents", "tests/money_test.ts", "// halves go up\n"],
    ["Keep vouchers in their own table", "src/voucher.ts", "export const vouchers = {};\n"],
    ["Log slow catalogue reads", "src/log.ts", "export const log = () => {};\n"],
  ] as const;
  for (const [message, path, text] of small) await build.commit(repo, message, { [path]: text });
  await build.git(repo, "tag", "-a", "v1.1.0", "-m", "Version 1.1.0");
  await build.commit(repo, "Prepare the next release", { "VERSION": "1.2.0\n" });
  await build.git(repo, "tag", "-a", "v1.2.0", "-m", "Version 1.2.0");
}

async function sideBranches(build: Builder, repo: string): Promise<void> {
  await build.git(repo, "branch", "release/1.2");
  for (const [name, path] of [["docs/readme", "README.md"], ["fix/log-noise", "src/log.ts"]]) {
    await build.git(repo, "switch", "-q", "-c", name!);
    await build.commit(repo, `Work on ${name}`, { [path!]: `changed by ${name}\n` });
    await build.git(repo, "switch", "-q", "main");
  }
}

/** A branch that lost touch: pushed, then both it and its upstream went on. */
async function feature(build: Builder, repo: string): Promise<void> {
  await build.git(repo, "switch", "-q", "-c", "feature/checkout");
  await build.commit(repo, "Charge value added tax", { "src/price.ts": price("* 1.19", "0") });
  await build.git(repo, "push", "-q", "-u", "origin", "feature/checkout");
  await build.commit(repo, "Cover empty carts at checkout", {
    "tests/empty_test.ts": "// empty\n",
  });
  await build.git(repo, "push", "-q", "origin", "feature/checkout");
  await build.git(repo, "reset", "-q", "--hard", "HEAD~1");
  await build.commit(repo, "Round tax once per order", {
    "src/price.ts": price("* 1.19 + 0.5", "0"),
  });
  await build.commit(repo, "Check out with a saved address", {
    "src/address.ts": "export interface Address {\n  street: string;\n}\n",
  });
  await build.git(repo, "switch", "-q", "main");
  await build.commit(repo, "Charge tax by country", {
    "src/price.ts": price("* taxOf(country)", "Math.min(cents, 500)"),
  });
}

async function unfinishedWork(build: Builder, repo: string): Promise<void> {
  await build.git(repo, "switch", "-q", "feature/checkout");
  await build.write(repo, { "src/view.ts": "export const show = (c: number) => `${c} EUR`;\n" });
  build.tick(600);
  await build.git(repo, "stash", "push", "-q", "-m", "Try another currency format");
  await build.write(repo, {
    "src/address.ts": "export interface Address {\n  street: string;\n  city: string;\n}\n",
    "src/cart.ts": "export const cart: string[] = []; // not sorted yet\n",
    "notes.txt": "ask about shipping\n",
  });
  await build.git(repo, "add", "src/address.ts");
}

if (import.meta.main) {
  const [folder] = Deno.args;
  if (folder === undefined) throw new Error("usage: story.ts FOLDER");
  await Deno.mkdir(folder, { recursive: true });
  Deno.stdout.writeSync(new TextEncoder().encode((await buildStory(folder)).repo + "\n"));
}
