import assert from "node:assert/strict";
import { quietSsh, withoutCredentials } from "../../../gateway/server/executor/shared/remote.ts";
import { Refusal } from "../../../gateway/server/refusal.ts";
import { openRepository } from "../../../git/repository.ts";
import { GatewayLab, hook } from "../harness.ts";

/** A repository with a bare remote that has its first commit; one more is only here. */
async function withRemote(
  lab: GatewayLab,
): Promise<{ path: string; remote: string; first: string; second: string }> {
  const { box } = lab;
  const remote = await box.repo("remote.git", "--bare");
  const path = await box.repo();
  const first = await box.commit(path, "First", { "a.txt": "a\n" });
  await box.git(path, "remote", "add", "origin", remote);
  await box.git(path, "push", "-q", "origin", "main");
  const second = await box.commit(path, "Second", { "a.txt": "b\n" });
  return { path, remote, first, second };
}

const tip = async (lab: GatewayLab, repo: string, ref = "refs/heads/main") =>
  (await lab.box.tryGit(repo, ["rev-parse", "--verify", "-q", ref])).stdout.trim();

/** Somebody else pushes a commit to the remote. */
async function somebodyElse(lab: GatewayLab, remote: string): Promise<string> {
  const { box } = lab;
  const clone = `${box.root}/clone-${crypto.randomUUID()}`;
  await box.git(box.root, "clone", "-q", remote, clone);
  const oid = await box.commit(clone, "Theirs", { "theirs.txt": "t\n" });
  await box.git(clone, "push", "-q", "origin", "main");
  return oid;
}

Deno.test("a push sends the commit of the card, by default the checked-out branch to origin", async () => {
  await using lab = await GatewayLab.create();
  const { path, remote, first, second } = await withRemote(lab);
  const card = await lab.show(path, "push", {});
  assert.equal(card.risk, "medium");
  assert.equal(card.words, null);
  assert.deepEqual(card.effect!.refs, [{
    ref: "origin refs/heads/main",
    before: first,
    after: second,
  }]);
  assert.equal(card.effect!.details["url"], remote);
  assert.deepEqual(card.effect!.commits.map(({ oid, fate }) => [oid, fate]), [[second, "pushed"]]);
  assert(card.warnings.some(({ code }) => code === "not_undoable"));
  const record = await lab.approve(card);
  assert.equal(record.status, "completed", JSON.stringify(record.result));
  assert.equal(record.result!["pushedRef"], "refs/heads/main");
  assert.equal(record.result!["remote"], "origin");
  assert.equal(await tip(lab, remote), second);
  assert.equal(record.result!["restorePoint"], undefined);
});

Deno.test("a new branch is pushed with its upstream when that is asked for", async () => {
  await using lab = await GatewayLab.create();
  const { path, remote } = await withRemote(lab);
  await lab.box.git(path, "branch", "topic/one");
  const before = await lab.state(path);
  const record = await lab.run(path, "push", { branch: "topic/one", setUpstream: true });
  assert.equal(record.status, "completed", JSON.stringify(record.result));
  assert.equal(record.result!["upstreamSet"], true);
  assert.equal(
    (await lab.box.git(path, "rev-parse", "--symbolic-full-name", "topic/one@{upstream}")).trim(),
    "refs/remotes/origin/topic/one",
  );
  assert.equal(await tip(lab, remote, "refs/heads/topic/one"), await tip(lab, path));
  const after = await lab.state(path);
  assert.deepEqual(after.files, before.files);
  assert.deepEqual(after.index, before.index);
});

Deno.test("a branch that lacks commits of the remote is refused, as of the last fetch or by the remote itself", async () => {
  await using lab = await GatewayLab.create();
  const { path, remote } = await withRemote(lab);
  const theirs = await somebodyElse(lab, remote);
  const before = await lab.state(path);
  // Not fetched yet: the card cannot know, the remote does.
  const record = await lab.run(path, "push", {});
  assert.equal(record.status, "failed");
  assert.match(String(record.result!["message"]), /nothing was pushed/);
  assert.equal(await tip(lab, remote), theirs);
  assert.deepEqual(await lab.state(path), before);
  await lab.box.git(path, "fetch", "-q");
  assert.deepEqual(await lab.refused(path, "push", {}), ["not_fast_forward"]);
});

Deno.test("force needs typed words, overwrites only what the card names, and says so", async () => {
  await using lab = await GatewayLab.create();
  const { box } = lab;
  const { path, remote, first } = await withRemote(lab);
  await box.git(path, "push", "-q", "origin", "main");
  await box.git(path, "commit", "-q", "--amend", "-m", "Second, better");
  const card = await lab.show(path, "push", { forceWithLease: true });
  assert.equal(card.risk, "high");
  assert.equal(card.words, "force push main");
  assert.equal(card.effect!.details["overwrittenCommits"], 1);
  assert.deepEqual(card.effect!.commits.map(({ subject, fate }) => [subject, fate]), [
    ["Second", "overwritten"],
    ["Second, better", "pushed"],
  ]);
  await assert.rejects(() => lab.approve(card, { words: "push" }), Refusal);
  const record = await lab.approve(card);
  assert.equal(record.status, "completed", JSON.stringify(record.result));
  assert.equal(await tip(lab, remote), await tip(lab, path));
  assert.equal((await box.git(remote, "log", "-1", "--format=%P", "main")).trim(), first);
});

Deno.test("a lease names the id of the card: a fetch in the background cannot widen it", async () => {
  await using lab = await GatewayLab.create();
  const { box } = lab;
  const { path, remote } = await withRemote(lab);
  await box.git(path, "push", "-q", "origin", "main");
  await box.git(path, "commit", "-q", "--amend", "-m", "Second, better");

  // The control: after a fetch that nobody looked at, plain --force-with-lease loses their commit.
  const copy = `${box.root}/control`, copyRemote = `${box.root}/control.git`;
  await box.git(box.root, "clone", "-q", "--bare", remote, copyRemote);
  await box.git(box.root, "clone", "-q", copyRemote, copy);
  await box.git(copy, "commit", "-q", "--amend", "-m", "Second, better");
  const lost = await somebodyElse(lab, copyRemote);
  await box.git(copy, "fetch", "-q");
  await box.git(copy, "push", "-q", "--force-with-lease", "origin", "main");
  assert.equal(
    (await box.tryGit(copyRemote, ["merge-base", "--is-ancestor", lost, "main"])).code,
    1,
  );

  // Fetched between card and approval: the card is stale.
  const card = await lab.show(path, "push", { forceWithLease: true });
  const theirs = await somebodyElse(lab, remote);
  await box.git(path, "fetch", "-q");
  await assert.rejects(
    () => lab.approve(card),
    (error) => error instanceof Refusal && error.code === "card_changed",
  );
  assert.equal(await tip(lab, remote), theirs);

  // Fetched at the last moment, inside the push itself: the id on the card decides.
  await box.git(path, "update-ref", "refs/remotes/origin/main", "HEAD@{1}");
  const again = await lab.show(path, "push", { forceWithLease: true });
  await hook(
    path,
    "pre-push",
    `git fetch -q origin; git update-ref refs/remotes/origin/main ${theirs}`,
  );
  const hooked = await lab.card(again.previewId);
  const record = await lab.approve(hooked);
  assert.equal(record.status, "failed");
  assert.match(String(record.result!["message"]), /stale info|rejected/);
  assert(!String(record.result!["message"]).includes("\\u0009"), "tabs are no escapes");
  assert.equal(await tip(lab, remote), theirs);
});

Deno.test("a remote must be a configured name: no URL, option or helper in its place", async () => {
  await using lab = await GatewayLab.create();
  const { box } = lab;
  const { path, remote } = await withRemote(lab);
  const evil = await box.evil();
  for (
    const bad of [
      remote,
      `file://${remote}`,
      `ext::sh -c ${evil.script}`,
      "https://example.org/x.git",
      "nowhere",
      "..",
      "origin2",
    ]
  ) {
    assert.deepEqual(await lab.refused(path, "push", { remote: bad }), ["unknown_remote"], bad);
  }
  for (const bad of [`--receive-pack=${evil.script}`, "-u", "--mirror", "or\nigin"]) {
    await assert.rejects(() => lab.propose(path, "push", { remote: bad }), Refusal, bad);
  }
  assert.deepEqual(await lab.refused(path, "push", { branch: "+main" }), ["unknown_ref"]);
  assert.equal(await evil.ran(), false);
  // The control: plain git runs the program that such a word names.
  await box.tryGit(path, ["push", `--receive-pack=${evil.script}`, remote, "main"]);
  assert.equal(await evil.ran(), true);
});

Deno.test("what the repository's own configuration does with a remote is refused or shown", async () => {
  await using lab = await GatewayLab.create();
  const { box } = lab;
  const { path, remote } = await withRemote(lab);
  const evil = await box.evil();
  await box.git(path, "config", "protocol.ext.allow", "always");
  const cases: [key: string, value: string, code: string][] = [
    ["remote.evil.url", `ext::sh -c ${evil.script}`, "program_remote"],
    ["remote.evil.url", `helper::${remote}`, "program_remote"],
    ["remote.evil.receivepack", evil.script, "program_remote"],
    ["remote.evil.vcs", "evil", "program_remote"],
    ["remote.evil.proxy", "http://127.0.0.1:1", "program_remote"],
    ["remote.evil.mirror", "true", "mirror_remote"],
  ];
  for (const [key, value, code] of cases) {
    await box.git(path, "config", "remote.evil.url", remote);
    await box.git(path, "config", key, value);
    const codes = await lab.refused(path, "push", { remote: "evil" });
    assert(codes.includes(code), `${key}: ${codes}`);
    await box.git(path, "config", "--remove-section", "remote.evil");
  }
  // Rewritten into a helper behind the scenes.
  await box.git(path, "config", `url.ext::sh -c ${evil.script} .insteadOf`, "short:");
  await box.git(path, "config", "remote.evil.url", "short:x");
  assert.deepEqual(await lab.refused(path, "push", { remote: "evil" }), ["program_remote"]);
  await box.git(path, "config", "remote.evil.url", remote);

  await box.git(path, "config", "core.sshCommand", `${evil.script} secretly`);
  const card = await lab.show(path, "push", {});
  const warning = card.warnings.find(({ code }) => code === "repository_programs")!;
  assert.match(warning.message, /core\.sshcommand = .*evil\.sh secretly/);
  await box.git(path, "config", "core.sshCommand", `${evil.script} otherwise`);
  await assert.rejects(() => lab.approve(card), Refusal);
  assert.equal(await evil.ran(), false);
  // The control: the repository's own settings are enough for plain git to run it.
  await box.tryGit(path, ["push", `ext::sh -c ${evil.script}`, "main"]);
  assert.equal(await evil.ran(), true);
});

Deno.test("the URL on the card is the one that git really uses, without its password", async () => {
  await using lab = await GatewayLab.create();
  const { box } = lab;
  const { path } = await withRemote(lab);
  await box.git(path, "config", "remote.origin.url", "work:x.git");
  await Deno.writeTextFile(
    `${box.home}/.gitconfig`,
    `${await Deno.readTextFile(
      `${box.home}/.gitconfig`,
    )}[url "https://me:hunter2@example.org/"]\n\tinsteadOf = work:\n`,
  );
  const card = await lab.show(path, "push", {});
  assert.equal(card.effect!.details["url"], "https://…@example.org/x.git");
  assert(!JSON.stringify(card).includes("hunter2"));
  assert.equal(
    withoutCredentials("ssh://git@host/x and https://a:b@c/"),
    "ssh://…@host/x and https://…@c/",
  );
});

Deno.test("a push from a detached HEAD needs a branch, and an unknown branch is refused", async () => {
  await using lab = await GatewayLab.create();
  const { path } = await withRemote(lab);
  assert.deepEqual(await lab.refused(path, "push", { branch: "nowhere" }), ["unknown_ref"]);
  await lab.box.git(path, "switch", "-q", "--detach");
  assert.deepEqual(await lab.refused(path, "push", {}), ["detached"]);
  assert.equal((await lab.run(path, "push", { branch: "main" })).status, "completed");
});

Deno.test("tags, submodules and other refs do not ride along, whatever the settings say", async () => {
  await using lab = await GatewayLab.create();
  const { box } = lab;
  const { path, remote } = await withRemote(lab);
  await box.git(path, "tag", "-a", "-m", "A tag", "v1");
  await box.git(path, "branch", "other");
  for (
    const [key, value] of [
      ["push.followTags", "true"],
      ["push.default", "matching"],
      ["push.recurseSubmodules", "on-demand"],
      ["remote.origin.push", "refs/heads/*:refs/heads/*"],
    ] as const
  ) await box.git(path, "config", key, value);
  await lab.done(path, "push", {});
  assert.deepEqual(
    (await box.git(remote, "for-each-ref", "--format=%(refname)")).split("\n").filter(Boolean),
    ["refs/heads/main"],
  );
});

Deno.test("a pre-push hook runs and can refuse; its secrets do not reach the agent", async () => {
  await using lab = await GatewayLab.create();
  const { path, remote, first } = await withRemote(lab);
  await hook(
    path,
    "pre-push",
    `echo "not on fridays, password=hunter2 https://me:hunter2@example.org/" >&2; exit 1`,
  );
  const before = await lab.state(path);
  const record = await lab.run(path, "push", {});
  assert.equal(record.status, "failed");
  assert.match(String(record.result!["message"]), /not on fridays/);
  assert(!JSON.stringify(lab.status(record.previewId)).includes("hunter2"));
  assert.equal(await tip(lab, remote), first);
  assert.deepEqual(await lab.state(path), before);
});

Deno.test("a remote that asks for a password ends the push at once: nobody is asked", async () => {
  await using lab = await GatewayLab.create();
  const { path } = await withRemote(lab);
  const server = Deno.serve(
    { hostname: "127.0.0.1", port: 0, onListen() {} },
    () =>
      new Response("who are you?", {
        status: 401,
        headers: { "www-authenticate": 'Basic realm="test"' },
      }),
  );
  try {
    await lab.box.git(
      path,
      "config",
      "remote.origin.url",
      `http://127.0.0.1:${server.addr.port}/x.git`,
    );
    const record = await lab.run(path, "push", { branch: "main" });
    assert.equal(record.status, "failed");
    assert.match(String(record.result!["message"]), /terminal prompts disabled|remote-http/);
  } finally {
    await server.shutdown();
  }
});

Deno.test("ssh never asks at the gateway's terminal", async () => {
  await using lab = await GatewayLab.create();
  const { box } = lab;
  const path = await box.repo();
  const env = async () => quietSsh(await openRepository(path))["GIT_SSH_COMMAND"];
  assert.equal(await env(), "ssh -o BatchMode=yes");
  await box.git(path, "config", "core.sshCommand", "'/opt/my ssh/ssh' -i key");
  assert.equal(await env(), "'/opt/my ssh/ssh' -i key -o BatchMode=yes");
  await box.git(path, "config", "core.sshCommand", "my-wrapper");
  assert.equal(await env(), undefined);

  // The command really used is the one with the option: it is told what git hands over.
  const seen = `${box.root}/seen`;
  await Deno.mkdir(`${box.root}/bin`);
  await Deno.writeTextFile(`${box.root}/bin/ssh`, `#!/bin/sh\necho "$@" >> '${seen}'\nexit 1\n`, {
    mode: 0o755,
  });
  await box.commit(path, "First", { "a.txt": "a\n" });
  await box.git(path, "config", "core.sshCommand", `${box.root}/bin/ssh`);
  await box.git(path, "remote", "add", "origin", "git@host.invalid:x.git");
  assert.equal((await lab.run(path, "push", {})).status, "failed");
  assert.match(await Deno.readTextFile(seen), /-o BatchMode=yes .*git@host\.invalid/);
});
