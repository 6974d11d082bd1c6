import assert from "node:assert/strict";
import { mayReach, parseGatewayAddress, readGatewaySetting } from "../../common/gateway_address.ts";

const ACCEPTED: Record<string, string> = {
  "127.0.0.1:59647": "127.0.0.1:59647",
  "http://127.0.0.1:59647": "127.0.0.1:59647",
  "http://127.0.0.1:59647/": "127.0.0.1:59647",
  " 127.0.0.1:7 ": "127.0.0.1:7",
  "HTTP://127.0.0.1:5": "127.0.0.1:5",
  "127.0.0.5:9": "127.0.0.5:9",
  "127.255.255.254:9": "127.255.255.254:9",
  "[::1]:59647": "[::1]:59647",
  "http://[0:0:0:0:0:0:0:1]:9": "[::1]:9",
  "127.1:5000": "127.0.0.1:5000",
  "2130706433:5000": "127.0.0.1:5000",
  "127.0.0.1:65535": "127.0.0.1:65535",
};

const REJECTED = [
  "",
  "   ",
  "localhost:59647",
  "127.0.0.1",
  "127.0.0.1:80",
  "http://127.0.0.1:080",
  "::1:59647",
  "127.0.0.1:65536",
  "127.0.0.1:-1",
  "127.0.0.1:x",
  "http://[::ffff:127.0.0.1]:9",
  "[::2]:9",
  "0.0.0.0:9",
  "192.0.2.1:9",
  "128.0.0.1:9",
  "example.com:9",
  "127.0.0.1.example.com:9",
  "https://127.0.0.1:9",
  "ftp://127.0.0.1:9",
  "http://u@127.0.0.1:9",
  "http://:p@127.0.0.1:9",
  "http://@127.0.0.1:9",
  "http://127.0.0.1:9/x",
  "http://127.0.0.1:9//",
  "http://127.0.0.1:9?",
  "http://127.0.0.1:9#",
  "http://127.0.0.1:9/?a=1",
  "http://127.0.0.1\\@192.0.2.1:9",
  "127.0.0.1:9\n192.0.2.1",
  "127.0.0.1:5 9",
  "unix:///tmp/socket",
  "127.0.0.1:9".padStart(400, "0"),
];

Deno.test("gateway addresses are loopback IP literals with an explicit port, in every spelling of the table", () => {
  for (const [input, normal] of Object.entries(ACCEPTED)) {
    assert.equal(parseGatewayAddress(input), normal, JSON.stringify(input));
  }
});

Deno.test("names, other hosts, other schemes, dropped ports, users, paths, queries and fragments are no gateway address", () => {
  for (const input of REJECTED) {
    assert.equal(parseGatewayAddress(input), null, JSON.stringify(input));
  }
});

Deno.test("the first variable with a usable address counts, and unusable ones before it are told", () => {
  const read = (env: Record<string, string>) => readGatewaySetting((name) => env[name]);
  assert.deepEqual(read({}), { found: null, passedOver: [] });
  assert.deepEqual(
    read({ FLUXGIT_MCP_HANDSHAKE_ADDR: " ", FLUXGIT_GATEWAY_URL: "http://127.0.0.1:9/" }),
    { found: { address: "127.0.0.1:9", variable: "FLUXGIT_GATEWAY_URL" }, passedOver: [] },
  );
  assert.deepEqual(
    read({ FLUXGIT_MCP_HANDSHAKE_ADDR: "localhost:1", FLUXGIT_GATEWAY_ADDR: "127.0.0.1:2" }),
    {
      found: { address: "127.0.0.1:2", variable: "FLUXGIT_GATEWAY_ADDR" },
      passedOver: ["FLUXGIT_MCP_HANDSHAKE_ADDR"],
    },
  );
  assert.deepEqual(
    read({ FLUXGIT_MCP_HANDSHAKE_ADDR: "127.0.0.1:1", FLUXGIT_GATEWAY_ADDR: "127.0.0.1:2" }).found
      ?.address,
    "127.0.0.1:1",
  );
  assert.deepEqual(read({ FLUXGIT_GATEWAY_ADDR: "nowhere" }), {
    found: null,
    passedOver: ["FLUXGIT_GATEWAY_ADDR"],
  });
});

Deno.test("an address that the granted permissions do not cover is out of reach", () => {
  const only = (host: string) => (host.startsWith("127.0.0.1:") ? "granted" : "prompt");
  assert.equal(mayReach("127.0.0.1:9", only), true);
  assert.equal(mayReach("[::1]:9", only), false);
  assert.equal(mayReach("127.0.0.5:9", only), false);
});

Deno.test({
  name: "under --allow-net=127.0.0.1 the runtime itself says that [::1] is out of reach",
  permissions: { net: ["127.0.0.1"] },
  fn() {
    assert.equal(mayReach("127.0.0.1:9"), true);
    assert.equal(mayReach("[::1]:9"), false);
    assert.equal(mayReach("127.0.0.5:9"), false);
  },
});
