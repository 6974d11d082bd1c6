import assert from "node:assert/strict";
import fc from "fast-check";
import {
  type BridgeIo,
  exchange,
  HTTP_LIMITS,
  type HttpRequest,
  NoAnswer,
  REAL_IO,
} from "../../gateway/bridge/http.ts";
import {
  answer,
  closedAddress,
  drip,
  MockGateway,
  OnConnection,
  quickIo,
  raw,
  type Reply,
  writeAll,
} from "./mock_gateway.ts";

const GET: HttpRequest = { method: "GET", path: "/x" };
const never = new AbortController().signal;

/** What one request to a gateway with this answer gives. */
async function ask(reply: Reply, request = GET, io: BridgeIo = REAL_IO) {
  await using gateway = new MockGateway(() => reply);
  return await exchange(gateway.address, request, io, never);
}

/** Why a body was not readable. */
async function why(reply: Reply, io?: BridgeIo): Promise<string> {
  const { body } = await ask(reply, GET, io);
  assert(!body.readable, JSON.stringify(body).slice(0, 200));
  return body.why;
}

Deno.test("a request is what the contract says, byte for byte, on a connection of its own", async () => {
  await using gateway = new MockGateway(() => answer(200, {}));
  const { address } = gateway;
  await exchange(address, GET, REAL_IO, never);
  const post: HttpRequest = {
    method: "POST",
    path: "/y",
    body: '{"a":"é"}',
    headers: { "X-Some": "1" },
  };
  await exchange(address, post, REAL_IO, never);
  assert.deepEqual(gateway.received.map((one) => one.head), [
    `GET /x HTTP/1.1\r\nHost: ${address}\r\nAccept: */*\r\nConnection: close`,
    `POST /y HTTP/1.1\r\nHost: ${address}\r\nAccept: */*\r\nContent-Type: application/json\r\nContent-Length: 10\r\nX-Some: 1\r\nConnection: close`,
  ]);
  assert.equal(gateway.received[1]?.body, '{"a":"é"}');
  assert.equal(gateway.connections, 2);
});

Deno.test("an answer is read by its length, by its chunks, or up to the end of the connection", async () => {
  const same: Reply[] = [
    answer(200, { a: [1] }),
    raw(200, '{"a":[1]}', []),
    raw(200, '5\r\n{"a":\r\n4;ext="x"\r\n[1]}\r\n0\r\nTrailer: x\r\n\r\n', [
      "Transfer-Encoding: chunked",
    ]),
    "HTTP/1.0 200\nContent-Length: 9\n\n" + '{"a":[1]}',
    "HTTP/1.1 100 Continue\r\n\r\n" + answer(200, { a: [1] }),
    answer(200, { a: [1] }) + "and more that nobody asked for",
    answer(200, { a: [1] }, ["Content-Length: 9", "Content-Encoding: identity"]),
    new OnConnection(async (connection) => {
      for (const byte of new TextEncoder().encode(answer(200, { a: [1] }))) {
        await writeAll(connection, Uint8Array.of(byte));
      }
    }),
  ];
  for (const reply of same) {
    assert.deepEqual(await ask(reply), {
      status: 200,
      body: { readable: true, value: { a: [1] } },
    }, String(reply));
  }
  assert.deepEqual(await ask(answer(404, "null")), {
    status: 404,
    body: { readable: true, value: null },
  });
});

Deno.test("a redirect is an answer like any other and is not followed, although a plain fetch follows it", async () => {
  await using target = new MockGateway(() => answer(200, { stolen: true }));
  for (const status of [301, 302, 303, 307, 308]) {
    const reply = answer(status, {}, [`Location: http://${target.address}/x`]);
    assert.equal((await ask(reply)).status, status);
  }
  assert.equal(target.connections, 0);
  await using gateway = new MockGateway(() =>
    answer(302, {}, [`Location: http://${target.address}/x`])
  );
  await (await fetch(`http://${gateway.address}/x`)).body?.cancel();
  assert.equal(target.connections, 1);
});

Deno.test("proxy variables are ignored, although a plain fetch of the same process obeys them", async () => {
  await using proxy = new MockGateway(() => answer(200, { by: "proxy" }));
  await using gateway = new MockGateway(() => answer(200, { by: "gateway" }));
  const script = `
    import { exchange, REAL_IO } from ${
    JSON.stringify(new URL("../../gateway/bridge/http.ts", import.meta.url).href)
  };
    const signal = new AbortController().signal;
    const ours = await exchange(${
    JSON.stringify(gateway.address)
  }, { method: "GET", path: "/x" }, REAL_IO, signal);
    const plain = await (await fetch("http://${gateway.address}/x")).json();
    console.log(JSON.stringify({ ours: ours.body.value.by, plain: plain.by }));`;
  const url = `http://${proxy.address}`;
  const variables = [
    "http_proxy",
    "HTTP_PROXY",
    "https_proxy",
    "HTTPS_PROXY",
    "all_proxy",
    "ALL_PROXY",
  ];
  const out = await new Deno.Command(Deno.execPath(), {
    args: ["run", "-q", "-A", "--no-config", "-"],
    stdin: "piped",
    stdout: "piped",
    env: {
      ...Object.fromEntries(variables.map((name) => [name, url])),
      NO_PROXY: "",
      no_proxy: "",
    },
  }).spawn();
  const writer = out.stdin.getWriter();
  await writer.write(new TextEncoder().encode(script));
  await writer.close();
  const { stdout } = await out.output();
  assert.deepEqual(JSON.parse(new TextDecoder().decode(stdout)), {
    ours: "gateway",
    plain: "proxy",
  });
});

Deno.test("a body over the limit is not read, whether it says so, comes in chunks or just goes on", async () => {
  const five = "x".repeat(5_000_000);
  const limit = /more than 2796202 bytes/;
  assert.match(await why(answer(200, JSON.stringify(five))), limit);
  assert.match(await why(raw(200, five, [])), limit);
  assert.match(
    await why(raw(200, `4C4B40\r\n${five}\r\n0\r\n\r\n`, ["Transfer-Encoding: chunked"])),
    limit,
  );
  // Exactly the limit is read.
  const most = JSON.stringify("x".repeat(HTTP_LIMITS.bodyBytes - 2));
  for (const reply of [answer(200, most), raw(200, most, [])]) {
    assert.equal((await ask(reply)).body.readable, true);
  }
  // A sender that never ends is left after the limit, not after the time.
  let sent = 0;
  const endless = new OnConnection(async (connection) => {
    await writeAll(connection, new TextEncoder().encode(raw(200, "", [])));
    const block = new Uint8Array(65_536).fill(0x20);
    for (;;) sent += await connection.write(block);
  });
  assert.match(await why(endless, quickIo({ wholeMs: 60_000 })), limit);
  assert.ok(sent < 64 * 1024 * 1024);
});

Deno.test("what cannot be told to be whole JSON is unreadable, with the reason", async () => {
  const cases: [Reply, RegExp][] = [
    [answer(200, '{"a":'), /not JSON/],
    [answer(200, "<html>"), /not JSON/],
    [answer(200, "\ufeff{}"), /not JSON/],
    [answer(200, "[".repeat(200) + "]".repeat(200)), /not JSON/],
    [raw(200, "", ["Content-Length: 0"]), /no body/],
    [raw(204, "", []), /no body/],
    [raw(200, '{"a"', ["Content-Length: 10"]), /cut short/],
    [raw(200, "{}", ["Content-Length: 2", "Content-Length: 3"]), /several content-length/],
    [raw(200, "{}", ["Content-Length: 2, 2"]), /length .* cannot be told/],
    [raw(200, "{}", ["Content-Length: -2"]), /length .* cannot be told/],
    [raw(200, "{}", ["Content-Length: 9999999999999999"]), /length .* cannot be told/],
    [raw(200, "{}", ["Transfer-Encoding: gzip, chunked"]), /length .* cannot be told/],
    [
      raw(200, "2\r\n{}\r\n0\r\n\r\n", ["Transfer-Encoding: chunked", "Content-Length: 2"]),
      /length .* cannot be told/,
    ],
    [raw(200, "zz\r\n{}\r\n", ["Transfer-Encoding: chunked"]), /chunks are malformed/],
    [raw(200, "2\r\n{}0\r\n\r\n", ["Transfer-Encoding: chunked"]), /chunks are malformed/],
    [raw(200, "2\r\n{}\r\n", ["Transfer-Encoding: chunked"]), /cut short/],
    [answer(200, "{}", ["Content-Encoding: gzip"]), /compressed/],
  ];
  for (const [reply, reason] of cases) assert.match(await why(reply), reason, String(reply));
  const lonely = new Uint8Array([0x22, 0xff, 0x22]);
  const bytes = new TextEncoder().encode(raw(200, "", ["Content-Length: 3"]));
  assert.match(await why(Uint8Array.from([...bytes, ...lonely])), /not JSON/);
});

Deno.test("what is no answer at all is told so, and that the request went out", async () => {
  const cases: [Reply, RegExp][] = [
    ["SSH-2.0-OpenSSH_9\r\n", /no HTTP server/],
    ["HTTP/2 200\r\n\r\n", /no HTTP server/],
    ["HTTP/1.1 999 X\r\n\r\n", /no HTTP server/],
    ["HTTP/1.1 200 X\r\nno colon\r\n\r\n", /headers are malformed/],
    ["HTTP/1.1 200 X\r\nA: b\r\n folded\r\n\r\n", /headers are malformed/],
    ["HTTP/1.1 200 X\r\nA: b\rC: d\r\n\r\n", /lines are malformed/],
    ["HTTP/1.1 200 X\r\nA: " + "b".repeat(20_000) + "\r\n\r\n", /headers are too long/],
    ["HTTP/1.1 200 X\r\n" + "A: b\r\n".repeat(5_000) + "\r\n", /headers are too long/],
    ["HTTP/1.1 100 X\r\n\r\n".repeat(20), /interim/],
    ["HTTP/1.1 200", /cut short/],
    ["", /cut short/],
  ];
  for (const [reply, reason] of cases) {
    await assert.rejects(ask(reply), (error) => {
      assert(error instanceof NoAnswer, String(error));
      assert.equal(error.sent, true);
      assert.match(error.message, reason, String(reply).slice(0, 60));
      return true;
    });
  }
});

Deno.test("a gateway that hangs, or drips byte by byte, holds nobody up longer than the whole request may take", async () => {
  const late = { sent: true, message: /within 0.2 s/ };
  // The head must have come before the time is over, on a busy machine too.
  const patient = quickIo({ wholeMs: 1_500 });
  await assert.rejects(ask(null, GET, quickIo()), late);
  await assert.rejects(ask(drip("HTTP/1.1 200 X\r\nA:"), GET, quickIo()), late);
  assert.match(
    await why(drip(raw(200, "{", ["Content-Length: 99999"])), patient),
    /within 1.5 s/,
  );
  assert.match(await why(drip(raw(200, "{", [])), patient), /within 1.5 s/);
});

Deno.test("a gateway that never reads a large request is left at the limit, and one that answers early is heard", async () => {
  const large: HttpRequest = { method: "POST", path: "/x", body: "x".repeat(8_000_000) };
  const listener = Deno.listen({ hostname: "127.0.0.1", port: 0 });
  const { port } = listener.addr as Deno.NetAddr;
  const accepted = listener.accept();
  await assert.rejects(
    exchange(`127.0.0.1:${port}`, large, quickIo(), never),
    { sent: true, message: /within 0.2 s/ },
  );
  (await accepted).close();
  const early = listener.accept().then(async (connection) => {
    await writeAll(connection, new TextEncoder().encode(answer(413, { error: "body_too_large" })));
    return connection;
  });
  const heard = await exchange(`127.0.0.1:${port}`, large, REAL_IO, never);
  assert.deepEqual(heard, {
    status: 413,
    body: { readable: true, value: { error: "body_too_large" } },
  });
  (await early).close();
  listener.close();
});

Deno.test("nothing was sent when nobody listens or connecting takes too long; a late connection is closed", async () => {
  await assert.rejects(exchange(closedAddress(), GET, REAL_IO, never), {
    sent: false,
    message: "nothing listens there",
  });
  const late = Promise.withResolvers<void>();
  const slow: BridgeIo = {
    ...quickIo({ connectMs: 20 }),
    connect: () =>
      new Promise((resolve) =>
        setTimeout(() =>
          resolve({
            read: () => Promise.resolve(null),
            write: () => Promise.reject(new Error("used although it came too late")),
            close: late.resolve,
          }), 60)
      ),
  };
  await assert.rejects(exchange("127.0.0.1:1", GET, slow, never), {
    sent: false,
    message: "nothing came of it within 0.02 s",
  });
  await late.promise;
});

Deno.test("a cancelled call ends at once with the signal's own reason, before, while connecting and while waiting", async () => {
  const reason = new Error("cancelled by the test");
  const done = AbortSignal.abort(reason);
  await assert.rejects(exchange(closedAddress(), GET, REAL_IO, done), reason);
  const connecting = new AbortController();
  const stuck: BridgeIo = { ...REAL_IO, connect: () => new Promise(() => {}) };
  const first = exchange("127.0.0.1:1", GET, stuck, connecting.signal);
  connecting.abort(reason);
  await assert.rejects(first, reason);
  await using gateway = new MockGateway(() => null);
  const waiting = new AbortController();
  const second = exchange(gateway.address, GET, REAL_IO, waiting.signal);
  while (gateway.received.length === 0) await new Promise((resolve) => setTimeout(resolve, 1));
  waiting.abort(reason);
  await assert.rejects(second, reason);
});

Deno.test("whatever bytes come back, a request ends with an answer or with the word that there is none", async () => {
  let reply = new Uint8Array(0);
  await using gateway = new MockGateway(() => reply);
  const piece = fc.oneof(
    fc.constantFrom(
      "HTTP/1.1 200 OK\r\n",
      "HTTP/1.1 100 \r\n\r\n",
      "Content-Length: 5\r\n",
      "Transfer-Encoding: chunked\r\n",
      "\r\n",
      "\n",
      "5\r\n",
      "0\r\n\r\n",
      '{"a":1}',
      "null",
    ).map((one) => new TextEncoder().encode(one)),
    fc.uint8Array({ maxLength: 40 }),
  );
  await fc.assert(
    fc.asyncProperty(fc.array(piece, { maxLength: 12 }), async (pieces) => {
      reply = Uint8Array.from(pieces.flatMap((one) => [...one]));
      try {
        const { status } = await exchange(gateway.address, GET, REAL_IO, never);
        assert.ok(status >= 200 && status < 600);
      } catch (error) {
        assert(error instanceof NoAnswer, String(error));
      }
    }),
    { numRuns: 300 },
  );
});
