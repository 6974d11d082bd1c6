import { advertisedSchema, enforcedSchema, type GeneratedFile, loadTools } from "./catalog.ts";

/** `docs/tools.md`: every tool with its arguments, from the same definitions that the server serves. */
export async function generateReference(root: URL): Promise<GeneratedFile[]> {
  const parts = [
    "# Tools\n",
    "Generated from the code by `deno task generate`. Repository paths are absolute; paths in arguments and answers are relative to the top of the work tree.\n",
  ];
  for (const { tool } of await loadTools(root)) {
    const schema = advertisedSchema(enforcedSchema(tool));
    const required = new Set((schema["required"] ?? []) as string[]);
    const rows = Object.entries(
      (schema["properties"] ?? {}) as Record<string, Record<string, unknown>>,
    ).map(([name, member]) =>
      `| \`${name}\` | ${typeText(member)} | ${required.has(name) ? "yes" : ""} | ${
        member["default"] === undefined ? "" : `\`${JSON.stringify(member["default"])}\``
      } |`
    );
    parts.push(
      `## \`${tool.name}\`\n`,
      `${tool.title}. ${tool.description}\n`,
      `Tier \`${tool.tier}\`; ${
        tool.annotations.readOnlyHint ? "reads only" : `proposes a change, risk \`${tool.risk}\``
      }.\n`,
      rows.length > 0
        ? `| argument | type | required | default |\n| --- | --- | --- | --- |\n${
          rows.join("\n")
        }\n`
        : "No arguments.\n",
    );
  }
  return [{ path: "docs/tools.md", text: parts.join("\n") }];
}

function typeText(member: Record<string, unknown>): string {
  if (member["enum"]) return (member["enum"] as unknown[]).map((v) => `\`${v}\``).join(", ");
  if ("const" in member) return `\`${JSON.stringify(member["const"])}\``;
  if (member["type"] === "array") {
    return `list of ${typeText((member["items"] ?? {}) as Record<string, unknown>)}`;
  }
  const min = member["minimum"], max = member["maximum"];
  const range = min !== undefined && max !== undefined
    ? ` ${min} to ${max}`
    : min !== undefined
    ? ` from ${min}`
    : "";
  return `${member["type"] ?? "any"}${range}`;
}
