/** Carries a request out up to the moment after its consumption, and waits there for ever. */

import { openHub } from "../../toolhub/open_hub.ts";
import { openFolders } from "../../toolhub/state/open.ts";
import { createHubTable } from "../../toolhub/table.ts";

const [tool = "", id = ""] = Deno.args;
const env = (name: string) => Deno.env.get(name);
const hub = openHub({
  folders: await openFolders(env),
  env,
  complain() {},
  hooks: {
    async afterConsume() {
      Deno.stdout.writeSync(new TextEncoder().encode("consumed\n"));
      await new Promise((resolve) => setTimeout(resolve, 600_000));
    },
  },
});
await createHubTable(hub, () => {}).call(tool, { request_id: id }, {
  era: { kind: "modern" },
  agentId: "test",
  clientVersion: null,
  signal: new AbortController().signal,
  progress() {},
});
