import assert from "node:assert/strict";
import { Refusal } from "../../../gateway/server/refusal.ts";
import { GatewayLab } from "../harness.ts";

/** Filters and merge drivers run on approval as hooks do: they are shown and bound to the card. */

Deno.test("a filter of the repository's own configuration is named on the card, and another one makes it stale", async () => {
  await using lab = await GatewayLab.create();
  const path = await lab.box.repo();
  await lab.box.commit(path, "First", { ".gitattributes": "*.bin filter=f\n", "a.bin": "a\n" });
  const ran = (name: string) => Deno.stat(`${lab.box.root}/${name}`).then(() => true, () => false);
  const program = (name: string) => `touch '${lab.box.root}/${name}'; cat`;
  await lab.box.git(path, "config", "filter.f.clean", program("first"));
  await lab.box.write(path, { "a.bin": "changed\n" });
  const card = await lab.show(path, "commit", { message: "m", stageAll: true });
  const note = card.warnings.find(({ code }) => code === "repository_programs");
  assert.match(note!.message, /filter\.f\.clean = touch/);
  assert.equal(await ran("first"), false, "looking runs nothing");
  await lab.box.git(path, "config", "filter.f.clean", program("second"));
  await assert.rejects(
    () => lab.approve(card),
    (error) => error instanceof Refusal && error.code === "card_changed",
  );
  assert.equal(await ran("second"), false);
  // The control: what is approved runs, as the user's own git would run it.
  const record = await lab.approve(await lab.card(card.previewId));
  assert.equal(record.status, "completed", JSON.stringify(record.result));
  assert.equal(await ran("second"), true);
});

Deno.test("operations that touch no content say nothing of filters; the user's own are bound, not warned of", async () => {
  await using lab = await GatewayLab.create();
  const path = await lab.box.repo();
  await lab.box.commit(path, "First", { "a.txt": "a\n" });
  await lab.box.commit(path, "Second", { "a.txt": "b\n" });
  await lab.box.git(path, "config", "merge.d.driver", "false");
  const codes = async (type: string, members: Record<string, unknown>) =>
    (await lab.show(path, type, members)).warnings.map(({ code }) => code);
  assert(!(await codes("branch", { name: "x", checkout: false })).includes("repository_programs"));
  assert(
    !(await codes("reset", { targetRef: "HEAD~1", mode: "soft" })).includes("repository_programs"),
  );
  assert((await codes("branch", { name: "x" })).includes("repository_programs"));
  assert(
    (await codes("reset", { targetRef: "HEAD~1", mode: "hard" })).includes("repository_programs"),
  );
  await lab.box.git(path, "config", "--unset", "merge.d.driver");
  await lab.box.git(path, "config", "--global", "filter.lfs.clean", "cat");
  assert(
    !(await codes("reset", { targetRef: "HEAD~1", mode: "hard" })).includes("repository_programs"),
  );
});
