import assert from "node:assert/strict";
import { Bodies, MAX_BODY } from "../../../gateway/server/bodies.ts";
import { json, MAX_ANSWER } from "../../../gateway/server/http.ts";
import { Refusal } from "../../../gateway/server/refusal.ts";
import { Lab, raw } from "./lab.ts";

const AGENT = [
  ["GET", "/v1/mcp/health"],
  ["GET", "/v1/mcp/operation/status/p-1"],
  ["POST", "/v1/mcp/operation/cancel/p-1"],
  ["POST", "/v1/mcp/operation/preview/commit"],
  ["POST", "/v1/mcp/diff/semantic"],
] as const;
const HUMAN = [
  ["POST", "/v1/human/session"],
  ["DELETE", "/v1/human/session"],
  ["GET", "/v1/human/proposals"],
  ["GET", "/v1/human/proposals/p-1"],
  ["GET", "/v1/human/proposals/p-1/diff"],
  ["GET", "/v1/human/proposals/p-1/file?path=x"],
  ["GET", "/v1/human/proposals/p-1/coverage"],
  ["POST", "/v1/human/proposals/p-1/approve"],
  ["POST", "/v1/human/proposals/p-1/reject"],
  ["POST", "/v1/human/proposals/p-1/reconcile"],
  ["GET", "/v1/human/events"],
  ["GET", "/v1/human/ledger"],
  ["GET", "/v1/human/restore?repoPath=/x"],
  ["POST", "/v1/human/restore/preview"],
  ["POST", "/v1/human/restore/apply"],
  ["POST", "/v1/human/restore/undo"],
  ["POST", "/v1/human/restore/redo"],
] as const;
const ALL = [...AGENT, ...HUMAN, ["GET", "/"], ["GET", "/nothing"]] as const;

function isRefusal(body: unknown): boolean {
  const { error, message, agentRecommendation } = body as Record<string, unknown>;
  return typeof error === "string" && typeof message === "string" &&
    typeof agentRecommendation === "string";
}

/** Status and JSON body of a raw answer. */
function parsed(answer: string): { status: number; body: string; head: string } {
  const [head = "", ...rest] = answer.split("\r\n\r\n");
  return { status: Number(head.split(" ")[1]), body: rest.join("\r\n\r\n"), head };
}

Deno.test("a request that does not name this gateway is refused on every route, whatever it asks", async () => {
  await using lab = await Lab.create();
  const wrong = [
    "Host: evil.example:PORT",
    "Host: localhost:PORT",
    "Host: 127.0.0.1",
    "Host: 127.0.0.1:1",
    "Host: 127.0.0.2:PORT",
    "Host: [::1]:PORT",
    "Host: u@127.0.0.1:PORT",
    "Host: 127.0.0.1:PORT.",
    "Host: a b",
    "X: 1",
  ];
  for (const [method, path] of ALL) {
    const hosts = path === "/v1/mcp/health" ? wrong : [wrong[0]!, wrong.at(-1)!];
    for (const host of hosts) {
      const answer = parsed(
        await raw(
          lab.port,
          `${method} ${path} HTTP/1.1\n${host}\nContent-Length: 0\nConnection: close\n\n`,
        ),
      );
      assert.equal(answer.status, 403, `${method} ${path} ${host}`);
      assert(isRefusal(JSON.parse(answer.body)), answer.body);
    }
  }
  // The control: the right name is served.
  const good = "GET /v1/mcp/health HTTP/1.1\nHost: 127.0.0.1:PORT\nConnection: close\n\n";
  assert.equal(parsed(await raw(lab.port, good)).status, 200);
});

Deno.test("two Host lines, and a target of its own in the request line, are refused", async () => {
  await using lab = await Lab.create();
  const ask = async (text: string) =>
    parsed(await raw(lab.port, `${text}\nConnection: close\n\n`)).status;
  const own = "Host: 127.0.0.1:PORT";
  assert(
    [400, 403].includes(await ask(`GET /v1/mcp/health HTTP/1.1\n${own}\nHost: evil:1`)),
  );
  assert([400, 403].includes(await ask(`GET /v1/mcp/health HTTP/1.1\n${own}\n${own}`)));
  for (
    const target of [
      "http://evil/v1/mcp/health",
      "http://u:p@127.0.0.1:PORT/v1/mcp/health",
      "ftp://127.0.0.1:PORT/v1/mcp/health",
      "https://127.0.0.1:PORT/v1/mcp/health",
    ]
  ) assert.equal(await ask(`GET ${target} HTTP/1.1\n${own}`), 403, target);
  assert.equal(await ask(`GET http://127.0.0.1:PORT/v1/mcp/health HTTP/1.1\nHost: evil`), 403);
  // Ourselves by the whole address is what a proxy-aware client may send.
  assert.equal(await ask(`GET http://127.0.0.1:PORT/v1/mcp/health HTTP/1.1\n${own}`), 200);
  assert.equal(await ask(`GET /v1/mcp/health HTTP/1.0`), 403);
  assert.notEqual(await ask(`CONNECT evil:80 HTTP/1.1\n${own}`), 200);
  assert.equal(await ask(`OPTIONS * HTTP/1.1\n${own}`), 404);
});

Deno.test("requests of a browser on another site are refused before they are read; there is no CORS", async () => {
  await using lab = await Lab.create();
  const person = await lab.person();
  const own = `http://${lab.gateway.address}`;
  const foreign: Record<string, string>[] = [
    { origin: "https://evil.example" },
    { origin: "null" },
    { origin: `http://localhost:${lab.port}` },
    { origin: `https://${lab.gateway.address}` },
    { "sec-fetch-site": "cross-site" },
    { "sec-fetch-site": "same-site" },
    { origin: "https://evil.example", "content-type": "text/plain" },
  ];
  for (const [method, path] of ALL) {
    if (path === "/nothing") continue;
    for (const headers of foreign) {
      const answer = await lab.send(method, path, method === "POST" ? "{}" : undefined, {
        ...person.headers,
        ...headers,
      });
      // The page itself may be gone to from anywhere; it holds nothing.
      if (path === "/" && headers.origin === undefined) continue;
      assert.equal(answer.status, 403, `${method} ${path} ${JSON.stringify(headers)}`);
      for (const name of answer.headers.keys()) assert(!name.startsWith("access-control-"), name);
    }
  }
  for (const headers of [{ origin: own }, { "sec-fetch-site": "same-origin" }]) {
    // Our own page may use the routes for people, but never those of agents.
    assert.equal((await lab.send("GET", "/v1/mcp/health", undefined, headers)).status, 403);
    const human = await lab.send("GET", "/v1/human/proposals", undefined, {
      ...person.headers,
      ...headers,
    });
    assert.equal(human.status, 200);
  }
  // The control: without the headers of a browser the same request is served.
  assert.equal((await lab.send("GET", "/v1/mcp/health")).status, 200);
});

Deno.test("OPTIONS, HEAD and other methods change nothing and name the method that a route takes", async () => {
  await using lab = await Lab.create();
  const person = await lab.person();
  const id = await lab.proposed();
  const at = (path: string) => path.replace("p-1", id);
  for (const [method, path] of [...AGENT, ...HUMAN]) {
    if (path.endsWith("semantic") || path.endsWith("session")) continue;
    for (const other of ["OPTIONS", "HEAD", "PUT", "PATCH", "DELETE", "GET", "POST"]) {
      if (other === method) continue;
      const answer = await lab.send(
        other,
        at(path),
        other === "POST" || other === "PUT" || other === "PATCH" ? {} : undefined,
        person.headers,
      );
      assert.equal(answer.status, 405, `${other} ${path}`);
      assert.equal(answer.headers.get("allow"), method);
      if (other !== "HEAD") assert(isRefusal(answer.body));
      for (const name of answer.headers.keys()) assert(!name.startsWith("access-control-"), name);
    }
  }
  assert.equal((await lab.status(id)).body.status, "pending");
  assert.equal(lab.operation.executed.length, 0);
});

Deno.test("a body must be JSON by its content type, whole, without repeated members, and not encoded", async () => {
  await using lab = await Lab.create();
  const path = "/v1/mcp/operation/preview/commit";
  const good = JSON.stringify(lab.body());
  const ask = (type: string | null, body = good, more: Record<string, string> = {}) =>
    lab.send("POST", path, body, { "content-type": type ?? "", ...more });
  for (
    const type of [
      null,
      "text/plain",
      "application/x-www-form-urlencoded",
      "multipart/form-data; boundary=x",
      "text/json",
      "application/jsonp",
      "application/json; charset=utf-16",
      "application/json, text/plain",
      "application/json;",
    ]
  ) assert.equal((await ask(type)).status, 415, String(type));
  assert.equal(
    (await ask("application/json", good, { "content-encoding": "gzip" })).status,
    415,
  );
  for (
    const body of [
      "",
      "{",
      "[]",
      "null",
      "1",
      '"x"',
      good + "x",
      "\ufeff" + good,
      good.slice(0, -5),
    ]
  ) {
    const answer = await ask("application/json", body);
    assert.equal(answer.status, 422, body.slice(0, 20));
    assert(isRefusal(answer.body));
  }
  const twice = good.replace("{", '{"reason":"another reason",');
  const answer = await ask("application/json", twice);
  assert.equal(answer.status, 422);
  assert.match(answer.body.message, /reason stands twice/);
  assert.equal((await ask("application/json", "[".repeat(10_000))).status, 422);
  assert.equal((await ask("Application/JSON; charset=UTF-8", good)).status, 202);
});

/** Sends a chunked body without end until an answer comes. */
async function endless(port: number, head: string): Promise<{ answer: string; sent: number }> {
  using connection = await Deno.connect({ hostname: "127.0.0.1", port });
  const text = (value: string) => new TextEncoder().encode(value.replaceAll("\n", "\r\n"));
  await connection.write(
    text(head.replaceAll("PORT", String(port)) + "Transfer-Encoding: chunked\n\n"),
  );
  let answer = "", sent = 0;
  const reading = (async () => {
    const buffer = new Uint8Array(65_536);
    const n = await connection.read(buffer).catch(() => null);
    answer = new TextDecoder().decode(buffer.subarray(0, n ?? 0));
  })();
  const piece = text(`10000\n${" ".repeat(65_536)}\n`);
  while (answer === "") {
    // A short write would break the framing: the rest follows before the next piece.
    const whole = await (async () => {
      for (let at = 0; at < piece.length;) at += await connection.write(piece.subarray(at));
    })().then(() => true, () => false);
    if (!whole) break;
    sent += piece.length;
  }
  await reading;
  return { answer, sent };
}

Deno.test("bodies are read up to the whole frame and not a byte further, declared or not", async () => {
  await using lab = await Lab.create();
  const head = "POST /v1/mcp/operation/preview/patch HTTP/1.1\nHost: 127.0.0.1:PORT\n" +
    "Content-Type: application/json\nConnection: close\n";
  // Declared too large: answered without waiting for it.
  const declared = parsed(
    await raw(lab.port, `${head}Content-Length: ${MAX_BODY + 1}\n\n{"a":1`),
  );
  assert.equal(declared.status, 413);
  assert(isRefusal(JSON.parse(declared.body)));
  // A stream that goes on and on: the answer comes while it is still being sent.
  const { answer, sent } = await endless(lab.port, head);
  assert.equal(parsed(answer).status, 413, answer);
  assert(sent < 4 * MAX_BODY, `${sent} bytes were taken`);
  // A patch of the largest size the contract knows is let in.
  const patchContent = "--- a/a.txt\n+++ b/a.txt\n".padEnd(4_194_304, "x");
  assert.equal((await lab.propose("patch", { patchContent })).status, 202);
  assert.equal((await lab.propose("patch", { patchContent: patchContent + "x" })).status, 422);
});

Deno.test("a body that comes slowly ends by a deadline, and the end of the gateway does not wait for it", async () => {
  const slow = () =>
    new Request("http://x/", {
      method: "POST",
      headers: { "content-type": "application/json" },
      body: new ReadableStream({
        start: (controller) => controller.enqueue(new TextEncoder().encode("{")),
      }),
    });
  const refused = (status: number) => (error: unknown) =>
    error instanceof Refusal && error.status === status;
  const bodies = new Bodies({ deadlineMs: 50, together: 1_000 });
  await assert.rejects(bodies.json(slow()), refused(408));
  const patient = new Bodies({ deadlineMs: 60_000, together: 1_000 });
  const waiting = patient.json(slow());
  patient.close();
  await assert.rejects(waiting, refused(503));
  await assert.rejects(patient.json(slow()), refused(503));
});

Deno.test("large bodies at once share one budget, and what was refused gives its share back", async () => {
  const bodies = new Bodies({ deadlineMs: 60_000, together: 1_000 });
  const text = (size: number) => JSON.stringify("x".repeat(size - 2));
  const request = (body: string | ReadableStream) =>
    new Request("http://x/", {
      method: "POST",
      headers: { "content-type": "application/json" },
      body,
    });
  let finish = () => {};
  const held = bodies.json(request(
    new ReadableStream({
      start(controller) {
        const bytes = new TextEncoder().encode(text(800));
        controller.enqueue(bytes.subarray(0, 700));
        finish = () => {
          controller.enqueue(bytes.subarray(700));
          controller.close();
        };
      },
    }),
  ));
  await new Promise((resolve) => setTimeout(resolve, 20));
  await assert.rejects(
    bodies.json(request(text(400))),
    (error) => error instanceof Refusal && error.status === 503,
  );
  finish();
  assert.equal((await held as string).length, 798);
  assert.equal((await bodies.json(request(text(900))) as string).length, 898);
});

Deno.test("answers stay below what a sidecar reads, and every error has its three members", async () => {
  await using lab = await Lab.create();
  const large = json(200, { text: "ü".repeat(MAX_ANSWER / 2) });
  assert.equal(large.status, 500);
  assert.equal((await large.json()).error, "answer_too_large");
  const paths = Array.from({ length: 10_000 }, (_, i) => `${i}/${"p".repeat(300)}`);
  lab.operation.executing = () =>
    Promise.resolve({
      status: "completed",
      message: "m".repeat(20_000),
      members: { pathsDiscarded: paths, restorePointId: "kept" },
    });
  const id = await lab.proposed("discard");
  const person = await lab.person();
  const approved = await person.approve(id);
  assert.equal(approved.body.status, "completed", JSON.stringify(approved.body).slice(0, 300));
  const { body } = await lab.status(id);
  assert(JSON.stringify(body).length < MAX_ANSWER / 3);
  assert.equal(body.result.restorePointId, "kept");
  assert.equal(body.result.truncated.pathsDiscarded, 10_000);
  assert(body.result.pathsDiscarded.length > 100);
  for (
    const path of ["/v1/mcp/x", "/v1/mcp/operation/status/a%20b", "/v1/mcp/operation/status/no"]
  ) {
    const answer = await lab.send("GET", path);
    assert.equal(answer.status, 404);
    assert(isRefusal(answer.body));
    assert.equal(answer.headers.get("content-type"), "application/json; charset=utf-8");
    assert.equal(answer.headers.get("cache-control"), "no-store");
  }
  assert.equal((await lab.send("POST", "/v1/mcp/diff/semantic", {})).status, 501);
});

Deno.test("a fault of our own tells nothing of its inside", async () => {
  await using lab = await Lab.create();
  lab.gateway.service.status = () => {
    throw new Error("secret inside");
  };
  const answer = await lab.status("x");
  assert.equal(answer.status, 500);
  assert(isRefusal(answer.body));
  assert(!JSON.stringify(answer.body).includes("secret"));
  assert(lab.logged.some((line) => line.includes("secret inside")));
});
