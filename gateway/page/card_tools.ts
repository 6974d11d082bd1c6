import type { Coverage, Proposal } from "./shapes.ts";

/** What the card needs of the page around it. */
export interface CardTools {
  /** Content of a file that would be lost. */
  readonly lostFile: (
    path: string,
  ) => Promise<{ text: string | null; note: string | null; truncated: boolean }>;
  readonly wholeDiff: () => Promise<string>;
  readonly coverage: () => Promise<Coverage>;
  /** Other proposals that wait for the same repository. */
  readonly neighbours: readonly Proposal[];
}
