import { hash, timingSafeEqual } from "node:crypto";
import { type CodeProof, normalCode, proofOf } from "./pairing_code.ts";
import { Refusal } from "./refusal.ts";
import { Throttle, type WrongTryListener } from "./throttle.ts";

/**
 * Who may decide. At start a pairing code and a one-use link secret are made; they are shown only on
 * the gateway's own terminal and live only in memory. Either is exchanged for a session secret that
 * travels in an `Authorization` header (`additions.md` section 4, "human channel").
 */

/** Base32 of RFC 4648: it has none of the digits that look like its letters. */
const ALPHABET = "ABCDEFGHIJKLMNOPQRSTUVWXYZ234567";
const CODE_LENGTH = 8;
const MAX_SESSIONS = 64;
/** A session ends after this long without use. Milliseconds. */
const SESSION_IDLE_MS = 12 * 60 * 60_000;

/** Proofs that are worked out at the same time; each takes memory. */
const PROOFS_TOGETHER = 4;

/** What a person shows to sign in; a proof with the address at which it was received. */
export type Credential =
  | { readonly code: string }
  | { readonly link: string }
  | CodeProof & { readonly authority: string };

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

export class HumanAuth {
  #code = newCode();
  #link: string | null = newSecret();
  readonly #sessions = new Map<string, StoredSession>();
  readonly #throttle: Throttle;
  #proving = 0;

  /**
   * @param attended whether the gateway was started at a terminal; else its decisions are "unattended"
   * @param onWrong told about wrong codes and links: they are recorded in the ledger
   * @param sleep for tests
   */
  constructor(
    readonly now: () => number,
    readonly attended: boolean,
    onWrong: WrongTryListener = () => {},
    sleep?: (ms: number, signal: AbortSignal) => Promise<void>,
  ) {
    this.#throttle = new Throttle(now, onWrong, sleep);
  }

  /** The pairing code. Only for the gateway's own terminal. */
  get code(): string {
    return this.#code;
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
   * Exchanges a code or a link secret for a session secret. A wrong one is recorded and answered
   * late, from one second doubling to thirty; that keeps nobody out who has the right one and voids
   * nothing. Throws a 401 or 429 {@link Refusal}.
   */
  async signIn(given: Credential, channel: "terminal" | "page"): Promise<string> {
    const crowded = "proof" in given && this.#proving >= PROOFS_TOGETHER;
    if (!("link" in given) && (crowded || !this.#throttle.mayLook())) {
      throw new Refusal(
        429,
        "too_many_tries",
        "too many wrong codes are being given; sign in with the link, or try again in a moment",
        "Only a person at the gateway's terminal can approve.",
      );
    }
    const right = this.#isRight(given);
    // Nothing is awaited for a link: between look and use nobody else may come.
    if (!(typeof right === "boolean" ? right : await right)) {
      await this.#throttle.wrong();
      throw new Refusal(
        401,
        "wrong_code",
        "link" in given
          ? "the link was used already or is not of this run"
          : "the pairing code is wrong",
        "Only a person at the gateway's terminal can approve.",
      );
    }
    this.#throttle.right();
    if ("link" in given) this.#link = null;
    const secret = newSecret();
    const key = hash("sha256", secret);
    this.#forgetIdle();
    if (this.#sessions.size >= MAX_SESSIONS) this.#forgetLeastUsed();
    this.#sessions.set(key, {
      channel: this.attended ? channel : "unattended",
      label: key.slice(0, 8),
      usedAtMs: this.now(),
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

  /** Ends every session: whoever had one signs in again. */
  signOutAll(): void {
    this.#sessions.clear();
  }

  /** Records wrong tries that were held back; called now and then. */
  settle(): void {
    this.#throttle.settle();
  }

  /** Answers what waits and forgets every session. */
  close(): void {
    this.#throttle.close();
    this.signOutAll();
  }

  #isRight(given: Credential): boolean | Promise<boolean> {
    if ("link" in given) return this.#link !== null && equal(given.link, this.#link);
    if ("code" in given) return equal(normalCode(given.code), this.#code);
    return this.#proves(given);
  }

  async #proves(given: CodeProof & { readonly authority: string }): Promise<boolean> {
    this.#proving++;
    try {
      return equal(given.proof, await proofOf(this.#code, given.authority, given.salt));
    } finally {
      this.#proving--;
    }
  }

  #forgetLeastUsed(): void {
    let least: string | null = null, atMs = Infinity;
    for (const [key, { usedAtMs }] of this.#sessions) {
      if (usedAtMs < atMs) [least, atMs] = [key, usedAtMs];
    }
    if (least !== null) this.#sessions.delete(least);
  }

  #forgetIdle(): void {
    const before = this.now() - SESSION_IDLE_MS;
    for (const [key, session] of this.#sessions) {
      if (session.usedAtMs < before) this.#sessions.delete(key);
    }
  }
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
