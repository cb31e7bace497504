/**
 * Secrets that cannot be printed by accident, and a scrubber that takes their values out of any
 * text at the sink. Redaction by key name alone leaked tokens inside error messages and deep
 * objects, so values are what is looked for.
 */
import { inspect } from 'node:util';

export class Secret {
  readonly name: string;
  readonly #value: string;

  constructor(name: string, value: string) {
    this.name = name;
    this.#value = value;
  }

  /** The value itself: only for the place that puts it on the wire or verifies with it. */
  reveal(): string {
    return this.#value;
  }

  toString(): string {
    return `[secret ${this.name}]`;
  }

  toJSON(): string {
    return this.toString();
  }

  [inspect.custom](): string {
    return this.toString();
  }
}

export interface Scrubber {
  /** From now on this value (and its usual encodings) is replaced wherever it appears. */
  register(value: string, name: string): void;
  scrub(text: string): string;
}

/** Shorter values would blank out innocent words. */
const SECRET_CHARS_MIN = 6;

/** How many values are remembered; short-lived tokens push out the oldest of their kind. */
const SECRETS_MAX = 512;

export function createScrubber(): Scrubber {
  const known = new Map<string, string>();
  return {
    register(value, name) {
      if (value.length < SECRET_CHARS_MIN) return;
      const forms = [
        value,
        JSON.stringify(value).slice(1, -1),
        encodeURIComponent(value),
        Buffer.from(value).toString('base64'),
        Buffer.from(value).toString('base64url'),
      ];
      for (const form of forms) known.set(form, `[secret ${name}]`);
      while (known.size > SECRETS_MAX) {
        const oldest = known.keys().next();
        if (oldest.done) break;
        known.delete(oldest.value);
      }
    },
    scrub(text) {
      let out = text;
      for (const [value, mark] of known) {
        if (out.includes(value)) out = out.replaceAll(value, mark);
      }
      return out;
    },
  };
}
