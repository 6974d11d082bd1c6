/** Tokens as the o200k vocabulary counts them. */

import { countTokens as count } from "gpt-tokenizer/encoding/o200k_base";

/** Tokens of a text; names of special tokens in it are text like any other. */
export function countTokens(text: string): number {
  return count(text, { disallowedSpecial: new Set() });
}

/** One tool as `tools/list` shows it. */
export interface ListedTool {
  readonly name: string;
  readonly title?: string | undefined;
  readonly description?: string | undefined;
  readonly inputSchema: unknown;
  readonly outputSchema?: unknown;
}

/** What a model reads of a list of tools: names, titles, descriptions and input schemas. */
export function listTokens(tools: readonly ListedTool[]): number {
  return countTokens(JSON.stringify(
    tools.map(({ name, title, description, inputSchema }) => ({
      name,
      ...(title === undefined ? {} : { title }),
      description,
      inputSchema,
    })),
  ));
}
