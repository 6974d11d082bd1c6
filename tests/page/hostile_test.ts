import assert from "node:assert/strict";
import type { Browser, Page } from "playwright-core";
import { House, startBrowser } from "./house.ts";

let browser: Browser;
Deno.test.beforeAll(async () => void (browser = await startBrowser()));
Deno.test.afterAll(() => browser.close());

const MARKUP =
  `<img src=x onerror="window.pwned=1"><script>window.pwned=1</script><a href="javascript:pwned=1">x</a>`;
const HIDDEN = "a\u202Eb\u2066c\u200Bd\u{E0041}e\x1b[2Jf\x07g\x08h\u0430i";

/** Everything bad at once, and long. */
const REASON = `${MARKUP}\n${HIDDEN}\n&lt;b&gt; ${"x".repeat(3_700)}`;

/** Nothing became markup, ran, or was hidden. */
async function assertHarmless(page: Page): Promise<void> {
  const found = await page.evaluate(() => ({
    pwned: "pwned" in globalThis,
    elements:
      document.querySelectorAll("main img, main script, main iframe, main a[href^=javascript]")
        .length,
    // deno-lint-ignore no-control-regex
    raw: /[\u202a-\u202e\u2066-\u2069\u200b\u001b\u0007\u0008]|[\u{e0000}-\u{e007f}]/u.test(
      document.body.textContent! + document.title +
        [...document.querySelectorAll("*")].flatMap((one) =>
          [...one.attributes].map((a) => a.value)
        ).join(""),
    ),
  }));
  assert.deepEqual(found, { pwned: false, elements: 0, raw: false });
}

Deno.test("hostile texts in every field of a commit are shown as what they are", async () => {
  await using house = await House.open();
  const { sandbox } = house;
  const repo = await sandbox.repo("repo<b>&\u202Etxt");
  await sandbox.commit(repo, "First", { "a.txt": "one\n" });
  const name = `<img src=x onerror=pwned=1>\u202E\u0430.txt`;
  await sandbox.write(repo, { [name]: `${MARKUP}\n${HIDDEN}\n`, "a.txt": `${HIDDEN}${MARKUP}\n` });
  const id = await house.propose("commit", repo, {
    message: `${MARKUP} ${HIDDEN}\n\n${"long ".repeat(2_000)}`,
    stageAll: true,
  }, { reason: REASON, agentId: "agent-1" });
  const { page, context, faults } = await house.window(browser);
  await page.locator(`a[data-id="${id}"]`).click();
  await page.locator(".diff-file").first().waitFor();
  const card = (await page.locator("article").textContent())!;
  for (const code of ["U+202E", "U+2066", "U+200B", "U+E0041", "U+001B", "U+0007", "U+0008"]) {
    assert.ok(card.includes(code), `${code} is shown`);
  }
  assert.ok(card.includes("<script>window.pwned=1</script>"), "markup is text");
  const reason = page.locator(".reason .prose");
  assert.ok((await reason.textContent())!.length < 2_000, "a long text is folded");
  await page.getByRole("button", { name: /^Show all 3,\d+ characters$/ }).click();
  assert.ok((await reason.textContent())!.length > 3_700);
  await page.getByRole("button", { name: /^Show all \d+,\d+ characters$/ }).last().waitFor();
  await page.getByText(/^It has 10,\d+ characters; the rest/).waitFor();
  assert.ok(
    await page.locator(".non-ascii").count() > 0,
    "letters that only look plain are marked",
  );
  await assertHarmless(page);
  // The same texts once it has ended, and in the history.
  await page.getByRole("button", { name: "Approve" }).click();
  await page.locator("#outcome-title").waitFor();
  await assertHarmless(page);
  await page.goto(`${house.origin}/#/history`);
  await page.locator(".timeline").waitFor();
  await page.locator("summary").first().click();
  await page.getByRole("button", { name: "Preview going back to before this" }).first().click();
  await page.locator(".restore-preview").waitFor();
  await assertHarmless(page);
  assert.deepEqual(faults, []);
  await context.close();
});

Deno.test("hostile names of branches, authors, subjects and remotes are shown as what they are", async () => {
  await using house = await House.open();
  const { sandbox } = house;
  const repo = await sandbox.repo();
  await sandbox.commit(repo, "First", { "a.txt": "one\n" });
  const branch = `x<script>pwned=1</script>\u0430\u202E`;
  await sandbox.git(repo, "switch", "-q", "-c", branch);
  await sandbox.write(repo, { "b.txt": "two\n" });
  await sandbox.git(repo, "add", "-A");
  await sandbox.git(
    repo,
    "-c",
    `user.name=<img src=x onerror=pwned=1>\u202Eeve`,
    "commit",
    "-q",
    "-m",
    `${MARKUP} ${HIDDEN.replaceAll("\x1b", "")}`,
  );
  await sandbox.git(repo, "switch", "-q", "main");
  await sandbox.git(repo, "remote", "add", "origin", `https://<b>\u202E@example.org/x.git`);
  const { page, context, faults } = await house.window(browser);
  const ids = [
    await house.propose(
      "merge",
      repo,
      { sourceRef: branch, targetRef: "main", strategy: "merge" },
      { reason: REASON },
    ),
    await house.propose("push", repo, {
      remote: "origin",
      branch: "main",
      setUpstream: false,
      forceWithLease: false,
    }, { reason: REASON }),
    await house.propose(
      "branchDelete",
      repo,
      { targets: [{ repoPath: repo, branches: [branch] }] },
      { reason: REASON },
    ),
  ];
  for (const id of ids) {
    await page.goto(`${house.origin}/#/p/${id}`);
    await page.locator(`a[data-id="${id}"][aria-current]`).waitFor();
    await page.locator("#card-title").waitFor();
    await page.locator(".coverage li, .coverage p:nth-of-type(2)").first().waitFor();
    assert.ok((await page.locator("article").textContent())!.includes("U+202E"));
    await assertHarmless(page);
  }
  assert.deepEqual(faults, []);
  await context.close();
});

Deno.test("two texts that differ only by a hidden character look different", async () => {
  await using house = await House.open();
  const repo = await house.sandbox.repo();
  await house.sandbox.commit(repo, "First", { "a.txt": "one\n" });
  const { page, context } = await house.window(browser);
  const shown: string[] = [];
  for (const reason of ["delete nothing", "delete\u2060 nothing"]) {
    const id = await house.propose("branch", repo, { name: `b${shown.length}` }, { reason });
    await page.goto(`${house.origin}/#/p/${id}`);
    await page.locator(".reason", { hasText: "nothing" }).waitFor();
    await page.locator(`a[data-id="${id}"][aria-current]`).waitFor();
    shown.push((await page.locator(".reason .prose").innerText()).trim());
    await page.locator(`a[data-id="${id}"]`).waitFor();
    await house.cancel(id);
    await page.getByRole("heading", { name: "Nothing waits for you" }).waitFor();
  }
  assert.notEqual(shown[0], shown[1]);
  assert.match(shown[1]!, /U\+2060/);
  await context.close();
});

Deno.test("a rejection's reason with markup comes back as text", async () => {
  await using house = await House.open();
  const repo = await house.sandbox.repo();
  await house.sandbox.commit(repo, "First", { "a.txt": "one\n" });
  const id = await house.propose("branch", repo, { name: "b" });
  const { page, context } = await house.window(browser);
  await page.locator(`a[data-id="${id}"]`).click();
  await page.getByRole("button", { name: "Reject …" }).click();
  await page.locator("#reason").fill(MARKUP);
  await page.getByRole("button", { name: "Reject", exact: true }).click();
  await page.locator("#outcome-title").waitFor();
  assert.ok((await page.locator(".outcome").textContent())!.includes("<script>"));
  await assertHarmless(page);
  await context.close();
});
