import assert from "node:assert/strict";
import { findGateway } from "../../gateway/bridge.ts";
import { answer, caller, closedAddress, MockGateway } from "./mock_gateway.ts";

const HEALTHY = { service: "fluxgit-gateway", apiVersion: 1, attended: true };

/** A run directory for one test. */
async function runDirectory() {
  const path = await Deno.realPath(await Deno.makeTempDir({ prefix: "fluxgit-test-" }));
  await Deno.chmod(path, 0o700);
  return {
    path,
    file: `${path}/gateway.json`,
    async announce(content: unknown, mode = 0o600) {
      await Deno.remove(this.file).catch(() => {});
      const text = typeof content === "string" ? content : JSON.stringify(content);
      await Deno.writeTextFile(this.file, text, { mode: 0o600 });
      await Deno.chmod(this.file, mode);
    },
    [Symbol.asyncDispose]: () => Deno.remove(path, { recursive: true }),
  };
}

const announcement = (address: string, more: Record<string, unknown> = {}) => ({
  version: 1,
  address,
  pid: 1,
  startedAt: "2026-09-01T10:20:30.000Z",
  ...more,
});

/** Looks a gateway up with these variables and this run directory. */
function look(env: Record<string, string>, runDir: string | null = null) {
  return findGateway(caller(null, { env: (name) => env[name], runDir }));
}

async function reason(env: Record<string, string>, runDir: string | null = null): Promise<string> {
  const found = await look(env, runDir);
  assert(found.reason !== undefined, `found ${found.address}`);
  return found.reason;
}

Deno.test("the first of the three variables that is set names the gateway; blank ones count as unset", async () => {
  const found = async (env: Record<string, string>) => (await look(env)).address;
  assert.equal(await found({ FLUXGIT_MCP_HANDSHAKE_ADDR: "127.0.0.1:7001" }), "127.0.0.1:7001");
  assert.equal(
    await found({ FLUXGIT_GATEWAY_ADDR: "127.1:7002", FLUXGIT_GATEWAY_URL: "127.0.0.1:7003" }),
    "127.0.0.1:7002",
  );
  assert.equal(
    await found({ FLUXGIT_MCP_HANDSHAKE_ADDR: " ", FLUXGIT_GATEWAY_URL: "http://127.0.0.1:7003/" }),
    "127.0.0.1:7003",
  );
  assert.equal(
    await found({
      FLUXGIT_MCP_HANDSHAKE_ADDR: "127.0.0.1:7001",
      FLUXGIT_GATEWAY_ADDR: "http://evil.example:1",
    }),
    "127.0.0.1:7001",
  );
});

Deno.test("an unusable variable is told and nothing else is asked in its place", async () => {
  await using run = await runDirectory();
  await using gateway = new MockGateway(() => answer(200, HEALTHY));
  await run.announce(announcement(gateway.address));
  const hostile = [
    "http://localhost.evil.example:1",
    "http://127.0.0.1@evil.example:1",
    "https://127.0.0.1:1",
    "127.0.0.1",
    "0.0.0.0:1",
    "[::ffff:1.2.3.4]:1",
  ];
  for (const value of hostile) {
    const alone = await reason({ FLUXGIT_GATEWAY_ADDR: value }, run.path);
    assert.match(alone, /^FLUXGIT_GATEWAY_ADDR is set, but not to a loopback IP address/);
    assert.ok(!alone.includes("evil"));
  }
  const text = await reason({
    FLUXGIT_MCP_HANDSHAKE_ADDR: "nowhere",
    FLUXGIT_GATEWAY_ADDR: "elsewhere",
    FLUXGIT_GATEWAY_URL: gateway.address,
  }, run.path);
  assert.match(text, /^FLUXGIT_MCP_HANDSHAKE_ADDR and FLUXGIT_GATEWAY_ADDR are set, but not/);
  assert.match(text, /FLUXGIT_GATEWAY_URL is not used in its place/);
  assert.equal(gateway.connections, 0);
});

Deno.test("without variables a running gateway is found by its file, but only when it answers as one", async () => {
  await using run = await runDirectory();
  await using gateway = new MockGateway(() => answer(200, HEALTHY));
  assert.match(await reason({}, run.path), /FLUXGIT_GATEWAY_URL are unset, and no gateway runs/);
  // Looked up at each call: one that was started later counts.
  await run.announce(announcement(gateway.address));
  assert.equal((await look({}, run.path)).address, gateway.address);
  assert.deepEqual(gateway.received.map((one) => `${one.method} ${one.path}`), [
    "GET /v1/mcp/health",
  ]);
  assert.equal((await look({ FLUXGIT_GATEWAY_URL: " " }, run.path)).address, gateway.address);
  assert.equal(
    (await look({ FLUXGIT_GATEWAY_URL: "127.0.0.1:7001" }, run.path)).address,
    "127.0.0.1:7001",
  );
  assert.equal(gateway.connections, 2);
  assert.match(await reason({}, null), /no run directory/);
  assert.match(await reason({}, ""), /no run directory/);
});

Deno.test("a file that outlived its gateway leads nowhere, and another program at its address is not taken for one", async () => {
  await using run = await runDirectory();
  await run.announce(announcement(closedAddress()));
  assert.match(await reason({}, run.path), /there is no gateway \(nothing listens there\)/);
  const strangers: [unknown, RegExp][] = [
    [answer(200, { ...HEALTHY, service: "other" }), /another program/],
    [answer(200, { ...HEALTHY, apiVersion: 2 }), /another program/],
    [answer(200, { ...HEALTHY, apiVersion: "1" }), /another program/],
    [answer(200, [HEALTHY]), /another program/],
    [answer(200, "null"), /another program/],
    [answer(200, "<html>"), /not JSON/],
    [answer(200, { ...HEALTHY, more: "x".repeat(100_000) }), /more than 65536 bytes/],
    [answer(202, HEALTHY), /HTTP status 202/],
    [answer(302, HEALTHY, ["Location: http://127.0.0.1:1/"]), /HTTP status 302/],
    ["220 mail.example ESMTP\r\n", /no HTTP server/],
  ];
  for (const [reply, expected] of strangers) {
    await using stranger = new MockGateway(() => reply as string);
    await run.announce(announcement(stranger.address));
    assert.match(await reason({}, run.path), expected, String(reply).slice(0, 80));
  }
});

Deno.test("a file that is not what a gateway writes is not used, and why is said", async () => {
  await using run = await runDirectory();
  await using gateway = new MockGateway(() => answer(200, HEALTHY));
  const good = announcement(gateway.address);
  const wrong: [unknown, RegExp][] = [
    [announcement("192.0.2.1:80"), /no loopback address/],
    [announcement("localhost:8000"), /no loopback address/],
    [announcement(gateway.address + "/x"), /no loopback address/],
    [{ ...good, address: 5 }, /no loopback address/],
    [{ ...good, version: 2 }, /version is not 1/],
    [{ ...good, version: "1" }, /version is not 1/],
    [[good], /version is not 1/],
    ["null", /version is not 1/],
    ["{", /not used/],
    [
      `{"version":1,"address":"127.0.0.1:9999","\\u0061ddress":${JSON.stringify(gateway.address)}}`,
      /a key stands twice/,
    ],
    [{ ...good, more: "x".repeat(5_000) }, /more than the 4096/],
  ];
  for (const [content, expected] of wrong) {
    await run.announce(content);
    assert.match(await reason({}, run.path), expected, JSON.stringify(content).slice(0, 80));
  }
  assert.equal(gateway.connections, 0);
  await run.announce(good);
  assert.equal((await look({}, run.path)).address, gateway.address);
});

Deno.test({
  name: "a file that others may write or read, a link, a pipe or a folder in its place is not used",
  ignore: Deno.build.os === "windows",
  async fn() {
    await using run = await runDirectory();
    await using gateway = new MockGateway(() => answer(200, HEALTHY));
    for (const mode of [0o644, 0o640, 0o620, 0o602, 0o660, 0o666]) {
      await run.announce(announcement(gateway.address), mode);
      assert.match(await reason({}, run.path), /others than its owner/, mode.toString(8));
    }
    await run.announce(announcement(gateway.address));
    await Deno.rename(run.file, `${run.path}/real.json`);
    await Deno.symlink(`${run.path}/real.json`, run.file);
    assert.match(await reason({}, run.path), /a link is not followed/);
    await Deno.remove(run.file);
    await Deno.mkdir(run.file);
    assert.match(await reason({}, run.path), /not a regular file/);
    await Deno.remove(run.file);
    const made = await new Deno.Command("mkfifo", { args: [run.file] }).output();
    assert.equal(made.code, 0);
    assert.match(await reason({}, run.path), /not a regular file/);
    assert.equal(gateway.connections, 0);
    // The control: the very same content as a plain private file is used.
    await Deno.remove(run.file);
    await Deno.rename(`${run.path}/real.json`, run.file);
    assert.equal((await look({}, run.path)).address, gateway.address);
  },
});

Deno.test({
  name: "a file of another user than the run directory's is not used",
  ignore: Deno.build.os === "windows" || Deno.uid() !== 0,
  async fn() {
    await using run = await runDirectory();
    await using gateway = new MockGateway(() => answer(200, HEALTHY));
    await run.announce(announcement(gateway.address));
    await Deno.chown(run.file, 12_345, null);
    assert.match(await reason({}, run.path), /belongs to another user/);
    await Deno.chown(run.file, 0, null);
    assert.equal((await look({}, run.path)).address, gateway.address);
  },
});

Deno.test({
  name:
    "addresses that the permissions do not cover are told as such, from a variable and from the file",
  permissions: { read: true, write: true, net: ["127.0.0.1"] },
  async fn() {
    await using run = await runDirectory();
    const only = /\[::1\]:7001.*only permitted to reach 127\.0\.0\.1/;
    assert.match(await reason({ FLUXGIT_GATEWAY_URL: "http://[::1]:7001" }), only);
    assert.match(await reason({ FLUXGIT_GATEWAY_URL: "127.0.0.2:7001" }), /only permitted/);
    await run.announce(announcement("[::1]:7001"));
    assert.match(await reason({}, run.path), only);
  },
});

Deno.test({
  name: "without any permission for the network that is what is told",
  permissions: {},
  async fn() {
    const text = await reason({ FLUXGIT_GATEWAY_ADDR: "127.0.0.1:7001" });
    assert.match(text, /127\.0\.0\.1:7001, but .* without the permission to reach 127\.0\.0\.1/);
  },
});

Deno.test({
  name: "with the permission, a gateway on [::1] is reached",
  async fn() {
    let listener: Deno.Listener;
    try {
      listener = Deno.listen({ hostname: "::1", port: 0 });
    } catch {
      return; // a machine without IPv6
    }
    await using run = await runDirectory();
    const { port } = listener.addr as Deno.NetAddr;
    const served = listener.accept().then(async (connection) => {
      await connection.read(new Uint8Array(4_096));
      await connection.write(new TextEncoder().encode(answer(200, HEALTHY)));
      connection.close();
    });
    await run.announce(announcement(`[::1]:${port}`));
    assert.equal((await look({}, run.path)).address, `[::1]:${port}`);
    await served;
    listener.close();
  },
});
