import assert from "node:assert/strict";
import { canonicalBytes, canonicalJson } from "../../audit/canonical.ts";
import { sha256 } from "../../audit/hash.ts";
import { verifyLedger } from "../../audit/mod.ts";
import { parseStrictJson } from "../../audit/strict_json.ts";
import { Signer } from "../../audit/signing.ts";
import { run as runVerify } from "../../cli/verify_audit.ts";
import { secondVerify } from "./second_verifier.ts";
import * as support from "./support.ts";
import { Place, runCommand, SEED } from "./support.ts";

/** Two rotated segments and an active file. */
const IN_A_FILE = 27;
const ENTRIES = 60;

interface Case {
  name: string;
  change(place: Place): void | Promise<void>;
  /** What finds it: `PUBKEY` and `HEAD` stand for the key's file and the kept head. */
  flags?: string[];
  /** 0-based file and 1-based line of the first bad place; null when it is about no one file. */
  at: [number, number] | null;
  reason: RegExp;
  /** Without the flags: what the report must admit instead of finding it. */
  otherwise?: RegExp;
}

type Entry = Record<string, unknown>;

function edit(line: string, change: (entry: Entry) => void): string {
  const entry = parseStrictJson(line) as Entry;
  change(entry);
  return canonicalJson(entry);
}

/** Gives a changed entry a hash that fits it again, as an attacker would. */
function rehash(entry: Entry): void {
  const { entryHash: _hash, signature: _signature, ...rest } = entry;
  entry.entryHash = sha256(canonicalBytes(rest));
}

function resign(entry: Entry, seed: Uint8Array): void {
  const { signature: _signature, ...rest } = entry;
  entry.signature = new Signer(seed).signText(canonicalBytes(rest));
}

function onLines(file: (place: Place) => string, change: (lines: string[]) => string[]) {
  return (place: Place) => place.setLines(change(place.lines(file(place))), file(place));
}

const active = () => "mcp.jsonl";
const segment = (number: number) => (place: Place) => place.segments()[number]!;

const CASES: Case[] = [
  {
    name: "one member of an entry edited",
    change: onLines(segment(1), (lines) => {
      lines[4] = edit(lines[4]!, (entry) => entry.result = "error");
      return lines;
    }),
    at: [1, 5],
    reason: /sequence \d+: content does not match its entryHash/,
  },
  {
    name: "an entry edited and its hash made to fit",
    change: onLines(segment(0), (lines) => {
      lines[4] = edit(lines[4]!, (entry) => {
        entry.result = "error";
        rehash(entry);
      });
      return lines;
    }),
    at: [0, 6],
    reason: /previousHash is not the hash of the entry before/,
  },
  {
    name: "the newest entry edited and its hash made to fit",
    change: onLines(active, (lines) => {
      lines.push(edit(lines.pop()!, (entry) => {
        entry.result = "error";
        rehash(entry);
      }));
      return lines;
    }),
    flags: ["--pubkey", "PUBKEY"],
    at: [2, 6],
    reason: /signature does not verify/,
    otherwise: /key not pinned/,
  },
  {
    name: "two entries swapped",
    change: onLines(active, ([a, b, c, ...rest]) => [a!, c!, b!, ...rest]),
    at: [2, 2],
    reason: /sequence is \d+, expected \d+/,
  },
  {
    name: "an entry repeated",
    change: onLines(active, ([a, b, ...rest]) => [a!, b!, b!, ...rest]),
    at: [2, 3],
    reason: /sequence is \d+, expected \d+/,
  },
  {
    name: "a forged entry inserted and everything behind it chained anew, unsigned",
    change: onLines(active, ([first, ...rest]) => {
      const forged = edit(first!, (entry) => entry.tool = "forged");
      let before = parseStrictJson(first!) as Entry;
      const lines = [first!];
      for (const line of [forged, ...rest]) {
        lines.push(edit(line, (entry) => {
          delete entry.signature;
          entry.id = crypto.randomUUID();
          entry.sequence = (before.sequence as number) + 1;
          entry.previousHash = before.entryHash;
          rehash(entry);
          before = entry;
        }));
      }
      return lines;
    }),
    flags: ["--require-signed"],
    at: [2, 2],
    reason: /not signed/,
    otherwise: /key not pinned/,
  },
  {
    name: "an entry deleted",
    change: onLines(segment(0), (lines) => lines.toSpliced(2, 1)),
    at: [0, 3],
    reason: /sequence is 4, expected 3/,
  },
  {
    name: "the oldest entries cut off",
    change: onLines(segment(0), (lines) => lines.slice(3)),
    at: [0, 1],
    reason: /starts at sequence 4, which no retention checkpoint explains/,
  },
  {
    name: "the oldest segment deleted",
    change: (place) => Deno.removeSync(place.file(place.segments()[0]!)),
    at: [0, 1],
    reason: /no retention checkpoint explains/,
  },
  {
    name: "the newest entries cut off",
    change: onLines(active, (lines) => lines.slice(0, -2)),
    flags: ["--expect-head", "HEAD"],
    at: null,
    reason: /ends at sequence 58; the expected head is at 60/,
    otherwise: /head not pinned/,
  },
  {
    name: "the active file deleted",
    change: (place) => Deno.removeSync(place.ledger),
    flags: ["--expect-head", "HEAD"],
    at: null,
    reason: /the expected head is at 60/,
    otherwise: /head not pinned/,
  },
  {
    name: "the whole folder emptied",
    change: (place) => place.names().forEach((name) => Deno.removeSync(place.file(name))),
    flags: ["--expect-head", "HEAD"],
    at: null,
    reason: /the ledger is empty/,
    otherwise: /head not pinned/,
  },
  {
    name: "the newest entry replaced by another of the same number",
    change: onLines(active, (lines) => {
      lines.push(edit(lines.pop()!, (entry) => {
        entry.tool = "forged";
        rehash(entry);
        resign(entry, SEED); // by whoever has the key
      }));
      return lines;
    }),
    flags: ["--expect-head", "HEAD", "--pubkey", "PUBKEY", "--require-signed"],
    at: [2, 6],
    reason: /the entry is not the one of the expected head/,
    otherwise: /head not pinned/,
  },
  {
    name: "a segment in the middle lost",
    change: (place) => Deno.removeSync(place.file(place.segments()[1]!)),
    at: [1, 1],
    reason: /sequence is 55, expected 28/,
  },
  {
    name: "a segment renamed to other numbers",
    change: (place) => {
      const name = place.segments()[1]!;
      Deno.renameSync(place.file(name), place.file(name.replace(/0028-/, "0029-")));
    },
    at: [1, 0],
    reason: /name does not fit its content/,
  },
  {
    name: "a segment renamed so that the ranges overlap",
    change: (place) => {
      const name = place.segments()[1]!;
      Deno.renameSync(place.file(name), place.file(name.replace(/0028-/, "0002-")));
    },
    at: null,
    reason: /rotated segments overlap/,
  },
  {
    name: "a segment renamed to something that is no segment",
    change: (place) => {
      const name = place.segments()[1]!;
      Deno.renameSync(place.file(name), place.file(`${name}.old`));
    },
    at: null,
    reason: /is not the name of a rotated segment/,
  },
  {
    name: "the names of two segments swapped",
    change: (place) => {
      const [a, b] = place.segments().map((name) => place.file(name)) as [string, string];
      Deno.renameSync(a, `${place.root}/aside`);
      Deno.renameSync(b, a);
      Deno.renameSync(`${place.root}/aside`, b);
    },
    at: [0, 1],
    reason: /no retention checkpoint explains/,
  },
  {
    name: "the whole ledger replaced by one with another key",
    change: async (place) => {
      for (const name of place.names()) Deno.removeSync(place.file(name));
      await place.fill(3, { config: { signSeed: support.OTHER_SEED } });
    },
    flags: ["--pubkey", "PUBKEY"],
    at: [0, 1],
    reason: /signature does not verify/,
    otherwise: /key not pinned/,
  },
  {
    name: "the whole ledger replaced by an unsigned one",
    change: async (place) => {
      for (const name of place.names()) Deno.removeSync(place.file(name));
      await place.fill(3);
    },
    flags: ["--pubkey", "PUBKEY", "--require-signed"],
    at: [0, 1],
    reason: /not signed/,
    otherwise: /key not pinned/,
  },
  {
    name: "one entry signed by another key",
    change: onLines(segment(0), (lines) => {
      lines[6] = edit(lines[6]!, (entry) => resign(entry, support.OTHER_SEED));
      return lines;
    }),
    flags: ["--pubkey", "PUBKEY"],
    at: [0, 7],
    reason: /signature does not verify/,
    otherwise: /key not pinned/,
  },
  {
    name: "one signature stripped",
    change: onLines(segment(1), (lines) => {
      lines[2] = edit(lines[2]!, (entry) => delete entry.signature);
      return lines;
    }),
    flags: ["--require-signed"],
    at: [1, 3],
    reason: /not signed/,
    otherwise: /key not pinned/,
  },
  {
    name: "one signature stripped together with its key id and version",
    change: onLines(segment(1), (lines) => {
      lines[2] = edit(lines[2]!, (entry) => {
        for (const name of ["signature", "signatureKeyId", "signatureVersion"]) delete entry[name];
      });
      return lines;
    }),
    at: [1, 3],
    reason: /content does not match its entryHash/,
  },
  {
    name: "a signature in another spelling of base64",
    change: onLines(active, (lines) => {
      lines[0] = edit(lines[0]!, (entry) => entry.signature += "==");
      return lines;
    }),
    at: [2, 1],
    reason: /canonical base64url/,
  },
  {
    name: "the signature version of the newest entry lowered, its hash made to fit",
    change: onLines(active, (lines) => {
      lines.push(edit(lines.pop()!, (entry) => {
        entry.signatureVersion = 1;
        rehash(entry);
      }));
      return lines;
    }),
    flags: ["--pubkey", "PUBKEY"],
    at: [2, 6],
    reason: /signature does not verify/,
    otherwise: /key not pinned/,
  },
  {
    name: "the chain version lowered",
    change: onLines(active, (lines) => {
      lines[1] = edit(lines[1]!, (entry) => entry.auditChainVersion = 0);
      return lines;
    }),
    at: [2, 2],
    reason: /unknown auditChainVersion/,
  },
  {
    name: "an entry made a record without a chain",
    change: onLines(active, (lines) => {
      lines[1] = edit(lines[1]!, (entry) => delete entry.auditChainVersion);
      return lines;
    }),
    at: [2, 2],
    reason: /a record without a chain behind chained entries/,
  },
  {
    name: "a key that stands twice, the last one being the true one",
    change: onLines(active, (lines) => {
      lines[1] = `{"result":"forged",${lines[1]!.slice(1)}`;
      return lines;
    }),
    at: [2, 2],
    reason: /a key stands twice/,
  },
  {
    name: "a number changed to an equal one of another kind",
    change: onLines(active, (lines) => {
      lines[1] = lines[1]!.replace(/"number":(\d+)/, '"number":$1.0');
      return lines;
    }),
    at: [2, 2],
    reason: /content does not match its entryHash/,
  },
  {
    name: "a text changed to its other Unicode form",
    change: onLines(active, (lines) => {
      lines[1] = lines[1]!.replace('"repo.status"', '"repo.st\u0430tus"');
      return lines;
    }),
    at: [2, 2],
    reason: /content does not match its entryHash/,
  },
  {
    name: "a byte order mark put in front",
    change: onLines(segment(0), ([first, ...rest]) => [`\ufeff${first}`, ...rest]),
    at: [0, 1],
    reason: /not valid JSON/,
  },
  {
    name: "a blank line put in",
    change: onLines(active, ([first, ...rest]) => [first!, "", ...rest]),
    at: [2, 2],
    reason: /blank line/,
  },
  {
    name: "the last line torn",
    change: (place) => {
      const { size } = Deno.statSync(place.ledger);
      Deno.truncateSync(place.ledger, size - 20);
    },
    at: [2, 6],
    reason: /torn .* next append repairs it/,
  },
  {
    name: "two files given the same segmentId",
    change: onLines(active, (lines) => {
      const newest = lines.pop()!;
      return [
        ...lines,
        edit(newest, (entry) => {
          entry.segmentId = crypto.randomUUID();
          rehash(entry);
        }),
      ];
    }),
    at: [2, 6],
    reason: /segmentId differs within one file/,
  },
  {
    name: "a segment replaced by a link to it",
    change: (place) => {
      const path = place.file(place.segments()[1]!);
      Deno.renameSync(path, `${place.root}/elsewhere`);
      Deno.symlinkSync(`${place.root}/elsewhere`, path);
    },
    at: null,
    reason: /is a symbolic link/,
  },
  {
    name: "a segment given a second name",
    change: (place) => Deno.linkSync(place.file(place.segments()[1]!), `${place.root}/second`),
    at: null,
    reason: /more than one name/,
  },
  {
    name: "a checkpoint forged",
    change: (place) =>
      Deno.writeTextFileSync(
        place.file(`mcp.jsonl.checkpoint-${"0".repeat(19)}3-${crypto.randomUUID()}.json`),
        '{"auditCheckpointVersion":1,"nextSequence":1,"previousHash":"genesis"}',
        { mode: 0o600 },
      ),
    at: null,
    reason: /checkpoint .* nextSequence is not an integer above 1/,
  },
  {
    name: "an unsigned checkpoint put beside a signed ledger",
    change: (place) =>
      Deno.writeTextFileSync(
        place.file(`mcp.jsonl.checkpoint-${"0".repeat(19)}3-${crypto.randomUUID()}.json`),
        `{"auditCheckpointVersion":1,"nextSequence":3,"previousHash":"sha256:${"0".repeat(64)}"}`,
        { mode: 0o600 },
      ),
    flags: ["--require-signed"],
    at: null,
    reason: /checkpoint .*: not signed/,
    otherwise: /key not pinned/,
  },
];

Deno.test("the tamper matrix", async (t) => {
  await using original = await Place.create();
  await original.fillFiles(ENTRIES, IN_A_FILE, { bytes: 700, config: { signSeed: SEED } });
  const key = original.write("key.pub", support.PUBLIC_PEM);
  const newest = parseStrictJson(original.lines().at(-1)!) as Entry;
  const head = `${newest.sequence}:${newest.entryHash}`;
  const fill = (flags: string[]) =>
    flags.map((flag) => flag === "PUBKEY" ? key : flag === "HEAD" ? head : flag);
  const all = fill(["--pubkey", "PUBKEY", "--require-signed", "--expect-head", "HEAD"]);

  await t.step("control: the untouched ledger holds under every flag", async () => {
    assert.equal(original.segments().length, 2);
    const ran = await runCommand(runVerify, [original.ledger, ...all]);
    assert.deepEqual([ran.code, ran.err], [0, ""]);
    const second = await secondVerify(original.folder, "mcp.jsonl", {
      keys: [support.PUBLIC_KEY],
      requireSigned: true,
    });
    assert.deepEqual([second.reason, second.entries], ["", ENTRIES]);
  });

  for (const { name, change, flags = [], at, reason, otherwise } of CASES) {
    await t.step(name, async () => {
      await using place = await copyOf(original);
      await change(place);
      const ran = await runCommand(runVerify, [place.ledger, "--json", ...fill(flags)]);
      assert.equal(ran.code, 3, ran.out);
      assert.match(ran.err, /^verify-audit: verification failed: .+\n$/);
      assert.match(ran.err, reason);
      const { ok, failure } = JSON.parse(ran.out);
      assert.equal(ok, false);
      assert.deepEqual(failure.segment === null ? null : [failure.segment, failure.line], at);
      // Nothing of an entry's content is shown.
      assert.doesNotMatch(ran.out + ran.err, /xxxx|forged|repo\.st/);
      if (otherwise) {
        const open = await runCommand(runVerify, [place.ledger]);
        assert.equal(open.code, 0, "the flag is what finds it");
        assert.match(open.err, otherwise);
      }
      const second = await secondVerify(place.folder, "mcp.jsonl", {
        ...(flags.includes("--pubkey") ? { keys: [support.PUBLIC_KEY] } : {}),
        requireSigned: flags.includes("--require-signed"),
      });
      // The second verifier knows neither heads nor links.
      if (!flags.includes("--expect-head") && !/link|name \(|overlap/.test(ran.err + name)) {
        assert.equal(second.ok, false, "the second verifier finds it too");
      }
    });
  }
});

Deno.test("files made to stall or flood a verifier are refused at once", async (t) => {
  const attack = async (name: string, make: (place: Place) => void, reason: RegExp) => {
    await t.step(name, async () => {
      await using place = await Place.create();
      make(place);
      const report = await verifyLedger(place.ledger);
      assert.match(report.failure?.reason ?? "", reason);
    });
  };
  await attack("ten gigabytes of nothing", (place) => {
    Deno.createSync(place.ledger).close();
    Deno.truncateSync(place.ledger, 10_000_000_000);
  }, /larger than 4456448 bytes/);
  await attack("one endless line", (place) => {
    Deno.writeTextFileSync(place.ledger, `{"a":"${"x".repeat(4_000_000)}`);
  }, /longer than 262144 bytes/);
  await attack("a million brackets", (place) => {
    Deno.writeTextFileSync(place.ledger, `{"a":${"[".repeat(200_000)}\n`);
  }, /not valid JSON/);
  await attack("more segments than there can be", (place) => {
    for (let at = 1; at <= 6; at++) {
      const number = String(at).padStart(20, "0");
      Deno.createSync(
        place.file(`mcp.jsonl.segment-${number}-${number}-${crypto.randomUUID()}`),
      ).close();
    }
  }, /more than 5 rotated segments/);
  await attack("more checkpoints than there can be", (place) => {
    for (let at = 1; at <= 17; at++) {
      Deno.createSync(place.file(`mcp.jsonl.checkpoint-${at}`)).close();
    }
  }, /more than 16 checkpoint files/);
  await attack("a crowded folder", (place) => {
    for (let at = 0; at < 4_100; at++) Deno.createSync(place.file(`${at}`)).close();
  }, /more than 4096 entries/);
  if (Deno.build.os !== "windows") {
    await attack("a pipe that nobody writes to", (place) => {
      const made = new Deno.Command("mkfifo", { args: [place.ledger] }).outputSync();
      assert.equal(made.code, 0);
    }, /not a regular file/);
    await attack("a folder that others can look into", (place) => {
      Deno.chmodSync(place.folder, 0o755);
    }, /open to group or others/);
    await attack("a folder reached through a link", (place) => {
      Deno.renameSync(place.folder, `${place.root}/real`);
      Deno.symlinkSync(`${place.root}/real`, place.folder);
    }, /is a symbolic link/);
  }
});

async function copyOf(original: Place): Promise<Place> {
  const copy = await Place.create();
  for (const name of original.names()) {
    Deno.copyFileSync(original.file(name), copy.file(name));
  }
  return copy;
}
