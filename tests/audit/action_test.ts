import assert from "node:assert/strict";
import { serverCommand } from "../e2e/host.ts";
import { readAction, runAction } from "./action_steps.ts";
import { Place, PUBLIC_PEM, SEED } from "./support.ts";

const ROOT = new URL("../../", import.meta.url).pathname;
const action = readAction(`${ROOT}action.yml`);

/** The program under test: `FLUXGIT_TEST_BINARY`, else a script that runs it from source. */
function program(place: Place): string {
  const { command, args } = serverCommand();
  if (args.length === 0) return command;
  const quoted = [command, ...args].map((part) => `'${part}'`).join(" ");
  return place.write("fluxgit-sidecar", `#!/bin/sh\nexec ${quoted} "$@"\n`, 0o700);
}

const ignore = Deno.build.os === "windows";

Deno.test({
  name: "the action passes a good ledger and gives its head",
  ignore,
  fn: async () => {
    await using place = await Place.create(true);
    await place.fill(3, { config: { signSeed: SEED } });
    // As a checkout or an artifact leaves it.
    Deno.chmodSync(place.folder, 0o755);
    Deno.chmodSync(place.ledger, 0o644);
    place.write("key.pub", PUBLIC_PEM);
    const inputs = { binary: program(place), ledger: "audit/mcp.jsonl", pubkey: "key.pub\n\n" };
    const ran = await runAction(action, { ...inputs, "require-signed": "true" }, place.root);
    assert.equal(ran.code, 0, ran.log);
    const newest = JSON.parse(place.lines()[2]!);
    const head = `3:${newest.entryHash.slice(7)}`;
    assert.deepEqual(ran.outputs, { entries: "3", head });
    assert.match(ran.log, /"keyPinned": true/);
    assert.match(ran.summary, /3 entries, newest `3:/);
    assert.match(ran.summary, /head not pinned/);

    // The head of this run pins the next one.
    const cut = place.lines().slice(0, 2);
    const next = await runAction(action, { ...inputs, "expect-head": head }, place.root);
    assert.equal(next.code, 0, next.log);
    place.setLines(cut);
    const found = await runAction(action, { ...inputs, "expect-head": head }, place.root);
    assert.equal(found.code, 3);
    assert.match(found.log, /::error::verify-audit: verification failed: the ledger ends at/);
    assert.deepEqual(found.outputs, { entries: "", head: "" });
  },
});

Deno.test({
  name: "the action takes segments, checkpoints and an archive along",
  ignore,
  fn: async () => {
    await using place = await Place.create(true);
    const archive = `${place.root}/archive`;
    await place.fillFiles(120, 15, { config: { archive } });
    Deno.chmodSync(archive, 0o755);
    const inputs = { binary: program(place), ledger: place.ledger };
    const alone = await runAction(action, inputs, place.root);
    assert.equal(alone.code, 0, alone.log);
    assert.match(alone.log, /"retentionCheckpointUsed": true/);
    const whole = await runAction(action, { ...inputs, archive: "archive" }, place.root);
    assert.equal(whole.code, 0, whole.log);
    assert.equal(whole.outputs.entries, "120");
    Deno.removeSync(place.file(place.segments()[1]!));
    assert.equal((await runAction(action, inputs, place.root)).code, 3);
  },
});

Deno.test({
  name: "the action refuses what it cannot use, and runs nothing that its inputs say",
  ignore,
  fn: async () => {
    await using place = await Place.create(true);
    await place.fill(1);
    const good = { binary: program(place), ledger: place.ledger };
    const cases: [Record<string, string>, RegExp][] = [
      [{ ...good, binary: "" }, /give binary, or version/],
      [{ ...good, binary: "no/such" }, /no program at this path/],
      [{ ...good, binary: "", version: "1.2.3/../../x" }, /give binary, or version/],
      [
        { ...good, binary: "", version: "1.2.3", releases: "file:///no/such" },
        /could not be downloaded/,
      ],
      [
        { ...good, binary: "", version: "1.2.3", releases: "http://127.0.0.1:9" },
        /could not be downloaded/,
      ],
      [{ ...good, ledger: "none" }, /no file at this path/],
      [{ ...good, archive: "none" }, /no folder at this path/],
      [{ ...good, "require-signed": "yes" }, /neither true nor false/],
      [{ ...good, pubkey: "none" }, /--pubkey none/],
      [{ ...good, "expect-head": "1" }, /not SEQ:HASH/],
      [{ ...good, ledger: "$(touch injected)" }, /no file at this path/],
      [{ ...good, pubkey: '"; touch injected; "' }, /--pubkey/],
      [{ ...good, "expect-head": "`touch injected`" }, /not SEQ:HASH/],
    ];
    for (const [inputs, reason] of cases) {
      const ran = await runAction(action, inputs, place.root);
      assert.equal(ran.code, 2, ran.log);
      assert.match(ran.log, reason);
    }
    assert.equal([...Deno.readDirSync(place.root)].some(({ name }) => name === "injected"), false);
  },
});

Deno.test({
  name: "the action downloads a version and runs it only when its checksum fits",
  ignore,
  fn: async () => {
    await using place = await Place.create(true);
    await place.fill(2);
    const { arch, os } = Deno.build;
    const target = `${arch}-${os === "darwin" ? "apple-darwin" : "unknown-linux-gnu"}`;
    const name = `fluxgit-sidecar-${target}`;
    const folder = `${place.root}/releases/v9.9.9`;
    Deno.mkdirSync(folder, { recursive: true });
    Deno.copyFileSync(program(place), `${folder}/${name}`);
    const digest = new Uint8Array(
      await crypto.subtle.digest("SHA-256", Deno.readFileSync(`${folder}/${name}`)),
    ).toHex();
    const inputs = {
      ledger: place.ledger,
      version: "9.9.9",
      releases: `file://${place.root}/releases`,
    };
    Deno.writeTextFileSync(`${folder}/SHA256SUMS`, `${digest}  ${name}\n`);
    const ran = await runAction(action, inputs, place.root);
    assert.equal(ran.code, 0, ran.log);
    assert.equal(ran.outputs.entries, "2");
    Deno.writeTextFileSync(`${folder}/SHA256SUMS`, `${digest.replace(/./, "z")}  ${name}\n`);
    const wrong = await runAction(action, inputs, place.root);
    assert.equal(wrong.code, 2);
    assert.match(wrong.log, /does not match its SHA256SUMS/);
  },
});
