/**
 * A verifier of its own, written from the format's description and sharing no code with `audit/`:
 * another JSON reader (numbers stay text), another canonical writer (bytes, sorted as bytes), SHA-256
 * by Web Crypto, signatures by `@noble/curves`. The tests hold both verifiers against each other.
 */

import { ed25519 } from "@noble/curves/ed25519.js";

/** A JSON value whose numbers and order are still those of the text. */
type Node =
  | { kind: "object"; members: [string, Node][] }
  | { kind: "array"; items: Node[] }
  | { kind: "string"; text: string }
  | { kind: "number"; token: string }
  | { kind: "word"; word: "true" | "false" | "null" };

export interface SecondVerdict {
  ok: boolean;
  reason: string;
  entries: number;
  signed: number;
  first: number;
  last: number;
  lastHash: string;
}

export interface SecondOptions {
  /** 32 raw bytes each. */
  keys?: Uint8Array[];
  requireSigned?: boolean;
  /** Check only every n-th signature: this implementation is slow on purpose. */
  signatureEvery?: number;
}

class Bad extends Error {}

/** Verifies a ledger folder. */
export async function secondVerify(
  folder: string,
  base: string,
  options: SecondOptions = {},
): Promise<SecondVerdict> {
  const state = { entries: 0, signed: 0, first: 0, last: 0, lastHash: "" };
  try {
    await walk(folder, base, options, state);
    return { ok: true, reason: "", ...state };
  } catch (error) {
    if (!(error instanceof Bad)) throw error;
    return { ok: false, reason: error.message, ...state };
  }
}

interface Walk {
  entries: number;
  signed: number;
  first: number;
  last: number;
  lastHash: string;
}

async function walk(folder: string, base: string, options: SecondOptions, state: Walk) {
  const names = [...Deno.readDirSync(folder)].map(({ name }) => name).sort();
  const segments = names.filter((name) => name.startsWith(`${base}.segment-`));
  const checkpoints: { next: string; hash: string }[] = [];
  for (const name of names.filter((one) => one.startsWith(`${base}.checkpoint-`))) {
    const node = parse(Deno.readFileSync(`${folder}/${name}`));
    checkSignature(node, options, true);
    const next = numberOf(node, "nextSequence");
    const hash = textOf(node, "previousHash");
    if (numberOf(node, "auditCheckpointVersion") !== "1" || !next || !isHash(hash)) {
      throw new Bad(`checkpoint ${name}`);
    }
    checkpoints.push({ next, hash: hash! });
  }
  if (segments.length > 5 || checkpoints.length > 16) throw new Bad("too many files");
  const files = names.includes(base) ? [...segments, base] : segments;
  let anchor: Uint8Array<ArrayBuffer> | null = null;
  let fileBefore = "";
  for (const name of files) {
    const bytes = Deno.readFileSync(`${folder}/${name}`);
    if (bytes.length > 4_456_448) throw new Bad(`${name} is too large`);
    if (bytes.length > 0 && bytes.at(-1) !== 10) throw new Bad(`${name} is torn`);
    let segmentId = "";
    let first = 0;
    let start = 0;
    while (start < bytes.length) {
      const end = bytes.indexOf(10, start);
      if (end - start >= 262_144) throw new Bad("line too long");
      const node = parse(bytes.subarray(start, end));
      start = end + 1;
      if (node.kind !== "object") throw new Bad("not an object");
      const every = options.signatureEvery ?? 1;
      checkSignature(node, options, state.entries % every === 0);
      state.entries++;
      if (member(node, "signature")) state.signed++;
      if (!member(node, "auditChainVersion")) {
        if (state.last > 0) throw new Bad("legacy record too late");
        anchor = await legacyAnchor(anchor, node);
        continue;
      }
      const entry = chainMembers(node);
      if (state.last === 0) {
        const legacy = anchor === null ? "genesis" : `legacy-sha256:${hex(anchor)}`;
        const fits = checkpoints.filter(({ next, hash }) =>
          next === String(entry.sequence) && hash === entry.previousHash
        ).length;
        const whole = entry.sequence === 1 && entry.previousHash === legacy;
        if (!whole && (anchor !== null || fits !== 1)) {
          throw new Bad("start not explained");
        }
        state.first = entry.sequence;
      } else if (
        entry.sequence !== state.last + 1 || entry.previousHash !== state.lastHash
      ) throw new Bad(`chain broken at ${entry.sequence}`);
      const digest = await sha256(canonical(without(node, ["entryHash", "signature"])));
      if (`sha256:${hex(digest)}` !== entry.entryHash) throw new Bad(`hash of ${entry.sequence}`);
      if (segmentId === "" ? entry.segmentId === fileBefore : entry.segmentId !== segmentId) {
        throw new Bad("segmentId");
      }
      segmentId = entry.segmentId;
      first ||= entry.sequence;
      state.last = entry.sequence;
      state.lastHash = entry.entryHash;
    }
    if (name !== base) {
      const pad = (sequence: number) => String(sequence).padStart(20, "0");
      if (name !== `${base}.segment-${pad(first)}-${pad(state.last)}-${segmentId}`) {
        throw new Bad(`name of ${name}`);
      }
    }
    if (segmentId !== "") fileBefore = segmentId;
  }
}

function chainMembers(node: Node) {
  const sequence = Number(numberOf(node, "sequence"));
  const previousHash = textOf(node, "previousHash");
  const entryHash = textOf(node, "entryHash");
  const segmentId = textOf(node, "segmentId");
  const uuid = /^[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}$/;
  if (
    numberOf(node, "auditChainVersion") !== "1" || numberOf(node, "auditSchemaVersion") !== "1" ||
    !(sequence >= 1) || previousHash === null || !isHash(entryHash) ||
    !uuid.test(segmentId ?? "") || !uuid.test(textOf(node, "id") ?? "") ||
    textOf(node, "id")?.[14] !== "4" || numberOf(node, "timestamp") === null
  ) throw new Bad("chain members");
  return { sequence, previousHash, entryHash: entryHash!, segmentId: segmentId! };
}

function checkSignature(node: Node, options: SecondOptions, verify: boolean) {
  const written = member(node, "signature");
  if (!written) {
    if (options.requireSigned) throw new Bad("unsigned");
    return;
  }
  const text = written.kind === "string" ? written.text : "";
  const signature = base64url(text);
  if (signature?.length !== 64) throw new Bad("signature form");
  if (!options.keys || !verify) return;
  const version = numberOf(node, "signatureVersion");
  const modern = version !== null && /^\d+$/.test(version) && BigInt(version) >= 2n;
  const bytes = canonical(without(node, modern ? ["signature"] : ["signature", "signatureKeyId"]));
  if (!options.keys.some((key) => ed25519.verify(signature, bytes, key))) {
    throw new Bad("signature");
  }
}

async function legacyAnchor(before: Uint8Array | null, node: Node) {
  const domain = new TextEncoder().encode("fluxgit-mcp-legacy-prefix-v1");
  const whole = canonical(node);
  return await sha256(
    Uint8Array.of(...domain, 0, ...(before ?? new Uint8Array(32)), ...whole),
  );
}

function base64url(text: string): Uint8Array | null {
  if (!/^[A-Za-z0-9_-]+$/.test(text)) return null;
  const binary = atob(text.replaceAll("-", "+").replaceAll("_", "/"));
  const bytes = Uint8Array.from(binary, (char) => char.charCodeAt(0));
  const again = btoa(binary).replaceAll("+", "-").replaceAll("/", "_").replaceAll("=", "");
  return again === text ? bytes : null;
}

async function sha256(bytes: Uint8Array): Promise<Uint8Array<ArrayBuffer>> {
  return new Uint8Array(await crypto.subtle.digest("SHA-256", bytes.slice()));
}

function hex(bytes: Uint8Array): string {
  return Array.from(bytes, (byte) => byte.toString(16).padStart(2, "0")).join("");
}

function isHash(text: string | null): boolean {
  return /^sha256:[0-9a-f]{64}$/.test(text ?? "");
}

function member(node: Node, name: string): Node | undefined {
  return node.kind === "object" ? node.members.find(([key]) => key === name)?.[1] : undefined;
}

function textOf(node: Node, name: string): string | null {
  const value = member(node, name);
  return value?.kind === "string" ? value.text : null;
}

function numberOf(node: Node, name: string): string | null {
  const value = member(node, name);
  return value?.kind === "number" ? value.token : null;
}

function without(node: Node, names: string[]): Node {
  if (node.kind !== "object") throw new Bad("not an object");
  return { kind: "object", members: node.members.filter(([key]) => !names.includes(key)) };
}

/** Canonical bytes of a parsed text. */
export function canonical(node: Node): Uint8Array {
  let out = "";
  const put = (text: string) => void (out += text);
  const write = (value: Node) => {
    if (value.kind === "word") put(value.word);
    else if (value.kind === "number") put(canonicalNumber(value.token));
    else if (value.kind === "string") put(canonicalString(value.text));
    else if (value.kind === "array") {
      put("[");
      value.items.forEach((item, at) => {
        if (at > 0) put(",");
        write(item);
      });
      put("]");
    } else {
      put("{");
      const sorted = value.members.map(([key, child]) =>
        [hex(new TextEncoder().encode(key)), key, child] as const
      ).sort(([a], [b]) => a < b ? -1 : 1);
      sorted.forEach(([, key, child], at) => {
        if (at > 0) put(",");
        put(canonicalString(key) + ":");
        write(child);
      });
      put("}");
    }
  };
  write(node);
  return new TextEncoder().encode(out);
}

function canonicalString(text: string): string {
  if (/^[ !#-[\]-~]*$/.test(text)) return `"${text}"`;
  const short: Record<number, string> = { 8: "b", 9: "t", 10: "n", 12: "f", 13: "r" };
  let out = '"';
  for (const char of text) {
    const code = char.codePointAt(0)!;
    if (char === '"' || char === "\\") out += "\\" + char;
    else if (short[code]) out += "\\" + short[code];
    else if (code < 32) out += "\\u00" + code.toString(16).padStart(2, "0");
    else out += char;
  }
  return out + '"';
}

function canonicalNumber(token: string): string {
  if (/^-?(0|[1-9]\d*)$/.test(token) && token !== "-0") {
    const exact = BigInt(token);
    if (exact >= -(2n ** 63n) && exact < 2n ** 64n) return token;
  }
  const value = Number(token);
  if (Object.is(value, -0)) return "-0.0";
  if (value === 0) return "0.0";
  // Shortest digits and exponent, from the form that JavaScript prints whatever the size.
  const [, sign = "", whole = "", fraction = "", exponent = "0"] =
    /^(-?)(\d)(?:\.(\d+))?e([+-]\d+)$/.exec(value.toExponential())!;
  const all = whole + fraction;
  const e = Number(exponent) + 1;
  if (e > 16 || e <= -5) {
    return `${sign}${whole}${fraction && "." + fraction}e${e - 1}`;
  }
  if (e <= 0) return `${sign}0.${"0".repeat(-e)}${all}`;
  if (all.length <= e) return `${sign}${all}${"0".repeat(e - all.length)}.0`;
  return `${sign}${all.slice(0, e)}.${all.slice(e)}`;
}

/** Reads JSON text from bytes; keys may not stand twice. */
export function parse(bytes: Uint8Array): Node {
  let text: string;
  try {
    text = new TextDecoder("utf-8", { fatal: true, ignoreBOM: true }).decode(bytes);
  } catch {
    throw new Bad("not UTF-8");
  }
  let at = 0;
  const space = () => {
    while (" \t\r\n".includes(text[at] ?? "x")) at++;
  };
  const take = (pattern: RegExp): string => {
    pattern.lastIndex = at;
    const found = pattern.exec(text)?.[0];
    if (found === undefined) throw new Bad("not JSON");
    at += found.length;
    return found;
  };
  const string = (): string => {
    const token = take(/"[^"\\]*(?:\\.[^"\\]*)*"/y);
    let value: string;
    try {
      value = JSON.parse(token) as string;
    } catch {
      throw new Bad("not JSON");
    }
    if (!value.isWellFormed()) throw new Bad("lone surrogate");
    return value;
  };
  const list = (close: string, item: () => void) => {
    at++;
    space();
    if (text[at] === close) {
      at++;
      return;
    }
    for (;;) {
      item();
      space();
      const next = text[at++];
      if (next === close) return;
      if (next !== ",") throw new Bad("not JSON");
      space();
    }
  };
  const value = (depth: number): Node => {
    const char = text[at];
    if (depth >= 127 && (char === "[" || char === "{")) throw new Bad("too deep");
    if (char === '"') return { kind: "string", text: string() };
    if (char === "[") {
      const items: Node[] = [];
      list("]", () => items.push(value(depth + 1)));
      return { kind: "array", items };
    }
    if (char === "{") {
      const members: [string, Node][] = [];
      list("}", () => {
        const key = string();
        if (members.some(([other]) => other === key)) throw new Bad("duplicate key");
        space();
        if (text[at++] !== ":") throw new Bad("not JSON");
        space();
        members.push([key, value(depth + 1)]);
      });
      return { kind: "object", members };
    }
    if (char === "t" || char === "f" || char === "n") {
      return { kind: "word", word: take(/true|false|null/y) as "true" };
    }
    const token = take(/-?(?:0|[1-9]\d*)(?:\.\d+)?(?:[eE][+-]?\d+)?/y);
    if (!Number.isFinite(Number(token))) throw new Bad("number out of range");
    return { kind: "number", token };
  };
  space();
  const node = value(0);
  space();
  if (at !== text.length) throw new Bad("not JSON");
  return node;
}
