import assert from "node:assert/strict";
import { Lab } from "./lab.ts";

/** A card speaks of the repository that its path names, and of no other. */

Deno.test("a link put in the place of the repository leads nobody to another one", async () => {
  await using lab = await Lab.create();
  const id = await lab.proposed();
  const person = await lab.person();
  const { digest } = await person.card(id);
  await Deno.rename(lab.repo, `${lab.repo}-other`);
  await Deno.symlink(`${lab.repo}-other`, lab.repo);
  const card = await person.card(id);
  assert.equal(card.digest, null);
  assert.match(card.blockers[0].message, /leads to another place/);
  const refused = await person.post(`proposals/${id}/approve`, { digest });
  assert.equal(refused.status, 409);
  assert.equal(lab.operation.executed.length, 0);
  // The control: the real folder back in its place can be approved.
  await Deno.remove(lab.repo);
  await Deno.rename(`${lab.repo}-other`, lab.repo);
  const again = await person.post(`proposals/${id}/approve`, {
    digest: (await person.card(id)).digest,
  });
  assert.equal(again.body.status, "completed", JSON.stringify(again.body));
});

Deno.test("a card says whose branches would change when the git directory lies elsewhere", async () => {
  await using lab = await Lab.create();
  const root = await Deno.realPath(lab.box.root);
  await Deno.mkdir(`${root}/trap`);
  await Deno.writeTextFile(`${root}/trap/.git`, `gitdir: ${root}/repo/.git\n`);
  const person = await lab.person();
  const said = async (repoPath: string) => {
    const card = await person.card(await lab.proposed("commit", { repoPath }));
    return card.warnings.filter((note: { code: string }) => note.code === "git_directory_elsewhere")
      .map((note: { message: string }) => note.message);
  };
  assert.deepEqual(await said(`${root}/trap`), [
    `branches and commits are those of ${root}/repo/.git`,
  ]);
  assert.deepEqual(await said(lab.repo), []);
});
