import assert from "node:assert/strict";
import { TextLineStream } from "./lines.ts";
import { ROOT } from "../../scripts/lib/deno.ts";
import { startBrowser, watch } from "./house.ts";
import { Sandbox } from "../fixtures/sandbox.ts";

Deno.test("the program itself, with its own permissions, serves the page and all that it asks for", async () => {
  await using sandbox = await Sandbox.create();
  const repo = await sandbox.repo();
  await sandbox.commit(repo, "First", { "a.txt": "one\n" });
  await sandbox.write(repo, { "a.txt": "two\n", "lost.txt": "only here\n" });
  const child = new Deno.Command(Deno.execPath(), {
    args: ["run", "-q", "-P=strict", "--no-remote", "main.ts", "gateway", "--json"],
    cwd: ROOT,
    env: { HOME: sandbox.home, FLUXGIT_RUN_DIR: `${sandbox.root}/run` },
    stdin: "piped",
    stdout: "piped",
    stderr: "null",
  }).spawn();
  const lines = new TextLineStream(child.stdout);
  const browser = await startBrowser();
  try {
    const { address, approveUrl } = JSON.parse(await lines.next());
    const page = await browser.newPage();
    const faults = watch(page);
    await page.goto(approveUrl);
    await page.locator(".connection.live").waitFor();
    const previewId = crypto.randomUUID();
    const response = await fetch(`http://${address}/v1/mcp/operation/preview/discard`, {
      method: "POST",
      headers: { "content-type": "application/json" },
      body: JSON.stringify({
        previewId,
        agentId: "sample-agent",
        idempotencyKey: `discard:call:${previewId}`,
        operationType: "discard",
        repoPath: repo,
        reason: "Not needed",
        requestedAt: new Date().toISOString(),
        paths: ["a.txt", "lost.txt"],
      }),
    });
    await response.body?.cancel();
    assert.equal(response.status, 202);
    await page.locator("a[data-id]").click();
    await page.getByText("A restore point is made first").waitFor();
    await page.getByRole("button", { name: "Show content" }).click();
    await page.getByText("only here").waitFor();
    await page.locator("#words").fill((await page.locator(".typed strong").textContent())!);
    await page.getByRole("button", { name: "Approve" }).click();
    await page.getByRole("heading", { name: "It was approved and carried out." }).waitFor();
    await page.getByRole("button", { name: "Undo …" }).click();
    await page.locator(".restore-preview .diff-file").first().waitFor();
    await page.getByRole("button", { name: "Undo", exact: true }).click();
    await page.locator("main").getByText("Done, and compared").waitFor();
    assert.equal(await Deno.readTextFile(`${repo}/lost.txt`), "only here\n");
    assert.deepEqual(faults, []);
  } finally {
    await browser.close();
    child.kill("SIGTERM");
    await lines.cancel();
    await child.stdin.close().catch(() => {});
    await child.status;
  }
});
