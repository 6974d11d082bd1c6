import type { ToolRun } from "../hub.ts";

/** `toolhub.ping` */
export const run: ToolRun<{ message: string }> = ({ message }) => ({
  status: "ok",
  service: "mcp-toolhub",
  echo: message,
});
