import { invalid, shown } from "../refusal.ts";

/** Limits of a text member. */
export interface TextRule {
  readonly max: number;
  readonly min?: number;
  readonly pattern?: RegExp;
  /** What the pattern asks for, in words. */
  readonly form?: string;
}

/**
 * Reads members out of a foreign object and remembers which ones, so that what nobody asked for is
 * refused. Every failure is a 422 that names the place.
 */
export class Fields {
  readonly #object: Record<string, unknown>;
  readonly #read = new Set<string>();

  constructor(value: unknown, readonly at: string) {
    if (typeof value !== "object" || value === null || Array.isArray(value)) {
      throw invalid(`${at} must be an object`);
    }
    this.#object = value as Record<string, unknown>;
  }

  has(name: string): boolean {
    return Object.hasOwn(this.#object, name);
  }

  raw(name: string): unknown {
    this.#read.add(name);
    return this.has(name) ? this.#object[name] : undefined;
  }

  text(name: string, rule: TextRule): string {
    const value = this.raw(name);
    if (value === undefined) throw invalid(`${this.at}.${name} is required`);
    return checkText(value, `${this.at}.${name}`, rule);
  }

  optionalText(name: string, rule: TextRule): string | null {
    const value = this.raw(name);
    return value === undefined ? null : checkText(value, `${this.at}.${name}`, rule);
  }

  /** As {@link optionalText}; null counts as not given. */
  nullableText(name: string, rule: TextRule): string | null {
    return this.raw(name) === null ? null : this.optionalText(name, rule);
  }

  bool(name: string, fallback: boolean): boolean {
    const value = this.raw(name);
    if (value === undefined) return fallback;
    if (typeof value !== "boolean") throw invalid(`${this.at}.${name} must be true or false`);
    return value;
  }

  choice<T extends string>(name: string, allowed: readonly T[], fallback?: T): T {
    const value = this.raw(name);
    if (value === undefined && fallback !== undefined) return fallback;
    const found = allowed.find((one) => one === value);
    if (found === undefined) {
      throw invalid(`${this.at}.${name} must be one of ${allowed.join(", ")}, not ${shown(value)}`);
    }
    return found;
  }

  list(name: string, max: number, min = 0): unknown[] | null {
    const value = this.raw(name);
    if (value === undefined) return null;
    if (!Array.isArray(value)) throw invalid(`${this.at}.${name} must be a list`);
    if (value.length > max || value.length < min) {
      throw invalid(`${this.at}.${name} has ${value.length} items; allowed: ${min} to ${max}`);
    }
    return value;
  }

  texts(
    name: string,
    max: number,
    min: number,
    check: (value: unknown, at: string) => string,
  ): string[] | null {
    return this.list(name, max, min)?.map((item, i) => check(item, `${this.at}.${name}[${i}]`)) ??
      null;
  }

  /** Throws when the object has a member that was not read. */
  done(): void {
    const unknown = Object.keys(this.#object).find((name) => !this.#read.has(name));
    if (unknown !== undefined) throw invalid(`${this.at} has an unknown member ${shown(unknown)}`);
  }
}

/** Checks one text; lengths count Unicode scalar values. */
export function checkText(value: unknown, at: string, rule: TextRule): string {
  if (typeof value !== "string") throw invalid(`${at} must be a string`);
  if (!value.isWellFormed()) throw invalid(`${at} holds half a character`);
  if (value.length < (rule.min ?? 1)) throw invalid(`${at} must not be empty`);
  if (value.length > rule.max && (value.length > 2 * rule.max || [...value].length > rule.max)) {
    throw invalid(`${at} has more than ${rule.max} characters`);
  }
  if (rule.pattern && !rule.pattern.test(value)) {
    throw invalid(`${at} must be ${rule.form ?? "well formed"}, not ${shown(value)}`);
  }
  return value;
}
