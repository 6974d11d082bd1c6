import assert from "node:assert/strict";
import { HumanAuth } from "../../../gateway/server/human_auth.ts";
import { normalCode, proveCode } from "../../../gateway/server/pairing_code.ts";
import { Refusal } from "../../../gateway/server/refusal.ts";
import { Throttle } from "../../../gateway/server/throttle.ts";
import { Lab, until } from "./lab.ts";

/** An `auth` whose late answers come when the test says so. */
function makeAuth(attended = true) {
  const waits: { ms: number; end: () => void }[] = [];
  const told: [tries: number, waitMs: number][] = [];
  const clock = { now: 1_000_000 };
  const auth = new HumanAuth(
    () => clock.now,
    attended,
    (tries, waitMs) => told.push([tries, waitMs]),
    (ms) => new Promise((end) => waits.push({ ms, end })),
  );
  return { auth, waits, told, clock };
}

const refusal = (status: number) => (error: unknown) =>
  error instanceof Refusal && error.status === status;

Deno.test("the code is eight base32 characters of good chance, and is read as people type it", () => {
  const codes = Array.from({ length: 200 }, () => makeAuth().auth.code);
  for (const code of codes) assert.match(code, /^[A-Z2-7]{8}$/);
  assert.equal(new Set(codes).size, 200);
  assert.equal(new Set(codes.join("")).size, 32);
  assert.equal(normalCode(" abcd-efgh\t"), "ABCDEFGH");
  assert.equal(normalCode("0180 2345"), "OIBO2345");
});

Deno.test("wrong codes are answered late, one second doubling to thirty, and never void the right one", async () => {
  const { auth, waits, told } = makeAuth();
  const wrong: Promise<void>[] = [];
  for (let i = 0; i < 8; i++) {
    wrong.push(assert.rejects(auth.signIn({ code: "WRONGONE" }, "terminal"), refusal(401)));
  }
  await Promise.resolve();
  assert.deepEqual(waits.map(({ ms }) => ms / 1_000), [1, 2, 4, 8, 16, 30, 30, 30]);
  // While all of them wait, the person who has the code gets in at once.
  const session = await auth.signIn({ code: auth.code }, "terminal");
  assert.equal(auth.session(`Bearer ${session}`).channel, "terminal");
  // Whoever knew the code resets the wait.
  wrong.push(assert.rejects(auth.signIn({ code: "WRONGONE" }, "terminal"), refusal(401)));
  await Promise.resolve();
  assert.equal(waits.at(-1)!.ms, 1_000);
  for (const { end } of waits) end();
  await Promise.all(wrong);
  // The first is told at once, the rest together.
  assert.deepEqual(told[0], [1, 1_000]);
  auth.close();
  assert.equal(told.reduce((sum, [tries]) => sum + tries, 0), 9);
  assert(told.length <= 2);
});

Deno.test("a proof of the code signs in at the address it was made for and nowhere else", async () => {
  const { auth, waits } = makeAuth();
  const authority = "127.0.0.1:4000";
  const typed = auth.code.toLowerCase();
  const good = await proveCode(typed, authority);
  assert.match(good.proof, /^[0-9a-f]{64}$/);
  assert(!JSON.stringify(good).includes(auth.code));
  const session = await auth.signIn({ ...good, authority }, "terminal");
  assert.equal(auth.session(`Bearer ${session}`).channel, "terminal");
  // What a program at another address was given is worth nothing at the gateway's.
  const elsewhere = await proveCode(typed, "127.0.0.1:4001");
  const bad = [
    { ...elsewhere, authority },
    { ...good, salt: elsewhere.salt, authority },
    { ...await proveCode("WRONGONE", authority), authority },
  ];
  for (const given of bad) {
    const refused = assert.rejects(auth.signIn(given, "terminal"), refusal(401));
    await until(() => waits.length > 0, "a late answer");
    waits.pop()!.end();
    await refused;
  }
  assert.notEqual((await proveCode(typed, authority)).proof, good.proof);
});

Deno.test("only a few proofs are worked out at once; the rest is turned away unread", async () => {
  const { auth } = makeAuth();
  const authority = "127.0.0.1:4000";
  const good = { ...await proveCode(auth.code, authority), authority };
  const answers = await Promise.allSettled(
    Array.from({ length: 12 }, () => auth.signIn(good, "terminal")),
  );
  const refused = answers.filter(({ status }) => status === "rejected");
  assert(refused.length >= 1 && refused.length <= 8, String(refused.length));
  for (const one of refused) assert.equal((one as PromiseRejectedResult).reason.status, 429);
});

Deno.test("quiet time forgives: after ten minutes the next wrong code waits a second again", async () => {
  const { auth, waits, clock } = makeAuth();
  const wrong: Promise<void>[] = [];
  const again = () => {
    wrong.push(assert.rejects(auth.signIn({ code: "X" }, "page"), refusal(401)));
  };
  again();
  again();
  clock.now += 10 * 60_000 + 1;
  again();
  await Promise.resolve();
  assert.deepEqual(waits.map(({ ms }) => ms), [1_000, 2_000, 1_000]);
  for (const { end } of waits) end();
  await Promise.all(wrong);
});

Deno.test("a flood of wrong codes is rationed; the link gets the person in all the same", async () => {
  const { auth, waits, told, clock } = makeAuth();
  const answers: Promise<number>[] = [];
  const attempt = (code: string) => {
    const answer = auth.signIn({ code }, "page").then(
      () => 200,
      (error: Refusal) => error.status,
    );
    answers.push(answer);
    return answer;
  };
  for (let i = 0; i < 1_000; i++) void attempt("WRONGONE");
  await Promise.resolve();
  // Sixteen late answers and a ration of ten were looked at; nobody looked at the others.
  assert.equal(waits.length, 16);
  assert.equal(await attempt(auth.code), 429);
  const page = await auth.signIn({ link: auth.link! }, "page");
  assert.equal(auth.session(`Bearer ${page}`).channel, "page");
  // A tenth of a second later one more code is looked at: chance gives the person a turn.
  clock.now += 100;
  assert.equal(await attempt(auth.code), 200);
  for (const { end } of waits) end();
  const all = await Promise.all(answers);
  assert.equal(all.filter((status) => status === 200).length, 1);
  assert.equal(all.filter((status) => status === 401).length, 26);
  // Recorded, but not so often that the flood could push other entries out of the ledger.
  assert.equal(told.length, 1);
  clock.now += 10_000;
  auth.settle();
  assert.equal(told.length, 2);
  assert.equal(told[0]![0] + told[1]![0], 1_001);
});

Deno.test("the end of the gateway lets late answers go", async () => {
  const throttle = new Throttle(() => 0, () => {});
  const late = throttle.wrong();
  throttle.close();
  await late;
});

Deno.test("the link works once; a new one can be made and a new code leaves sessions alone", async () => {
  const { auth, waits } = makeAuth();
  const link = auth.link!;
  assert.match(link, /^[A-Za-z0-9_-]{43}$/);
  const session = await auth.signIn({ link }, "page");
  assert.equal(auth.link, null);
  const again = assert.rejects(auth.signIn({ link }, "page"), refusal(401));
  await until(() => waits.length === 1, "the second use waits");
  waits[0]!.end();
  await again;
  const renewed = auth.renewLink();
  assert.notEqual(renewed, link);
  await auth.signIn({ link: renewed }, "page");
  const old = auth.code;
  const fresh = auth.renewCode();
  assert.notEqual(fresh, old);
  assert.equal(auth.session(`Bearer ${session}`).channel, "page");
  const gone = assert.rejects(auth.signIn({ code: old }, "page"), refusal(401));
  await until(() => waits.length === 2, "the old code waits");
  waits[1]!.end();
  await gone;
  await auth.signIn({ code: fresh }, "page");
});

Deno.test("sessions end by sign-out, by twelve idle hours and never by others signing in", async () => {
  const { auth, clock } = makeAuth();
  const sessions: string[] = [];
  for (let i = 0; i < 64; i++) {
    clock.now += 1;
    sessions.push(await auth.signIn({ code: auth.code }, "terminal"));
  }
  const bearer = (session: string) => `Bearer ${session}`;
  clock.now += 1;
  // The first is used: then the one that was used longest ago makes room.
  auth.session(bearer(sessions[0]!));
  await auth.signIn({ code: auth.code }, "terminal");
  auth.session(bearer(sessions[0]!));
  assert.throws(() => auth.session(bearer(sessions[1]!)), refusal(401));
  auth.signOut(bearer(sessions[0]!));
  assert.throws(() => auth.session(bearer(sessions[0]!)), refusal(401));
  clock.now += 12 * 60 * 60_000;
  assert.throws(() => auth.session(bearer(sessions[63]!)), refusal(401));
});

Deno.test("nothing but a session in the Authorization header opens a route for people", async () => {
  await using lab = await Lab.create();
  const id = await lab.proposed();
  const person = await lab.person();
  const { session } = person;
  const { digest } = await person.card(id);
  const routes: [string, string, unknown][] = [
    ["GET", "/v1/human/proposals", undefined],
    ["GET", `/v1/human/proposals/${id}`, undefined],
    ["POST", `/v1/human/proposals/${id}/approve`, { digest }],
    ["POST", `/v1/human/proposals/${id}/reject`, {}],
    ["POST", `/v1/human/proposals/${id}/reconcile`, { outcome: "completed" }],
    ["GET", "/v1/human/events", undefined],
    ["GET", "/v1/human/ledger", undefined],
    ["GET", `/v1/human/restore?repoPath=${lab.repo}`, undefined],
    ["POST", "/v1/human/restore/undo", { repoPath: lab.repo }],
    ["GET", "/v1/human/nothing", undefined],
  ];
  const keys: Record<string, string>[] = [
    {},
    { authorization: "Bearer" },
    { authorization: `Bearer ${"A".repeat(43)}` },
    { authorization: `Basic ${session}` },
    { authorization: session },
    { authorization: `Bearer ${session}x` },
    { cookie: `session=${session}` },
    { "x-fluxgit-sidecar-secret": "a".repeat(64) },
    { authorization: `Bearer ${lab.gateway.auth.code}` },
    { authorization: `Bearer ${lab.gateway.auth.link}` },
  ];
  for (const [method, path, body] of routes) {
    for (const headers of keys) {
      const answer = await lab.send(method, path, body, headers);
      assert.equal(answer.status, 401, `${method} ${path} ${JSON.stringify(headers)}`);
    }
  }
  assert.equal((await lab.status(id)).body.status, "pending");
  assert.equal(lab.operation.executed.length, 0);
  // The control.
  assert.equal((await person.get("proposals")).status, 200);
});

Deno.test("no answer and no file gives the power to decide: code, link and sessions live in memory alone", async () => {
  await using lab = await Lab.create({ ledger: true });
  const id = await lab.proposed();
  const person = await lab.person();
  await person.approve(id);
  const secrets = [lab.gateway.auth.code, lab.gateway.auth.link!, person.session];
  const answers = await Promise.all([
    lab.send("GET", "/v1/mcp/health"),
    lab.status(id),
    lab.send("GET", "/"),
    person.get("proposals?state=all"),
    person.get(`proposals/${id}`),
    person.get("ledger"),
  ]);
  const texts = answers.map((answer) => JSON.stringify(answer.body));
  await lab.stop();
  const walk = (folder: string): void => {
    for (const entry of Deno.readDirSync(folder)) {
      const path = `${folder}/${entry.name}`;
      if (entry.isDirectory) walk(path);
      else texts.push(new TextDecoder("latin1").decode(Deno.readFileSync(path)));
    }
  };
  walk(lab.runDir);
  assert(texts.some((text) => text.includes(id)), "the files were read");
  for (const secret of secrets) {
    assert(!texts.some((text) => text.includes(secret)), "a secret left the process");
  }
  assert(!lab.logged.some((line) => secrets.some((secret) => line.includes(secret))));
});

Deno.test("a session of another run is refused", async () => {
  await using lab = await Lab.create();
  const before = await lab.person();
  const { code, link } = lab.gateway.auth;
  await lab.restart();
  assert.equal((await before.get("proposals")).status, 401);
  assert.notEqual(lab.gateway.auth.code, code);
  assert.notEqual(lab.gateway.auth.link, link);
});

Deno.test("the session route takes one secret of the right kind", async () => {
  await using lab = await Lab.create();
  const { code, link } = lab.gateway.auth;
  const sign = (body: unknown) => lab.send("POST", "/v1/human/session", body);
  for (
    const body of [
      {},
      { code, link },
      { code: 5 },
      { code, channel: "unattended" },
      { code, x: 1 },
      [],
    ]
  ) assert.equal((await sign(body)).status, 422, JSON.stringify(body));
  assert.equal((await sign({ code: `  ${code.toLowerCase()} ` })).status, 200);
  const { session } = (await sign({ link })).body;
  const out = await lab.send("DELETE", "/v1/human/session", undefined, {
    authorization: `Bearer ${session}`,
  });
  assert.equal(out.status, 200);
  const after = await lab.send("GET", "/v1/human/proposals", undefined, {
    authorization: `Bearer ${session}`,
  });
  assert.equal(after.status, 401);
});

Deno.test("decisions name their channel; those of an unattended gateway are all unattended", async () => {
  for (
    const [attended, channels] of [[true, ["terminal", "page"]], [false, ["unattended"]]] as const
  ) {
    await using lab = await Lab.create({ attended, ledger: true });
    assert.equal((await lab.send("GET", "/v1/mcp/health")).body.attended, attended);
    for (const channel of ["terminal", "page"] as const) {
      const person = await lab.person(channel);
      await person.post(`proposals/${await lab.proposed()}/reject`, {});
    }
    await lab.stop();
    const entries = (await Deno.readTextFile(lab.ledgerPath)).trim().split("\n").map((line) =>
      JSON.parse(line)
    );
    const seen = entries.filter((entry) => entry.decision === "reject").map((e) => e.channel);
    assert.deepEqual([...new Set(seen)], channels);
  }
});

Deno.test("wrong codes are in the ledger, with their number and without what was typed", async () => {
  await using lab = await Lab.create({ ledger: true });
  const tries = Array.from(
    { length: 5 },
    () => lab.send("POST", "/v1/human/session", { code: "TYPEDXXX" }),
  );
  await until(() => lab.logged.some((line) => line.includes("wrong")), "the first is told");
  await lab.stop();
  // The end of the gateway answered those who waited.
  for (const answer of await Promise.all(tries)) assert([401, 503].includes(answer.status));
  const text = await Deno.readTextFile(lab.ledgerPath);
  const entries = text.trim().split("\n").map((line) => JSON.parse(line));
  const wrong = entries.filter((entry) => entry.decision === "wrong_code");
  assert(wrong.length >= 1 && wrong.length <= 2);
  assert.equal(wrong.reduce((sum, entry) => sum + entry.tries, 0), 5);
  assert.equal(wrong[0].result, "denied");
  assert(!text.includes("TYPEDXXX"));
});
