import { parseStrictJsonBytes } from "../../audit/strict_json.ts";
import { Refusal } from "./refusal.ts";

/** Body ceiling of the agent routes: the contract's whole frame (T3). Bytes. */
export const MAX_BODY = 8 * 1_024 * 1_024;

export interface BodyLimits {
  /** Time for one whole body; clients on loopback give up after 5 s themselves. Milliseconds. */
  readonly deadlineMs: number;
  /** Bytes of all bodies that are being read. */
  readonly together: number;
}

const LIMITS: BodyLimits = { deadlineMs: 5_000, together: 64 * 1_024 * 1_024 };

/**
 * Reads request bodies: each under its ceiling and a deadline, all together under a budget, so that
 * neither a slow sender nor many at once can hold the gateway's memory.
 */
export class Bodies {
  #bytes = 0;
  readonly #ending = new AbortController();

  constructor(readonly limits: BodyLimits = LIMITS) {}

  /** Reads a JSON body without repeated keys. Throws 408, 413, 415, 422 or 503 {@link Refusal}. */
  async json(request: Request, max = MAX_BODY): Promise<unknown> {
    const type = request.headers.get("content-type") ?? "";
    if (
      !/^application\/json(?:\s*;\s*charset="?utf-8"?)?$/i.test(type.trim()) ||
      request.headers.has("content-encoding")
    ) {
      throw new Refusal(
        415,
        "unsupported_media_type",
        "the body must be application/json, not encoded",
        "Send JSON with that content type.",
      );
    }
    const declared = Number(request.headers.get("content-length") ?? "0");
    if (declared > max) throw tooLarge(max);
    const bytes = await this.#read(request, max);
    try {
      return parseStrictJsonBytes(bytes);
    } catch (error) {
      const why = error instanceof Error ? error.message.slice(0, 200) : "";
      throw new Refusal(
        422,
        "validation_failed",
        `the body is not JSON that is accepted: ${why}`,
        "Send one JSON object in UTF-8, no member twice.",
      );
    }
  }

  /** Refuses what is still being read and all that comes: the gateway ends. */
  close(): void {
    this.#ending.abort();
  }

  async #read(request: Request, max: number): Promise<Uint8Array> {
    if (this.#ending.signal.aborted) throw closing();
    if (!request.body) return new Uint8Array();
    const reader = request.body.getReader();
    let stop = (_: Refusal) => {};
    const stopped = new Promise<never>((_, reject) => stop = reject);
    const onEnding = () => stop(closing());
    this.#ending.signal.addEventListener("abort", onEnding, { once: true });
    const timer = setTimeout(() => stop(tooSlow(this.limits.deadlineMs)), this.limits.deadlineMs);
    const chunks: Uint8Array[] = [];
    let size = 0;
    try {
      for (;;) {
        const { value, done } = await Promise.race([reader.read(), stopped]);
        if (done) return join(chunks, size);
        if (size + value.length > max) throw tooLarge(max);
        if (this.#bytes + value.length > this.limits.together) throw busy();
        size += value.length;
        this.#bytes += value.length;
        chunks.push(value);
      }
    } catch (error) {
      stopped.catch(() => {});
      reader.cancel().catch(() => {});
      if (error instanceof Refusal) throw error;
      throw new Refusal(400, "body_broken", "the body broke off", "Send it again.");
    } finally {
      this.#bytes -= size;
      clearTimeout(timer);
      this.#ending.signal.removeEventListener("abort", onEnding);
    }
  }
}

function join(chunks: readonly Uint8Array[], size: number): Uint8Array {
  const all = new Uint8Array(size);
  let at = 0;
  for (const chunk of chunks) {
    all.set(chunk, at);
    at += chunk.length;
  }
  return all;
}

function tooLarge(max: number): Refusal {
  return new Refusal(
    413,
    "body_too_large",
    `the body has more than ${max} bytes`,
    "Propose something smaller.",
  );
}

function tooSlow(ms: number): Refusal {
  return new Refusal(
    408,
    "body_too_slow",
    `the body did not arrive within ${ms} ms`,
    "Send it again, at once.",
  );
}

function busy(): Refusal {
  return new Refusal(
    503,
    "busy",
    "too many large requests arrive at once",
    "Try again in a few seconds; nothing was proposed.",
  );
}

/** The answer while the gateway ends. */
export function closing(): Refusal {
  return new Refusal(
    503,
    "closing",
    "the gateway is ending",
    "Nothing was proposed or decided by this request. Ask the person whether a gateway shall run.",
  );
}
