/** The protocol room on this process's own standard streams, with the tools of the fixtures. */

import { serveProtocol } from "../../protocol/server.ts";
import { openStdio } from "../../protocol/stdio.ts";
import { FIXTURE_TOOLS, fixtureTable, IDENTITY } from "./fixture_tools.ts";

const server = serveProtocol({
  ...openStdio(),
  identity: IDENTITY,
  tools: fixtureTable(FIXTURE_TOOLS),
  log: (line) => Deno.stderr.writeSync(new TextEncoder().encode(`fixture-server: ${line}\n`)),
});
Deno.addSignalListener("SIGTERM", () => server.stop());
Deno.exit(await server.done);
