import assert from "node:assert/strict";
import { generateKeyPairSync } from "node:crypto";
import { AUDIT_SETTINGS, ledgerFolders, readLedgerConfig } from "../../audit/config.ts";
import type { AuditSettings } from "../../audit/config.ts";
import { OTHER_PUBLIC_KEY, Place, privatePem, PUBLIC_KEY, SEED } from "./support.ts";

const RUN = { runDir: "/run/dir", cwd: "/where" };

/** Reads settings; a failure is its message. */
async function read(settings: AuditSettings, surroundings = RUN) {
  try {
    return await readLedgerConfig(settings, surroundings);
  } catch (error) {
    assert.equal((error as Error).name, "AuditConfigError");
    assert.doesNotMatch((error as Error).message, /\n/);
    return (error as Error).message;
  }
}

Deno.test("paths come from the settings, else from the run directory", async () => {
  assert.deepEqual(await read({}), {
    path: "/run/dir/audit/mcp.jsonl",
    signSeed: null,
    archive: null,
  });
  assert.deepEqual(
    await read({ FLUXGIT_MCP_AUDIT_LOG: "logs/a.jsonl", FLUXGIT_MCP_AUDIT_ARCHIVE: "/old/" }),
    { path: "/where/logs/a.jsonl", signSeed: null, archive: "/old" },
  );
  const config = await readLedgerConfig({ FLUXGIT_MCP_AUDIT_LOG: "/a/b.jsonl" }, { runDir: null });
  assert.deepEqual(ledgerFolders(config!), ["/a"]);
  assert.deepEqual(ledgerFolders({ ...config!, archive: "/c" }), ["/a", "/c"]);
});

Deno.test("a wrong setting stops the start with one line that names it", async () => {
  assert.match(await read({}, { ...RUN, runDir: null as never }) as string, /no run directory/);
  assert.match(await read({ FLUXGIT_MCP_AUDIT_LOG: "" }) as string, /AUDIT_LOG is set but empty/);
  for (const path of ["/", "/a/", ".", "/a/..", "a\0b", "\ud800"]) {
    assert.match(await read({ FLUXGIT_MCP_AUDIT_LOG: path }) as string, /no usable file name/);
  }
  assert.match(await read({ FLUXGIT_MCP_AUDIT_ARCHIVE: "" }) as string, /ARCHIVE .* no folder/);
  assert.match(
    await read({ FLUXGIT_MCP_AUDIT_LOG: "/a/b", FLUXGIT_MCP_AUDIT_ARCHIVE: "/a/" }) as string,
    /the ledger's own folder/,
  );
  assert.match(await read({ FLUXGIT_MCP_AUDIT_SIGN_KEY: "" }) as string, /SIGN_KEY .* no file/);
});

Deno.test("switching the ledger off forgives a path, never a key", async () => {
  const off = { FLUXGIT_MCP_AUDIT_DISABLED: "" };
  assert.equal(await read(off), null);
  assert.equal(await read({ ...off, FLUXGIT_MCP_AUDIT_LOG: "" }), null);
  assert.match(
    await read({ ...off, FLUXGIT_MCP_AUDIT_SIGN_KEY: "/no/key" }) as string,
    /signing key/,
  );
});

Deno.test("a good key is read, whichever tool wrote it", async () => {
  await using place = await Place.create();
  const load = async (pem: string) => {
    const path = place.write(`${crypto.randomUUID()}.pem`, pem);
    const config = await read({ FLUXGIT_MCP_AUDIT_SIGN_KEY: path });
    assert.equal(typeof config, "object", String(config));
    return (config as { signSeed: Uint8Array }).signSeed;
  };
  assert.deepEqual(await load(privatePem(SEED)), SEED);
  assert.deepEqual(await load(privatePem(SEED).replaceAll("\n", "\r\n")), SEED);
  const pair = generateKeyPairSync("ed25519");
  const pem = pair.privateKey.export({ type: "pkcs8", format: "pem" }) as string;
  const seed = pair.privateKey.export({ format: "jwk" }).d!;
  assert.equal((await load(pem)).toBase64({ alphabet: "base64url", omitPadding: true }), seed);
  // The longer form carries the public key as well.
  assert.deepEqual(await load(pemOf(longForm(PUBLIC_KEY))), SEED);
});

/** PKCS#8 version 1: the seed and a public key. */
function longForm(publicKey: Uint8Array): Uint8Array {
  const head = Uint8Array.fromHex("3051020101300506032b657004220420");
  return Uint8Array.of(...head, ...SEED, 0x81, 0x21, 0x00, ...publicKey);
}

function pemOf(der: Uint8Array, label = "PRIVATE KEY"): string {
  return `-----BEGIN ${label}-----\n${der.toBase64()}\n-----END ${label}-----\n`;
}

Deno.test("every bad key stops the start and says why; nothing runs unsigned instead", async (t) => {
  await using place = await Place.create();
  const good = privatePem(SEED);
  const der = Uint8Array.fromHex("302e020100300506032b657004220420" + SEED.toHex());
  const rsa = generateKeyPairSync("rsa", { modulusLength: 2048 });
  const ed = generateKeyPairSync("ed25519");
  const contents: Record<string, [string | Uint8Array, RegExp]> = {
    "an empty file": ["", /is empty/],
    "a megabyte": [good + "\n".repeat(1_000_000), /larger than 65536 bytes/],
    "no UTF-8": [Uint8Array.of(0xff, 0xfe), /not valid UTF-8/],
    "no PEM": ["hello", /not a PEM file/],
    "an RSA key": [
      rsa.privateKey.export({ type: "pkcs8", format: "pem" }) as string,
      /not an Ed25519 key/,
    ],
    "a key with a passphrase": [
      pemOf(der, "ENCRYPTED PRIVATE KEY"),
      /ENCRYPTED PRIVATE KEY.*passphrase cannot be used/,
    ],
    "a public key": [
      ed.publicKey.export({ type: "spki", format: "pem" }) as string,
      /PEM holds PUBLIC KEY/,
    ],
    "two keys in one file": [good + good, /not one well-formed PEM block/],
    "no base64": [good.replace("MC4C", "MC4="), /no valid base64|not one well-formed|another form/],
    "a key cut short": [pemOf(der.slice(0, -1)), /cut short|another form/],
    "bytes behind the key": [pemOf(Uint8Array.of(...der, 0)), /do not belong/],
    "an unknown version": [pemOf(der.with(4, 2)), /unknown PKCS#8 version/],
    "another curve": [pemOf(der.with(11, 0x71)), /not an Ed25519 key/],
    "a pair that does not match": [pemOf(longForm(OTHER_PUBLIC_KEY)), /does not belong/],
  };
  const refuses = async (path: string, reason: RegExp) => {
    const message = await read({ FLUXGIT_MCP_AUDIT_SIGN_KEY: path });
    assert.equal(typeof message, "string");
    assert.match(message as string, reason);
    assert.doesNotMatch(message as string, /MC4C|AAECAwQF/, "no key material in the message");
  };
  for (const [name, [content, reason]] of Object.entries(contents)) {
    await t.step(name, () => refuses(place.write(`${crypto.randomUUID()}`, content), reason));
  }
  await t.step("no such file", () => refuses(`${place.root}/none`, /no such file/));
  await t.step("no such folder", () => refuses(`${place.root}/none/key`, /signing key/));
  await t.step("a folder", () => refuses(place.folder, /not a regular file/));
  if (Deno.build.os === "windows") return;
  const key = place.write("key.pem", good);
  await t.step("control: the same key in a private file", async () => {
    assert.equal(typeof await read({ FLUXGIT_MCP_AUDIT_SIGN_KEY: key }), "object");
  });
  await t.step("a key that others may read", async () => {
    for (const mode of [0o644, 0o640, 0o604, 0o620]) {
      Deno.chmodSync(key, mode);
      await refuses(key, /group or others.*0600/);
    }
    Deno.chmodSync(key, 0o600);
  });
  await t.step("a link to a key", async () => {
    Deno.symlinkSync(key, `${place.root}/link`);
    await refuses(`${place.root}/link`, /symbolic link/);
  });
  await t.step("a key in a folder that is a link", async () => {
    Deno.symlinkSync(place.root, `${place.folder}/up`);
    await refuses(`${place.folder}/up/key.pem`, /symbolic link/);
  });
  await t.step("a key with a second name", async () => {
    Deno.linkSync(key, `${place.root}/second`);
    await refuses(key, /more than one name/);
    Deno.removeSync(`${place.root}/second`);
  });
  await t.step("a pipe", async () => {
    new Deno.Command("mkfifo", { args: [`${place.root}/pipe`] }).outputSync();
    await refuses(`${place.root}/pipe`, /not a regular file/);
  });
});

Deno.test("the key is needed at start only: it may be gone while the ledger runs", async () => {
  await using place = await Place.create();
  const key = place.write("key.pem", privatePem(SEED));
  const config = await readLedgerConfig({
    FLUXGIT_MCP_AUDIT_LOG: place.ledger,
    FLUXGIT_MCP_AUDIT_SIGN_KEY: key,
  }, RUN);
  Deno.removeSync(key);
  // As it reaches a worker: a plain copy.
  await place.fill(2, { config: structuredClone(config!) });
  assert.equal(place.lines().every((line) => line.includes('"signature":"')), true);
});

Deno.test("reading the settings loads nothing of node", async () => {
  const output = await new Deno.Command(Deno.execPath(), {
    args: ["info", "--json", new URL("../../audit/config.ts", import.meta.url).pathname],
  }).output();
  const { modules } = JSON.parse(new TextDecoder().decode(output.stdout)) as {
    modules: { specifier: string }[];
  };
  const names = modules.map(({ specifier }) => specifier);
  assert.ok(names.length > 3);
  assert.deepEqual(names.filter((name) => /^(?:node|npm):/.test(name)), []);
  assert.deepEqual(AUDIT_SETTINGS.length, 4);
});
