import { hash, timingSafeEqual } from "node:crypto";
import { Refusal } from "./refusal.ts";

/**
 * Who may decide. At start a pairing code and a one-use link secret are made; they are shown only on
 * the gateway's own terminal and live only in memory. Either is exchanged for a session secret that
 * travels in an `Authorization` header (`additions.md` section 4, "human channel").
 */

/** Base32 without the letters that look like digits (Crockford). */
const ALPHABET = "0123456789ABCDEFGHJKMNPQRSTVWXYZ";
const CODE_LENGTH = 8;
const FIRST_WAIT_MS = 1_000;
const LONGEST_WAIT_MS = 30_000;
const MAX_SESSIONS = 64;
/** A session ends after this long without use. Milliseconds. */
const SESSION_IDLE_MS = 12 * 60 * 60_000;

/** The channel a decision came through, as the ledger records it. */
export type Channel = "terminal" | "page" | "unattended";

export interface Session {
  readonly channel: Channel;
  /** First characters of the session's hash: tells two windows apart, opens nothing. */
  readonly label: string;
}

interface StoredSession extends Session {
  usedAtMs: number;
}

/** Told about each wrong code or link: it is recorded in the ledger. */
export type WrongTryListener = (tries: number, waitMs: number) => void;

export class HumanAuth {
  #code = newCode();
  #link: string | null = newSecret();
  readonly #sessions = new Map<string, StoredSession>();
  #wrong = 0;
  #lockedUntilMs = 0;

  /** @param attended whether the gateway was started at a terminal; else its decisions are "unattended" */
  constructor(
    readonly now: () => number,
    readonly attended: boolean,
    readonly onWrong: WrongTryListener = () => {},
  ) {}

  /** The code as it is shown, in two groups. Only for the gateway's own terminal. */
  get code(): string {
    return `${this.#code.slice(0, 4)}-${this.#code.slice(4)}`;
  }

  /** The link's secret, null once it was used. Only for the gateway's own terminal. */
  get link(): string | null {
    return this.#link;
  }

  /** Makes a new link; the pairing code stays what it is. */
  renewLink(): string {
    return this.#link = newSecret();
  }

  /** Makes a new code: the old one stops working, running sessions go on. */
  renewCode(): string {
    this.#code = newCode();
    return this.code;
  }

  /**
   * Exchanges a code or a link secret for a session secret. Wrong tries make everybody wait, from
   * one second doubling to thirty, but never void the code. Throws a 401 or 429 {@link Refusal}.
   */
  signIn(given: { code: string } | { link: string }, channel: "terminal" | "page"): string {
    const now = this.now();
    if (now < this.#lockedUntilMs) {
      const seconds = Math.ceil((this.#lockedUntilMs - now) / 1_000);
      throw new Refusal(
        429,
        "too_many_tries",
        `wrong codes were given; try again in ${seconds} s`,
        "Only a person at the gateway's terminal can approve.",
      );
    }
    const good = "code" in given
      ? equal(normalCode(given.code), this.#code)
      : this.#link !== null && equal(given.link, this.#link);
    if (!good) {
      this.#wrong++;
      const wait = Math.min(FIRST_WAIT_MS * 2 ** Math.min(this.#wrong - 1, 20), LONGEST_WAIT_MS);
      this.#lockedUntilMs = now + wait;
      this.onWrong(this.#wrong, wait);
      throw new Refusal(
        401,
        "wrong_code",
        "code" in given
          ? "the pairing code is wrong"
          : "the link was used already or is not of this run",
        "Only a person at the gateway's terminal can approve.",
      );
    }
    this.#wrong = 0;
    if ("link" in given) this.#link = null;
    const secret = newSecret();
    const key = hash("sha256", secret);
    this.#forgetIdle();
    if (this.#sessions.size >= MAX_SESSIONS) {
      this.#sessions.delete(this.#sessions.keys().next().value!);
    }
    this.#sessions.set(key, {
      channel: this.attended ? channel : "unattended",
      label: key.slice(0, 8),
      usedAtMs: now,
    });
    return secret;
  }

  /** The session of an `Authorization: Bearer …` header. Throws a 401 {@link Refusal} for anything else. */
  session(authorization: string | null): Session {
    const secret = /^Bearer ([A-Za-z0-9_-]{43})$/.exec(authorization ?? "")?.[1];
    this.#forgetIdle();
    const found = secret === undefined ? undefined : this.#sessions.get(hash("sha256", secret));
    if (!found) {
      throw new Refusal(
        401,
        "not_signed_in",
        "this needs a session: sign in with the pairing code or the link that the gateway's terminal shows",
        "Only a person can do this; use operation.status to follow a proposal.",
      );
    }
    found.usedAtMs = this.now();
    return found;
  }

  /** Ends a session. */
  signOut(authorization: string | null): void {
    const secret = /^Bearer ([A-Za-z0-9_-]{43})$/.exec(authorization ?? "")?.[1];
    if (secret !== undefined) this.#sessions.delete(hash("sha256", secret));
  }

  #forgetIdle(): void {
    const before = this.now() - SESSION_IDLE_MS;
    for (const [key, session] of this.#sessions) {
      if (session.usedAtMs < before) this.#sessions.delete(key);
    }
  }
}

/** What a person types: spaces and dashes do not count, look-alikes are read as meant. */
export function normalCode(text: string): string {
  return text.slice(0, 40).toUpperCase().replace(/[\s-]/g, "").replace(/[IL]/g, "1").replace(
    /O/g,
    "0",
  );
}

function newCode(): string {
  const bytes = crypto.getRandomValues(new Uint8Array(CODE_LENGTH));
  return Array.from(bytes, (byte) => ALPHABET[byte & 31]).join("");
}

function newSecret(): string {
  const bytes = crypto.getRandomValues(new Uint8Array(32));
  return btoa(String.fromCharCode(...bytes)).replaceAll("+", "-").replaceAll("/", "_").replace(
    /=+$/,
    "",
  );
}

/** Compares in constant time; hashing first makes the lengths equal. */
function equal(a: string, b: string): boolean {
  return timingSafeEqual(hash("sha256", a, "buffer"), hash("sha256", b, "buffer"));
}
