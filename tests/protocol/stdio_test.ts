/** The server as hosts run it: a process of its own, its pipes and signals. */

import assert from "node:assert/strict";
import { MAX_FRAME_BYTES } from "../../protocol/framing.ts";
import { META } from "./harness.ts";
import { call } from "./requests.ts";

const SERVER = new URL("fixture_server.ts", import.meta.url).href;
const encoder = new TextEncoder();

function spawn(): Deno.ChildProcess {
  return new Deno.Command(Deno.execPath(), {
    args: ["run", "-q", "--no-remote", SERVER],
    stdin: "piped",
    stdout: "piped",
    stderr: "piped",
  }).spawn();
}

const line = (message: unknown) => JSON.stringify(message) + "\n";
const ping = (id: unknown) => line({ jsonrpc: "2.0", id, method: "ping" });

/** Writes all input, closes it, and gives everything that came out. */
async function run(input: string | Uint8Array) {
  const child = spawn();
  const output = child.output();
  const writer = child.stdin.getWriter();
  try {
    await writer.write(typeof input === "string" ? encoder.encode(input) : input);
    await writer.close();
  } catch {
    // The server ended before it had read everything.
  }
  const { code, stdout, stderr } = await output;
  const text = new TextDecoder().decode(stdout);
  assert(text === "" || text.endsWith("\n"));
  return {
    code,
    messages: text.split("\n").slice(0, -1).map((part) => JSON.parse(part)),
    errors: new TextDecoder().decode(stderr),
  };
}

Deno.test("a piped conversation is answered whole and ends with 0", async () => {
  const { code, messages, errors } = await run(
    line({
      jsonrpc: "2.0",
      id: 0,
      method: "initialize",
      params: { protocolVersion: "2025-06-18" },
    }) +
      "\n  \r\n" + line(call(1, "fixture.echo", { a: "é" })) +
      "broken\n" + "Content-Length: 40\r\n\r\n" + ping(2).trim().padEnd(40) + ping(3).trimEnd(),
  );
  assert.equal(code, 0);
  assert.equal(errors, "");
  assert.deepEqual(messages.map(({ id }) => id).sort(), [0, 1, 2, 3, null]);
  assert.equal(messages[0].result.protocolVersion, "2025-06-18");
});

Deno.test("no input at all ends with 0 and writes nothing", async () => {
  assert.deepEqual(await run(""), { code: 0, messages: [], errors: "" });
});

Deno.test("lost framing ends with 1 and one line on standard error", async () => {
  for (const broken of ["Content-Length: nope\r\n\r\n", "Content-Length: 5\r\n\r\n{}"]) {
    const { code, messages, errors } = await run(ping(1) + broken);
    assert.equal(code, 1);
    assert.deepEqual(messages.map(({ id }) => id), [1]);
    assert.match(errors, /^fixture-server: [^\n]+\n$/);
  }
});

Deno.test("a frame of 8 MiB is served and a longer one ends with 1", async () => {
  const frame = new Uint8Array(MAX_FRAME_BYTES + 1).fill(0x20);
  frame.set(encoder.encode(ping("big").trimEnd()));
  frame[MAX_FRAME_BYTES] = 0x0a;
  const { code, messages } = await run(frame);
  assert.deepEqual([code, messages.map(({ id }) => id)], [0, ["big"]]);
  frame[MAX_FRAME_BYTES] = 0x20;
  const longer = new Uint8Array(MAX_FRAME_BYTES + 2);
  longer.set(frame);
  longer[MAX_FRAME_BYTES + 1] = 0x0a;
  const refused = await run(longer);
  assert.deepEqual([refused.code, refused.messages.length], [1, 0]);
});

Deno.test("a large answer reaches a client that reads late, and a tool that throws writes only to standard error", async () => {
  const child = spawn();
  const writer = child.stdin.getWriter();
  await writer.write(encoder.encode(
    line(call(1, "fixture.fills", { chars: 3_000_000 }, META)) +
      line(call(2, "fixture.throws", {})),
  ));
  // The answer is far larger than any pipe; nothing was read until now.
  await new Promise((resolve) => setTimeout(resolve, 200));
  await writer.close();
  const { code, stdout, stderr } = await child.output();
  assert.equal(code, 0);
  const lines = new TextDecoder().decode(stdout).split("\n").slice(0, -1);
  const answers = new Map(lines.map((text) => [JSON.parse(text).id, JSON.parse(text)]));
  assert.equal(answers.get(1).result.structuredContent.text.length, 3_000_000);
  assert.equal(answers.get(2).error.code, -32603);
  assert.match(
    new TextDecoder().decode(stderr),
    /^fixture-server: tool fixture\.throws failed: [^\n]+\n$/,
  );
});

Deno.test("a reader that goes away ends the server", async () => {
  const child = spawn();
  await child.stdout.cancel();
  const writer = child.stdin.getWriter();
  const status = child.status;
  let ended = false;
  status.then(() => ended = true);
  try {
    while (!ended) {
      await writer.write(encoder.encode(ping(1)));
      await new Promise((resolve) => setTimeout(resolve, 10));
    }
  } catch {
    // The server is gone, and with it its standard input.
  }
  assert.equal((await status).code, 0);
  await child.stderr.cancel();
  await writer.close().catch(() => {});
});

Deno.test("a signal ends the server with 0 although a call runs", {
  ignore: Deno.build.os === "windows",
}, async () => {
  const child = spawn();
  const writer = child.stdin.getWriter();
  const reader = child.stdout.getReader();
  await writer.write(encoder.encode(line(call(1, "fixture.waits")) + ping(2)));
  assert.match(new TextDecoder().decode((await reader.read()).value), /"id":2/);
  child.kill("SIGTERM");
  assert.equal((await child.status).code, 0);
  assert.equal((await reader.read()).done, true);
  await child.stderr.cancel();
  await writer.close().catch(() => {});
});
