import assert from "node:assert/strict";
import { verifyLedger } from "../../../audit/mod.ts";
import { denoAtLeast } from "../../../scripts/lib/deno.ts";
import { BINARY, Host, serverEnv, until } from "../../e2e/host.ts";
import { Sandbox, useSandbox } from "../../fixtures/sandbox.ts";
import { FakeTerminal, GatewayProcess, program } from "./world.ts";

async function sandbox(): Promise<{ box: Sandbox; repo: string; runDir: string }> {
  const box = await Sandbox.create();
  useSandbox(box);
  const repo = await box.repo();
  await box.commit(repo, "first", { "a.txt": "one\n" });
  return { box, repo, runDir: `${box.root}/run` };
}

Deno.test("wrong arguments of gateway are told with the usage and end with 2", async () => {
  const wrong: [string[], RegExp][] = [
    [["--port"], /--port needs a number/],
    [["--port", "0"], /--port needs a number/],
    [["--port", "80"], /other than 80/],
    [["--port", "65536"], /--port needs a number/],
    [["--port", "1e3"], /--port needs a number/],
    [["--port", "-1"], /--port needs a number/],
    [["--port", "\u001b[2J"], /not \\u\{1b\}\[2J/],
    [["--attended"], /--attended is not an argument/],
    [["\u001b]0;x\u0007"], /\\u\{1b\}/],
    [["register"], /needs one path/],
    [["register", ""], /needs one path/],
    [["register", "a", "b"], /needs one path/],
    [["register", "--force"], /needs one path/],
  ];
  for (const [args, message] of wrong) {
    const terminal = new FakeTerminal({});
    assert.equal(await terminal.gateway(...args), 2, args.join(" "));
    assert.match(terminal.err, message);
    assert.match(terminal.err, /^fluxgit-sidecar: .*\nUsage: /);
    assert.equal(terminal.out, "");
  }
  for (const args of [["--help"], ["register", "--help"]]) {
    const terminal = new FakeTerminal({});
    assert.equal(await terminal.gateway(...args), 0);
    assert.match(terminal.err, /^Usage: /);
  }
});

Deno.test("without a terminal it needs --json, and never lets the code go into a file", async () => {
  const env = { FLUXGIT_RUN_DIR: "/nowhere" };
  const piped = new FakeTerminal(env, { interactive: false });
  assert.equal(await piped.gateway(), 2);
  assert.match(piped.err, /give --json to run the gateway unattended/);
  const redirected = new FakeTerminal(env, { screens: { stdout: true, stderr: false } });
  assert.equal(await redirected.gateway(), 2);
  assert.match(redirected.err, /standard error is no terminal: the pairing code would land/);
});

Deno.test("whatever it cannot start with is told in one line, ends with 1 and leaves no gateway.json", async () => {
  const { box, runDir } = await sandbox();
  await using _ = box;
  const start = async (env: Record<string, string>, args = ["--json"]) => {
    const terminal = new FakeTerminal({ FLUXGIT_RUN_DIR: runDir, ...env }, { interactive: false });
    terminal.close();
    const code = await terminal.gateway(...args);
    assert.equal(code, 1, terminal.err);
    assert.equal(terminal.out, "");
    assert.match(terminal.err, /^fluxgit-sidecar: [^\n]+\n$/);
    assert.equal(await Deno.stat(`${runDir}/gateway.json`).then(() => true, () => false), false);
    return terminal.err;
  };
  const policy = `${box.root}/policy.json`;
  await Deno.writeTextFile(policy, '{"version": 1, "rules": [], "rulez": []}');
  assert.match(
    await start({ FLUXGIT_MCP_AGENT_POLICY: policy }),
    /FLUXGIT_MCP_AGENT_POLICY .*unknown member "rulez"/,
  );
  assert.match(await start({ FLUXGIT_MCP_AGENT_POLICY: `${policy}.absent` }), /no such file/);
  assert.match(await start({ FLUXGIT_MCP_AGENT_POLICY: "" }), /names no file/);
  assert.match(
    await start({ FLUXGIT_MCP_AUDIT_LOG: "" }),
    /FLUXGIT_MCP_AUDIT_LOG is set but empty/,
  );
  assert.match(
    await start({ FLUXGIT_MCP_AUDIT_SIGN_KEY: `${box.root}/no-key` }),
    /signing key .*no such file/,
  );
  assert.match(await start({ FLUXGIT_RUN_DIR: "" }), /no run directory/);
  const taken = Deno.listen({ hostname: "127.0.0.1", port: 0 });
  const { port } = taken.addr as Deno.NetAddr;
  assert.match(
    await start({}, ["--json", "--port", String(port)]),
    new RegExp(`port ${port} of 127.0.0.1 is in use`),
  );
  taken.close();
  await Deno.writeTextFile(`${runDir}/gateway/journal.sqlite`, "x".repeat(100));
  assert.match(await start({}), /journal.*damaged.*Move it away/);
});

Deno.test("attended at a terminal: code and link are shown there, words renew them, the end of input ends it", async () => {
  const { box, runDir } = await sandbox();
  await using _ = box;
  const terminal = new FakeTerminal({ FLUXGIT_RUN_DIR: runDir });
  const running = terminal.gateway();
  const code = await terminal.shown(/Pairing code: ([A-Z2-7]{4}-[A-Z2-7]{4}) /);
  const link = await terminal.shown(/\(works once\): (http:\/\/127\.0\.0\.1:\d+\/#\S+)/);
  const address = new URL(link).host;
  const health = await (await fetch(`http://${address}/v1/mcp/health`)).json();
  assert.deepEqual(health, { service: "fluxgit-gateway", apiVersion: 1, attended: true });
  terminal.type("nonsense");
  await terminal.shown(/known words: link, code, quit/);
  const sign = async (body: unknown) => {
    const response = await fetch(`http://${address}/v1/human/session`, {
      method: "POST",
      headers: { "content-type": "application/json" },
      body: JSON.stringify(body),
    });
    await response.body?.cancel();
    return response.status;
  };
  assert.equal(await sign({ code }), 200);
  assert.equal(await sign({ link: link.split("#")[1] }), 200);
  terminal.err = "";
  terminal.type("code");
  const fresh = await terminal.shown(/Pairing code: ([A-Z2-7]{4}-[A-Z2-7]{4}) /);
  await terminal.shown(/it was used; type link for a new one/);
  assert.notEqual(fresh, code);
  assert.equal(await sign({ code: fresh }), 200);
  terminal.err = "";
  terminal.type("link");
  const renewed = await terminal.shown(/\(works once\): (http:\S+)/);
  assert.notEqual(renewed, link);
  assert.equal(terminal.out, "", "standard output is for data");
  assert.deepEqual(terminal.dropped, ["sys", "ffi"]);
  terminal.close();
  assert.equal(await running, 0);
});

Deno.test("--json prints one line, and one more for each renewal; it does not end with its input", async () => {
  const { box, runDir } = await sandbox();
  await using _ = box;
  await using gateway = await GatewayProcess.start(box);
  const { ready } = gateway;
  assert.deepEqual(Object.keys(ready), [
    "address",
    "approveUrl",
    "pairingCode",
    "runDir",
    "attended",
  ]);
  assert.match(ready.pairingCode, /^[A-Z2-7]{8}$/);
  assert.equal(ready.runDir, runDir);
  assert.equal(ready.attended, false);
  assert(ready.approveUrl.startsWith(`http://${ready.address}/#`));
  await gateway.type("code\nlink\n");
  const second = JSON.parse((await gateway.line())!);
  const third = JSON.parse((await gateway.line())!);
  assert.notEqual(second.pairingCode, ready.pairingCode);
  assert.equal(second.approveUrl, ready.approveUrl);
  assert.equal(third.pairingCode, second.pairingCode);
  assert.notEqual(third.approveUrl, second.approveUrl);
  assert.equal((await gateway.approvals(["list"])).code, 1, "the old code is void");
  await gateway.type("quit\n");
  assert.equal((await gateway.ended()).code, 0);
  assert.equal(gateway.stderr.replace(/^.*wrong pairing code.*\n/gm, ""), "");
  assert.equal(await Deno.stat(`${runDir}/gateway.json`).then(() => true, () => false), false);
});

Deno.test("each signal ends an idle gateway at once, with everything put away", async () => {
  const { box, runDir } = await sandbox();
  await using _ = box;
  for (const signal of ["SIGINT", "SIGTERM", "SIGHUP"] as const) {
    await using gateway = await GatewayProcess.start(box);
    // A request whose body never comes does not hold it up.
    const { hostname, port } = new URL(`http://${gateway.ready.address}`);
    using half = await Deno.connect({ hostname, port: Number(port) });
    await half.write(new TextEncoder().encode(
      `POST /v1/mcp/operation/preview/commit HTTP/1.1\r\nHost: ${gateway.ready.address}\r\n` +
        "Content-Type: application/json\r\nContent-Length: 100\r\n\r\n{",
    ));
    const started = performance.now();
    gateway.kill(signal);
    const { code } = await gateway.ended();
    assert.equal(code, 0, signal);
    // A second is promised; ten are no accident.
    assert(performance.now() - started < 10_000);
    assert.equal(await Deno.stat(`${runDir}/gateway.json`).then(() => true, () => false), false);
  }
});

Deno.test("a signal during an operation lets it finish, and its outcome is recorded", async () => {
  const { box, repo, runDir } = await sandbox();
  await using _ = box;
  const go = `${box.root}/go`, seen = `${box.root}/seen`;
  await box.write(repo, {
    ".git/hooks/pre-commit":
      `#!/bin/sh\ntouch '${seen}'\nwhile [ ! -e '${go}' ]; do sleep 0.05; done\n`,
    "a.txt": "two\n",
  });
  await Deno.chmod(`${repo}/.git/hooks/pre-commit`, 0o755);
  await using gateway = await GatewayProcess.start(box);
  const { previewId } = await gateway.propose("commit", repo, { message: "Slow", stageAll: true });
  const approval = gateway.approvals(["approve", previewId]);
  await until(() => Deno.stat(seen).then(() => true, () => false), "the hook runs");
  gateway.kill("SIGTERM");
  await until(() => gateway.stderr.includes("ends after it"), "it says that it waits");
  gateway.kill("SIGINT");
  await Deno.writeTextFile(go, "");
  const { code, stdout } = await approval;
  assert.equal(code, 0, stdout);
  assert.equal((await gateway.ended()).code, 0);
  assert.equal((await box.git(repo, "log", "-1", "--format=%s")).trim(), "Slow");
  await using again = await GatewayProcess.start(box);
  assert.equal((await again.status(previewId)).status, "completed");
  assert((await Deno.readTextFile(`${runDir}/audit/mcp.jsonl`)).includes('"decision":"execute"'));
});

Deno.test("register prints the id that a proposal would get, twice the same, by any path inside", async () => {
  const { box, repo, runDir } = await sandbox();
  await using _ = box;
  await Deno.mkdir(`${repo}/sub`);
  const first = await program(box, ["gateway", "register", repo]);
  assert.equal(first.code, 0, first.stderr);
  assert.match(first.stdout, /^repo-[0-9a-f]{8}\n$/);
  const again = await program(box, ["gateway", "register", "repo/sub"]);
  assert.equal(again.stdout, first.stdout);
  assert.equal(
    await Deno.readTextFile(`${runDir}/repos/${first.stdout.trim()}.path`),
    `${repo}\n`,
  );
  for (const path of [`${box.root}/absent`, box.home, "\u001b[2J"]) {
    const bad = await program(box, ["gateway", "register", path]);
    assert.equal(bad.code, 1, path);
    assert.match(bad.stderr, /^fluxgit-sidecar: .*cannot be registered/);
    assert(!bad.stderr.includes("\u001b"));
    assert.equal(bad.stdout, "");
  }
});

Deno.test("decisions and the sidecar's own calls share one ledger that verifies", async () => {
  const { box, repo, runDir } = await sandbox();
  await using _ = box;
  await box.write(repo, { "a.txt": "two\n" });
  await using gateway = await GatewayProcess.start(box);
  const host = new Host({ env: serverEnv(box) });
  await host.initialize();
  for (let i = 0; i < 3; i++) {
    await host.call("repo.status", { repoPath: repo });
    const proposal = await host.payload("operation.preview.branch", {
      repoPath: repo,
      name: `side-${i}`,
      checkout: false,
      reason: "to see it in the ledger",
    });
    assert.equal(proposal.accepted, true, JSON.stringify(proposal));
    const { code, stderr } = await gateway.approvals(["approve", proposal.previewId]);
    assert.equal(code, 0, stderr);
  }
  await host[Symbol.asyncDispose]();
  gateway.kill("SIGTERM");
  await gateway.ended();
  const path = `${runDir}/audit/mcp.jsonl`;
  const report = await verifyLedger(path);
  assert(report.ok, JSON.stringify(report.failure));
  const entries = (await Deno.readTextFile(path)).trim().split("\n").map((line) =>
    JSON.parse(line)
  );
  const count = (name: string, value: string) =>
    entries.filter((entry) => entry[name] === value).length;
  assert.equal(count("event_type", "write_proposal"), 3);
  assert.equal(count("decision", "approve"), 3);
  assert.equal(count("decision", "execute"), 3);
  const scopes = new Set(entries.map((entry) => entry.repo_scope));
  assert.equal(scopes.size, 1, "one fingerprint for both sides");
  const verify = await program(box, ["verify-audit", path]);
  assert.equal(verify.code, 0, verify.stderr);
});

Deno.test({
  name: "thousands of idle connections cost the gateway its listener for a moment, not its life",
  ignore: BINARY !== null || Deno.build.os === "windows",
  async fn() {
    const { box, repo } = await sandbox();
    await using _ = box;
    // A low ceiling makes a few hundred connections enough.
    const child = new Deno.Command("sh", {
      args: [
        "-c",
        `ulimit -n 160; exec "$0" "$@"`,
        Deno.execPath(),
        "run",
        "-q",
        "-P=strict",
        "--no-remote",
        "--no-prompt",
        `${Deno.cwd()}/main.ts`,
        "gateway",
        "--json",
      ],
      cwd: Deno.cwd(),
      clearEnv: true,
      env: serverEnv(box),
      stdin: "piped",
      stdout: "piped",
      stderr: "piped",
    }).spawn();
    const reader = child.stdout.getReader();
    const ready = JSON.parse(new TextDecoder().decode((await reader.read()).value));
    const [hostname, port] = ready.address.split(":");
    const sign = async () => {
      const response = await fetch(`http://${ready.address}/v1/human/session`, {
        method: "POST",
        headers: { "content-type": "application/json" },
        body: JSON.stringify({ code: ready.pairingCode }),
      });
      return (await response.json()).session as string;
    };
    const session = await sign();
    const list = async (bearer: string) => {
      const response = await fetch(`http://${ready.address}/v1/human/proposals`, {
        headers: { authorization: `Bearer ${bearer}` },
      });
      await response.body?.cancel();
      return response.status;
    };
    assert.equal(await list(session), 200);
    let stderr = "";
    const complaining = (async () => {
      for await (const chunk of child.stderr) stderr += new TextDecoder().decode(chunk);
    })();
    // Until it has lost its listener, or takes no more (what happens depends on the runtime).
    const held: Deno.TcpConn[] = [];
    const lost = () => stderr.includes("listener was lost");
    for (let i = 0, refused = 0; i < 600 && refused < 5 && !lost(); i++) {
      const connection = await Deno.connect({
        hostname,
        port: Number(port),
        signal: AbortSignal.timeout(1_000),
      }).catch(() => null);
      if (connection === null) refused++;
      else held.push(connection);
    }
    assert(held.length > 100);
    for (const connection of held) connection.close();
    await until(async () => {
      const answer = await fetch(`http://${ready.address}/v1/mcp/health`).catch(() => null);
      await answer?.body?.cancel();
      return answer?.status === 200;
    }, "it serves again on the same port");
    // Somebody else may have had the port for a moment: a session from before counts no more.
    assert.equal(await list(session), lost() ? 401 : 200);
    assert.equal(await list(await sign()), 200);
    assert(repo);
    child.kill("SIGTERM");
    await child.stdin.close().catch(() => {});
    await reader.cancel();
    assert.equal((await child.status).code, 0, stderr);
    await complaining;
    if (denoAtLeast(2, 9)) assert.match(stderr, /listener was lost .*opened again/);
  },
});
