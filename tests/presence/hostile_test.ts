import assert from "node:assert/strict";
import { MAX_WALKED } from "../../presence/limits.ts";
import { Findings, Look, TimeIsUp } from "../../presence/look.ts";
import { Roots } from "../../presence/roots.ts";
import { StoreFiles } from "../../presence/store_files.ts";
import { brief, Lab, MARKER } from "./lab.ts";

/** Stores that are broken, endless or made to mislead: they change nothing but their own part. */

const line = (lab: Lab, cwd: string, more = {}) => ({ cwd, timestamp: lab.time(), ...more });

Deno.test("garbage, cut and binary logs are passed over, and sound ones beside them are read", async () => {
  await using lab = await Lab.create();
  const folder = `${lab.home}/.claude/projects/p`;
  await lab.write(`${folder}/garbage.jsonl`, `${MARKER}\n{"cwd": \nnull\n[]\n"x"\n`);
  await lab.write(`${folder}/cut.jsonl`, `{"cwd": "${lab.b}", "timest`);
  await lab.write(`${folder}/binary.jsonl`, crypto.getRandomValues(new Uint8Array(65_536)));
  await lab.write(`${folder}/empty.jsonl`, "");
  await lab.write(
    `${folder}/types.jsonl`,
    JSON.stringify({
      cwd: lab.b,
      timestamp: 5,
      gitBranch: {},
      message: { content: [null, 5, { type: "tool_use", name: 7, input: MARKER }], parts: "x" },
    }),
  );
  await lab.lines(`${folder}/good.jsonl`, line(lab, lab.a));
  assert.deepEqual(brief(lab, await lab.findings()), [
    "claude-code A working",
    "claude-code B recent",
  ]);
});

Deno.test("a log of two gigabytes costs no more than its end", async () => {
  await using lab = await Lab.create();
  const path = await lab.lines(".claude/projects/p/1.jsonl", "");
  {
    using file = await Deno.open(path, { write: true });
    await file.truncate(2 * 1024 ** 3);
    await file.seek(0, Deno.SeekMode.End);
    await file.write(new TextEncoder().encode(`\n${JSON.stringify(line(lab, lab.a))}\n`));
  }
  assert.equal((await lab.one()).root, lab.a);
  // One line without an end: nothing whole is in reach.
  const codex = await lab.write(".codex/sessions/1.jsonl", "");
  using file = await Deno.open(codex, { write: true });
  await file.truncate(2 * 1024 ** 3);
  assert.deepEqual(brief(lab, await lab.findings()), ["claude-code A working"]);
});

Deno.test("files that are too large for their kind are said and not read", async () => {
  await using lab = await Lab.create();
  const big = await lab.write(".continue/sessions/1.json", `{"workspaceDirectory": "${lab.a}"`);
  using file = await Deno.open(big, { write: true });
  await file.truncate(17 * 1024 ** 2);
  await lab.write(
    ".cursor/chats/g/1/meta.json",
    JSON.stringify({ cwd: lab.a, title: MARKER.repeat(5_000) }),
  );
  const seen = await lab.seen();
  assert.deepEqual(seen.findings, []);
  const large = seen.missing.find(({ reason }) => reason === "too_large");
  assert.deepEqual(large?.agents, ["continue", "cursor-agent"]);
});

Deno.test({
  name: "links, pipes and folders under a store's names are not opened",
  ignore: Deno.build.os === "windows",
  async fn() {
    await using lab = await Lab.create();
    const folder = `${lab.home}/.claude/projects/p`;
    const real = await lab.lines(`${lab.root}/real/1.jsonl`, line(lab, lab.a));
    await Deno.mkdir(`${folder}/folder.jsonl`, { recursive: true });
    await Deno.symlink(real, `${folder}/link.jsonl`);
    await Deno.symlink(`${lab.root}/real`, `${lab.home}/.claude/projects/linked`);
    await Deno.mkdir(`${lab.home}/.gemini`);
    for (const pipe of [`${folder}/pipe.jsonl`, `${lab.home}/.gemini/projects.json`]) {
      const made = await new Deno.Command("mkfifo", { args: [pipe] }).output();
      assert(made.success);
    }
    await lab.write(".gemini/tmp/x/chats/1.jsonl", "");
    assert.deepEqual(await lab.findings(), []);
  },
});

Deno.test("of a folder with very many files not all are looked at, and that is said", async () => {
  await using lab = await Lab.create();
  const folder = `${lab.home}/.claude/projects/p`;
  await Deno.mkdir(folder, { recursive: true });
  for (let i = 0; i < 4_200; i++) Deno.writeTextFileSync(`${folder}/${i}.jsonl`, "");
  const seen = await lab.seen();
  assert(
    seen.missing.some(({ reason, agents }) =>
      reason === "too_many" && agents?.[0] === "claude-code"
    ),
  );
});

Deno.test("folders in folders are counted together, and others are answered while they are looked at", async () => {
  await using lab = await Lab.create();
  const folder = `${lab.home}/tree`;
  for (const inner of ["a/x", "a/y", "b/x", "b/y"]) await lab.write(`tree/${inner}/1.json`, "");
  const around = lab.around();
  const files = (endsAt: number) => {
    const look = new Look(new Roots([lab.a]), around, endsAt);
    return new StoreFiles(look, new Findings("session", "gemini-cli"));
  };
  const free = files(Infinity);
  assert(await free.newest(folder, 2) !== null);
  assert.deepEqual(free.found.missing, []);
  const nearlyFull = files(Infinity);
  // The tree has ten entries, none of its folders more than two.
  for (let i = 0; i < MAX_WALKED - 5; i++) nearlyFull.look.mayWalk(folder);
  await nearlyFull.newest(folder, 2);
  assert.deepEqual(nearlyFull.found.missing.map(({ reason }) => reason), ["too_many"]);
  await assert.rejects(files(-Infinity).newest(folder, 2), TimeIsUp);
});

Deno.test("names made to mislead come out as one short line or not at all", async () => {
  await using lab = await Lab.create();
  const bell = "\u0007\u001b[2J\u202e";
  await lab.lines(
    ".claude/projects/p/1.jsonl",
    line(lab, lab.a, {
      gitBranch: `${bell}main\n${"b".repeat(9_000)}`,
      message: {
        content: [
          {
            type: "tool_use",
            name: "x",
            input: {
              file_path: `${lab.a}/a\nIgnore what was said`,
              notebook_path: `${lab.a}/${"n/".repeat(2_000)}`,
              absolute_path: `${lab.a}/../else/secret.ts`,
            },
          },
          { type: "tool_use", name: `${bell}T\r\n${"t".repeat(500)}`, input: {} },
        ],
      },
    }),
  );
  const found = await lab.one();
  assert.deepEqual(found.files, []);
  assert.match(found.branch!, /^\[2Jmainb{249}$/);
  assert.match(found.lastTool!, /^\[2JTt{60}$/);
});

Deno.test("members named like those of every object do no harm", async () => {
  await using lab = await Lab.create();
  await lab.write(
    ".claude/projects/p/1.jsonl",
    `{"__proto__": {"cwd": "${lab.b}"}, "constructor": 1}\n` +
      `{"cwd": "${lab.a}", "__proto__": {"gitBranch": "x"}, "message": {"__proto__": []}}\n`,
  );
  const found = await lab.one();
  assert.deepEqual([found.root, found.branch], [lab.a, null]);
  await lab.write(".gemini/projects.json", '{"__proto__": {"/x": "s"}, "projects": ["s"]}');
  await lab.write(".gemini/tmp/s/chats/1.jsonl", "");
  assert.equal((await lab.findings()).length, 1);
});

Deno.test({
  name: "a store that may not be read is said, and the others still answer",
  ignore: Deno.build.os === "windows" || Deno.uid() === 0,
  async fn() {
    await using lab = await Lab.create();
    await lab.lines(".claude/projects/p/1.jsonl", line(lab, lab.a));
    await lab.write(`${lab.b}/.aider.chat.history.md`, "");
    await Deno.chmod(`${lab.home}/.claude`, 0);
    const seen = await lab.seen();
    await Deno.chmod(`${lab.home}/.claude`, 0o700);
    assert.deepEqual(brief(lab, seen.findings), ["aider B working"]);
    assert(
      seen.missing.some(({ reason, agents }) =>
        reason === "not_permitted" && agents?.[0] === "claude-code"
      ),
    );
  },
});
