import assert from "node:assert/strict";
import { Events } from "../../../gateway/server/events.ts";
import { PROPOSAL_LIMITS } from "../../../gateway/server/proposals.ts";
import { type Json, Lab, until } from "./lab.ts";

Deno.test("ten thousand proposals: the quota answers, the queue and the memory stay bounded (S-35)", async () => {
  await using lab = await Lab.create();
  const reason = "r".repeat(4_096);
  const before = Deno.memoryUsage().heapUsed;
  const counts = new Map<number, number>();
  for (let round = 0; round < 100; round++) {
    const answers = await Promise.all(
      Array.from(
        { length: 100 },
        (_, i) =>
          lab.propose("commit", { agentId: i % 2 === 0 ? "flood" : `flood-${round % 40}`, reason }),
      ),
    );
    for (const { status, body } of answers) {
      counts.set(status, (counts.get(status) ?? 0) + 1);
      if (status !== 202) assert.equal(typeof body.agentRecommendation, "string");
    }
  }
  assert.deepEqual([...counts.keys()].sort(), [202, 429]);
  assert.equal(counts.get(202), PROPOSAL_LIMITS.pendingInAll);
  assert.equal(lab.gateway.service.list(["pending"]).total, PROPOSAL_LIMITS.pendingInAll);
  const person = await lab.person();
  const queue = (await person.get("proposals")).body;
  assert.equal(queue.proposals.length, PROPOSAL_LIMITS.pendingInAll);
  assert.equal((await lab.propose("commit", { agentId: "honest" })).status, 429);
  lab.clock += PROPOSAL_LIMITS.lifeMs;
  assert.equal((await lab.propose("commit", { agentId: "honest" })).status, 202);
  const grown = Deno.memoryUsage().heapUsed - before;
  assert(grown < 200 * 2 ** 20, `${grown} bytes more`);
});

Deno.test("an agent that proposes and withdraws without end is stopped, others are not", async () => {
  await using lab = await Lab.create();
  const { proposals } = lab.gateway.service.parts;
  let made = 0;
  for (;; made++) {
    const answer = await lab.propose("commit", { agentId: "restless" });
    if (answer.status !== 202) {
      assert.equal(answer.body.error, "agent_rate_exceeded");
      break;
    }
    await lab.cancel(answer.body.previewId, "restless");
    assert(made < 2_000);
  }
  assert.equal(made, PROPOSAL_LIMITS.rememberedPerAgent);
  assert.equal((await lab.propose("commit", { agentId: "calm" })).status, 202);
  lab.clock += PROPOSAL_LIMITS.memoryMs + 1;
  proposals.prune();
  assert.equal((await lab.propose("commit", { agentId: "restless" })).status, 202);
});

Deno.test("five hundred ended cards are listed; more are counted", async () => {
  await using lab = await Lab.create();
  const { journal } = lab.gateway.service.parts.proposals;
  const first = lab.gateway.service.record(await lab.proposed());
  for (let i = 0; i < 600; i++) {
    const previewId = `ended-${i}`;
    journal.insert({
      ...first,
      previewId,
      idempotencyKey: previewId,
      repoPath: `/${"p".repeat(3_000)}`,
      reason: "😀".repeat(2_000),
      createdAtMs: first.createdAtMs + i,
    });
    journal.move(previewId, "pending", "rejected", lab.clock, {
      endedAtMs: lab.clock,
      rejectionReason: "n".repeat(4_096),
    });
  }
  const person = await lab.person();
  const { status, body } = await person.get("proposals?state=ended");
  assert.equal(status, 200);
  assert.equal(body.total, 600);
  assert.equal(body.truncated, true);
  assert(body.proposals.length >= 100 && body.proposals.length <= 500);
  assert.equal(body.proposals[0].previewId, "ended-599", "the newest are kept");
  assert(JSON.stringify(body).length < 2_796_202);
  // A long list of open ones is counted without reading each action.
  const [pending] = (await person.get("proposals")).body.proposals;
  assert.equal(pending.previewId, first.previewId);
});

/** Reads server-sent events until told to stop. */
async function follow(lab: Lab, headers: Record<string, string>) {
  const response = await fetch(`http://${lab.gateway.address}/v1/human/events`, { headers });
  const events: Json[] = [];
  const reader = response.body!.pipeThrough(new TextDecoderStream()).getReader();
  let rest = "";
  const reading = (async () => {
    for (;;) {
      const { value, done } = await reader.read();
      if (done) return;
      const lines = (rest + value).split("\n");
      rest = lines.pop()!;
      for (const line of lines) {
        if (line.startsWith("data: ")) events.push(JSON.parse(line.slice(6)));
      }
    }
  })();
  return { response, events, reading, stop: () => reader.cancel() };
}

Deno.test("windows are told what happens, never what it holds, and the end of the gateway", async () => {
  await using lab = await Lab.create();
  const person = await lab.person();
  const window = await follow(lab, person.headers);
  assert.equal(window.response.headers.get("content-type"), "text/event-stream");
  assert.equal(window.response.headers.get("cache-control"), "no-store");
  const id = await lab.proposed();
  await person.approve(id);
  const told = (status: string) =>
    window.events.some((event) => event.previewId === id && event.status === status);
  for (const status of ["pending", "approved", "executing", "completed"]) {
    await until(() => told(status), status);
  }
  for (const event of window.events) {
    assert(
      Object.keys(event).every((key) => ["type", "previewId", "status"].includes(key)),
      JSON.stringify(event),
    );
  }
  await lab.stop();
  await window.reading;
  assert.equal(window.events[0].type, "hello");
  assert.equal(window.events.at(-1).type, "closing");
});

Deno.test("there is a ceiling of windows, and one that is closed makes room", async () => {
  await using lab = await Lab.create();
  const person = await lab.person();
  const windows = [];
  for (let i = 0; i < 32; i++) windows.push(await follow(lab, person.headers));
  const refused = await person.get("events");
  assert.equal(refused.status, 429);
  assert.equal(refused.body.error, "too_many_windows");
  await windows[0]!.stop();
  await until(async () => {
    const next = await fetch(`http://${lab.gateway.address}/v1/human/events`, {
      headers: person.headers,
    });
    if (next.status !== 200) {
      await next.body?.cancel();
      return false;
    }
    await next.body?.cancel();
    return true;
  }, "there is room");
  for (const window of windows.slice(1)) await window.stop();
  for (const window of windows) await window.reading;
});

Deno.test("a window that does not read is dropped and holds no memory; the others go on", async () => {
  const events = new Events();
  const lazy = events.open()!, good = events.open()!;
  const seen: number[] = [];
  const reader = good.getReader();
  const reading = (async () => {
    for (;;) {
      const { value, done } = await reader.read();
      if (done) return;
      seen.push(value.length);
    }
  })();
  for (let i = 0; i < 1_000; i++) {
    events.emit({ type: "proposal", previewId: "p".repeat(100), status: "pending" });
    if (i % 50 === 0) await new Promise((resolve) => setTimeout(resolve, 0));
  }
  assert.equal(events.windows, 1);
  await until(() => seen.length === 1_001, "the reading one gets everything");
  // What the other one is told ends, so that it knows to ask again.
  let chunks = 0;
  for await (const _ of lazy) chunks++;
  assert(chunks <= 257, `${chunks}`);
  events.close();
  await reading;
  assert.equal(events.windows, 0);
});

Deno.test("many connections at once are all served", async () => {
  await using lab = await Lab.create();
  const idle: Deno.TcpConn[] = [];
  for (let i = 0; i < 300; i++) {
    const connection = await Deno.connect({ hostname: "127.0.0.1", port: lab.port });
    await connection.write(new TextEncoder().encode("GET /v1/mcp/hea"));
    idle.push(connection);
  }
  const answers = await Promise.all(
    Array.from({ length: 200 }, () => lab.send("GET", "/v1/mcp/health")),
  );
  assert(answers.every((answer) => answer.status === 200));
  for (const connection of idle) connection.close();
});
