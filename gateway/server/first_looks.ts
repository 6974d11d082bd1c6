import { type InspectOptions, inspectProposal } from "./cards.ts";
import type { ProposalRecord } from "./journal.ts";
import type { Inspection } from "./types.ts";

/** What was seen of an open proposal. */
export interface Look {
  /** At admission: tells a person what moved since. */
  readonly facts: Inspection["facts"];
  /** At the last look, for the queue. */
  readonly headline: string;
  readonly risk: Inspection["risk"];
}

/** More than this wait for nobody: a card is computed anyway when it is opened. */
const MAX_WAITING = 32;
const MAX_KEPT = 800;
const MAX_HEADLINE = 300;

/**
 * Looks once at each admitted proposal, one after another in the background. Lost at a restart,
 * which is only a hint less.
 */
export class FirstLooks {
  readonly #looks = new Map<string, Look>();
  readonly #waiting: string[] = [];
  #turn: Promise<void> | null = null;

  /**
   * @param read the record as it is now; null when it is gone
   * @param onLooked told after each look
   */
  constructor(
    readonly options: InspectOptions,
    readonly read: (previewId: string) => ProposalRecord | null,
    readonly onLooked: (previewId: string) => void = () => {},
  ) {}

  of(previewId: string): Look | undefined {
    return this.#looks.get(previewId);
  }

  add(previewId: string): void {
    if (this.#waiting.length >= MAX_WAITING) return;
    this.#waiting.push(previewId);
    this.#turn ??= this.#work();
  }

  /** Takes over what another look at it found. */
  seen(previewId: string, inspection: Inspection): void {
    const facts = this.#looks.get(previewId)?.facts ?? inspection.facts;
    const headline = inspection.effect.summary.slice(0, MAX_HEADLINE);
    this.#looks.set(previewId, { facts, headline, risk: inspection.risk });
    if (this.#looks.size > MAX_KEPT) this.forget(this.#looks.keys().next().value!);
  }

  forget(previewId: string): void {
    this.#looks.delete(previewId);
  }

  /** Looks at nothing more and waits for the look under way. */
  async stop(): Promise<void> {
    this.#waiting.length = 0;
    await this.#turn;
  }

  async #work(): Promise<void> {
    // Not in the turn of add(), which still has to keep this promise.
    await Promise.resolve();
    for (let id = this.#waiting.shift(); id !== undefined; id = this.#waiting.shift()) {
      const record = this.read(id);
      if (record?.status !== "pending") continue;
      try {
        const { inspection } = await inspectProposal(record, {}, this.options);
        // It may have ended meanwhile.
        if (this.read(id)?.status !== "pending") continue;
        this.seen(id, inspection);
        this.onLooked(id);
      } catch { /* the card will say why it cannot be computed */ }
    }
    this.#turn = null;
  }
}
