/**
 * The MCP Inspector's command line against a real server process. It runs by `npx`: one of its
 * optional dependencies does not exist on npm, which npm skips and Deno's resolver refuses.
 */

import assert from "node:assert/strict";
import { FIXTURE_TOOLS } from "./fixture_tools.ts";

const INSPECTOR = "@modelcontextprotocol/inspector@2.12.0";
const SERVER = new URL("fixture_server.ts", import.meta.url).href;

/** Runs one method and gives the JSON result that the Inspector prints. */
async function inspect(era: string, folder: string, ...method: string[]) {
  const { code, stdout, stderr } = await new Deno.Command(
    Deno.build.os === "windows" ? "npx.cmd" : "npx",
    {
      args: [
        ...["-y", INSPECTOR, "--cli", Deno.execPath(), "run", "-q", "--no-remote", SERVER],
        ...["--protocol-era", era, "--method", ...method],
      ],
      // Its list of servers would be written to the home folder otherwise.
      env: { MCP_CATALOG_PATH: `${folder}/catalog.json` },
      cwd: folder,
      stdin: "null",
    },
  ).output();
  assert.equal(code, 0, new TextDecoder().decode(stderr));
  return JSON.parse(new TextDecoder().decode(stdout));
}

Deno.test("the Inspector lists and calls tools in each era", async () => {
  const folder = await Deno.makeTempDir();
  try {
    for (const era of ["legacy", "auto", "modern"]) {
      // Strict: problems of a schema that some hosts would stumble over are errors.
      const { tools } = await inspect(era, folder, "tools/list", "--strict");
      assert.deepEqual(
        tools.map(({ name }: { name: string }) => name),
        FIXTURE_TOOLS.map(({ name }) => name),
      );
      const call = ["tools/call", "--tool-name", "fixture.echo", "--tool-arg", "n=5"];
      const { structuredContent, isError } = await inspect(era, folder, ...call);
      assert.deepEqual(structuredContent, {
        echo: { n: 5 },
        agentId: "inspector-cli",
        clientVersion: "2.12.0",
      });
      assert.notEqual(isError, true);
    }
  } finally {
    await Deno.remove(folder, { recursive: true });
  }
});
