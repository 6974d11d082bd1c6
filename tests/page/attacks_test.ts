import assert from "node:assert/strict";
import type { Browser } from "playwright-core";
import { House, startBrowser } from "./house.ts";
import { scene } from "./scenes.ts";

/** A name that leads to this machine, as a rebound one would, and one of an attacker's own. */
const REBOUND = "rebound.example", EVIL = "evil.example";

let browser: Browser;
Deno.test.beforeAll(async () =>
  void (browser = await startBrowser([
    `--host-resolver-rules=MAP ${REBOUND} 127.0.0.1, MAP ${EVIL} 127.0.0.1`,
  ]))
);
Deno.test.afterAll(() => browser.close());

/** A web server of somebody else's on this machine; keeps what it is sent. */
function stranger(html: string) {
  const seen: { path: string; headers: Record<string, string> }[] = [];
  const server = Deno.serve({ hostname: "127.0.0.1", port: 0, onListen() {} }, (request) => {
    seen.push({
      path: new URL(request.url).pathname,
      headers: Object.fromEntries(request.headers),
    });
    return new Response(html, { headers: { "content-type": "text/html" } });
  });
  return { seen, port: server.addr.port, close: () => server.shutdown() };
}

Deno.test("a form or fetch of another site reaches nothing, with the browser signed in", async () => {
  await using house = await House.open();
  const made = await scene(house, "branch");
  const id = await house.propose("branch", made.repo, made.members);
  const { context } = await house.window(browser);
  const other = stranger("<title>evil</title>");
  const page = await context.newPage();
  await page.goto(`http://${EVIL}:${other.port}/`);
  const tries = await page.evaluate(async ({ origin, id }) => {
    const outcome = async (path: string, init: RequestInit) => {
      try {
        const response = await fetch(origin + path, init);
        return `${response.type} ${response.status}`;
      } catch {
        return "blocked";
      }
    };
    const text = { "content-type": "text/plain" };
    return [
      await outcome("/v1/human/proposals", {}),
      await outcome("/v1/human/proposals", { credentials: "include" }),
      await outcome(`/v1/human/proposals/${id}/reject`, {
        method: "POST",
        body: "{}",
        headers: text,
      }),
      await outcome(`/v1/human/proposals/${id}/reject`, {
        method: "POST",
        mode: "no-cors",
        body: "{}",
      }),
      await outcome("/v1/mcp/operation/preview/branch", {
        method: "POST",
        mode: "no-cors",
        body: "{}",
      }),
      await outcome(`/v1/mcp/operation/cancel/${id}`, {
        method: "POST",
        mode: "no-cors",
        body: '{"agentId":"sample-agent"}',
      }),
      await outcome("/v1/human/session", {
        method: "POST",
        body: '{"code":"AAAAAAAA"}',
        headers: { "content-type": "application/json" },
      }),
      await outcome("/", { mode: "no-cors" }),
    ];
  }, { origin: house.origin, id });
  assert.deepEqual(tries.filter((one) => one !== "blocked" && one !== "opaque 0"), []);
  await page.evaluate(({ origin, id }) => {
    const form = document.createElement("form");
    form.method = "post";
    form.action = `${origin}/v1/human/proposals/${id}/reject`;
    form.enctype = "text/plain";
    document.body.append(form);
    form.submit();
  }, { origin: house.origin, id });
  await page.waitForURL(`${house.origin}/**`);
  assert.match((await page.textContent("body"))!, /forbidden/);
  assert.equal((await house.status(id))["status"], "pending");
  await other.close();
  await context.close();
});

Deno.test("the page is in nobody's frame, and its script and style are not lent to others", async () => {
  await using house = await House.open();
  const { context } = await house.window(browser);
  const other = stranger(
    `<iframe src="${house.origin}/"></iframe><script src="${house.origin}/page.js"></script><link rel="stylesheet" href="${house.origin}/page.css">`,
  );
  for (const host of [EVIL, "127.0.0.1"]) {
    const page = await context.newPage();
    const refused = new Map<string, number>();
    page.on("response", (response) => {
      if (response.url().startsWith(house.origin)) refused.set(response.url(), response.status());
    });
    await page.goto(`http://${host}:${other.port}/`);
    await page.waitForTimeout(500);
    for (const frame of page.frames().slice(1)) {
      assert.equal(await frame.locator(".queue, .sign-in").count().catch(() => 0), 0);
    }
    for (const [url, status] of refused) assert.equal(status, 403, url);
    await page.close();
  }
  await other.close();
  await context.close();
});

Deno.test("a rebound name gets neither page nor answers", async () => {
  await using house = await House.open();
  const context = await browser.newContext();
  const page = await context.newPage();
  const response = await page.goto(`http://${REBOUND}:${house.port}/`);
  assert.equal(response!.status(), 403);
  const inside = await page.evaluate(async () => (await fetch("/v1/human/proposals")).status);
  assert.equal(inside, 403);
  // The control: the same request under the right name is answered.
  assert.equal((await page.goto(house.origin))!.status(), 200);
  await context.close();
});

Deno.test("a session of another run opens nothing", async () => {
  await using one = await House.open();
  const first = await one.window(browser);
  const session = await first.page.evaluate(() => sessionStorage.getItem("fluxgit-session"));
  const ask = async () => {
    const response = await fetch(`${one.origin}/v1/human/proposals`, {
      headers: { authorization: `Bearer ${session}` },
    });
    await response.body?.cancel();
    return response.status;
  };
  assert.equal(await ask(), 200, "the control: it was good in its own run");
  await one.restart();
  assert.equal(await ask(), 401);
  await first.page.getByLabel("Pairing code").waitFor();
  await first.context.close();
});

Deno.test("another local server in the same browser sees nothing of the session", async () => {
  await using house = await House.open();
  const { context, page } = await house.window(browser);
  const session = await page.evaluate(() => sessionStorage.getItem("fluxgit-session"));
  const other = stranger("<title>other</title>");
  const theirs = await context.newPage();
  await theirs.goto(`http://127.0.0.1:${other.port}/`);
  const reached = await theirs.evaluate(async (origin) => {
    const kept = JSON.stringify({ ...sessionStorage, ...localStorage, cookie: document.cookie });
    const answer = await fetch(`${origin}/v1/human/proposals`, { credentials: "include" }).then(
      (response) => String(response.status),
      () => "blocked",
    );
    return { kept, answer, opener: opener === null };
  }, house.origin);
  // Even a link to it from the signed-in window carries no secret along.
  await page.evaluate((port) => open(`http://127.0.0.1:${port}/linked`), other.port);
  await theirs.waitForTimeout(300);
  const sent = JSON.stringify(other.seen);
  assert.ok(other.seen.some((one) => one.path === "/linked"), "the control: it was visited");
  assert.ok(!sent.includes(session!), "no header has the session");
  assert.ok(other.seen.every((one) => !one.headers["cookie"] && !one.headers["authorization"]));
  assert.ok(!reached.kept.includes(session!));
  assert.deepEqual([reached.answer, reached.opener], ["blocked", true]);
  await other.close();
  await context.close();
});

Deno.test("a browser of an agent's, without the secret, sees a door and nothing else", async () => {
  await using house = await House.open();
  const made = await scene(house, "branch");
  const id = await house.propose("branch", made.repo, made.members);
  const { context: persons } = await house.window(browser);
  const context = await browser.newContext();
  const page = await context.newPage();
  await page.goto(`${house.origin}/#/p/${id}`);
  await page.getByLabel("Pairing code").waitFor();
  const answers = await page.evaluate(async (id) => {
    const json = { "content-type": "application/json" };
    const status = async (path: string, init: RequestInit = {}) => (await fetch(path, init)).status;
    return [
      await status("/v1/human/proposals"),
      await status(`/v1/human/proposals/${id}`),
      await status("/v1/human/events"),
      await status("/v1/human/ledger"),
      await status("/v1/human/restore"),
      await status(`/v1/human/proposals/${id}/approve`, {
        method: "POST",
        headers: json,
        body: '{"digest":"x"}',
      }),
      await status(`/v1/human/proposals/${id}/approve`, {
        method: "POST",
        headers: { ...json, authorization: `Bearer ${"A".repeat(43)}` },
        body: '{"digest":"x"}',
      }),
      // Agents' routes take nothing from a browser at all.
      await status(`/v1/mcp/operation/status/${id}`),
    ];
  }, id);
  assert.deepEqual(answers, [401, 401, 401, 401, 401, 401, 401, 403]);
  assert.ok(!(await page.content()).includes("greeter"), "nothing of the proposal is there");
  await persons.close();
  await context.close();
});

Deno.test("what the page is served with allows one script, one style, this gateway, and no frame", async () => {
  await using house = await House.open();
  for (const path of ["/", "/page.js", "/page.css", "/icon.svg"]) {
    const response = await fetch(house.origin + path);
    const text = await response.text();
    const policy = response.headers.get("content-security-policy")!;
    for (
      const part of [
        "default-src 'none'",
        "script-src 'self'",
        "style-src 'self'",
        "connect-src 'self'",
        "base-uri 'none'",
        "form-action 'none'",
        "frame-ancestors 'none'",
      ]
    ) assert.ok(policy.split("; ").includes(part), `${path}: ${part}`);
    assert.ok(!/unsafe|https?:/.test(policy));
    assert.equal(response.headers.get("x-frame-options"), "DENY");
    assert.equal(response.headers.get("referrer-policy"), "no-referrer");
    assert.equal(response.headers.get("cross-origin-opener-policy"), "same-origin");
    assert.equal(response.headers.get("cross-origin-resource-policy"), "same-origin");
    assert.equal(response.headers.get("access-control-allow-origin"), null);
    assert.equal(response.headers.get("set-cookie"), null);
    if (path === "/") {
      assert.ok(!/<script(?![^>]*\bsrc=)|\son\w+=|style=/i.test(text), "nothing inline");
    }
  }
});

Deno.test("the page asks nobody but the gateway for anything, and stays below 150 kB", async () => {
  await using house = await House.open();
  const context = await browser.newContext();
  const page = await context.newPage();
  const asked: string[] = [];
  let bytes = 0;
  page.on("request", (request) => asked.push(request.url()));
  page.on("response", async (response) => {
    if (/\/(?:page\.(?:js|css)|icon\.svg)?$/.test(response.url())) {
      bytes += (await response.body().catch(() => new Uint8Array())).length;
    }
  });
  await page.goto(house.gateway.approveUrl()!);
  await page.locator(".connection.live").waitFor();
  await page.waitForTimeout(300);
  assert.deepEqual(asked.filter((url) => !url.startsWith(`${house.origin}/`)), []);
  assert.ok(bytes > 10_000 && bytes < 150_000, `${bytes} bytes`);
  await context.close();
});

Deno.test("the policy holds: a script or style that got into the page does not run", async () => {
  await using house = await House.open();
  const { page, context, faults } = await house.window(browser);
  const ran = await page.evaluate(async () => {
    const script = document.createElement("script");
    let refused = 0;
    try {
      script.textContent = "globalThis.pwned = 1";
      document.body.append(script);
    } catch {
      refused++;
    }
    try {
      document.body.innerHTML += "<img src=x onerror='globalThis.pwned=1'>";
    } catch {
      refused++;
    }
    await new Promise((resolve) => setTimeout(resolve, 200));
    return { pwned: "pwned" in globalThis, refused };
  });
  assert.deepEqual(ran, { pwned: false, refused: 2 });
  assert.ok(faults.length > 0, "the control: the browser told what it refused");
  await context.close();
});
