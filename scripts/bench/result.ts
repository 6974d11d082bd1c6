/** What a benchmark measured, how it is held against its budget, and how both are shown. */

/** What is promised about a measurement. */
export type Budget =
  /** At most `max` times the base; or at most `orPlus` above it, where that is more. */
  | { readonly kind: "ratio"; readonly max: number; readonly orPlus?: number }
  /** At most this much, whatever the machine: only for what does not depend on it. */
  | { readonly kind: "most"; readonly value: number }
  /** At most this much above the base: told, but never a reason to fail. */
  | { readonly kind: "plus"; readonly value: number };

/** One row of the table. */
export interface Measurement {
  readonly name: string;
  /** `ms`, `tokens`, `MB`, `ratio` … */
  readonly unit: string;
  readonly ours: number;
  /** What it is compared with, measured in the same run; null for a number of its own. */
  readonly base: { readonly name: string; readonly value: number } | null;
  readonly budget: Budget | null;
}

export type Verdict = "pass" | "miss" | "reported";

/** Holds one measurement against its budget. */
export function judge({ ours, base, budget }: Measurement): Verdict {
  if (budget === null) return "reported";
  if (budget.kind === "most") return ours <= budget.value ? "pass" : "miss";
  if (base === null) throw new Error("a budget against a base needs a base");
  if (budget.kind === "plus") return ours <= base.value + budget.value ? "pass" : "miss";
  const limit = Math.max(base.value * budget.max, base.value + (budget.orPlus ?? 0));
  return ours <= limit ? "pass" : "miss";
}

/** What fails a run: everything held, or only what no busy machine can change. */
export type Gate = "all" | "tokens";

/** Whether a missed budget fails the run. */
export function gates({ unit, budget }: Measurement, gate: Gate): boolean {
  if (budget === null || budget.kind === "plus") return false;
  return gate === "all" || unit === "tokens";
}

/** The rows as a table that fits a terminal of 80 columns. */
export function table(rows: readonly Measurement[]): string {
  const cells = rows.map((row) => [
    row.name,
    number(row.ours),
    row.base === null ? "" : number(row.base.value),
    row.unit,
    row.base === null || row.base.value === 0 ? "" : `${(row.ours / row.base.value).toFixed(2)}x`,
    budgetText(row.budget),
    judge(row),
  ]);
  const head = ["", "ours", "base", "", "ratio", "budget", ""];
  const widths = head.map((title, i) =>
    Math.max(title.length, ...cells.map((line) => line[i]!.length))
  );
  const line = (parts: readonly string[]) =>
    parts.map((part, i) =>
      i === 0 || i === 3 || i >= 5 ? part.padEnd(widths[i]!) : part.padStart(widths[i]!)
    ).join(" ").trimEnd();
  return [head, ...cells].map(line).join("\n");
}

/** What the column `base` stands for, one line for each kind. */
export function legend(rows: readonly Measurement[]): string {
  const names = new Set(rows.flatMap((row) => row.base === null ? [] : [row.base.name]));
  const lines = [...names].map((name) => {
    const [first, ...more] = rows.filter((row) => row.base?.name === name);
    return `  ${first!.name}${more.length > 0 ? ` and ${more.length} more` : ""}: ${name}`;
  });
  return lines.length === 0 ? "" : `base:\n${lines.join("\n")}\n`;
}

/** The rows as JSON: numbers, not texts, with the verdict of each. */
export function json(rows: readonly Measurement[], machine: Record<string, unknown>): string {
  const results = rows.map((row) => ({
    ...row,
    ratio: row.base === null || row.base.value === 0 ? null : row.ours / row.base.value,
    verdict: judge(row),
  }));
  return JSON.stringify({ machine, results }, null, 2);
}

function budgetText(budget: Budget | null): string {
  if (budget === null) return "";
  if (budget.kind === "most") return `<=${budget.value}`;
  if (budget.kind === "plus") return `<=+${budget.value}`;
  return `<=${budget.max}x${budget.orPlus === undefined ? "" : ` +${budget.orPlus}`}`;
}

function number(value: number): string {
  return value >= 100 ? value.toFixed(0) : value.toFixed(1);
}
