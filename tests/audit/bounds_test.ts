import assert from "node:assert/strict";
import { Place } from "./support.ts";

const ROOT = new URL("../../", import.meta.url).pathname;

Deno.test("verifying takes the same memory whatever the length of the ledger", async () => {
  await using place = await Place.create();
  const archive = `${place.root}/archive`;
  // Some 16 files of 4 MiB.
  await place.fill(2_200, { bytes: 30_000, config: { archive } });
  const script = place.write(
    "measure.ts",
    `import { verifyLedger } from ${JSON.stringify(`${ROOT}audit/mod.ts`)};
     const sizes = [];
     const report = await verifyLedger(${JSON.stringify(place.ledger)}, {
       archive: ${JSON.stringify(archive)},
       afterFile: () => void sizes.push(Deno.memoryUsage().rss),
     });
     console.log(JSON.stringify({ ok: report.ok, sizes }));`,
  );
  const output = await new Deno.Command(Deno.execPath(), {
    args: ["run", "-q", "-A", "--no-lock", script],
  }).output();
  const { ok, sizes } = JSON.parse(new TextDecoder().decode(output.stdout)) as {
    ok: boolean;
    sizes: number[];
  };
  assert.equal(ok, true);
  assert.ok(sizes.length >= 15, `${sizes.length} files`);
  const [early, late] = [Math.max(...sizes.slice(0, 4)), Math.max(...sizes.slice(4))];
  // Garbage that is not collected yet may stand for a few files, not for forty megabytes of them.
  assert.ok(late - early < 24_000_000, `from ${early} to ${late}`);
});

Deno.test("the examples in the documentation of audit/ run", async () => {
  const output = await new Deno.Command(Deno.execPath(), {
    args: ["test", "-A", "-q", "--no-check", "--doc", `${ROOT}audit/`],
    cwd: ROOT,
    env: { NO_COLOR: "1" },
  }).output();
  const text = new TextDecoder().decode(output.stdout) + new TextDecoder().decode(output.stderr);
  assert.equal(output.code, 0, text);
  const ran = Number(/(\d+) passed \| 0 failed/.exec(text)?.[1]);
  assert.ok(ran >= 10, text);
});
