/**
 * Secrets that cannot be printed by accident, and a scrubber that removes their values from any
 * text at the sink. Redacting by key name alone leaked tokens inside error messages and deep
 * objects, so values are searched.
 */
import { inspect } from 'node:util';
import { ConfigError } from './errors.ts';

export class Secret {
  readonly name: string;
  readonly #value: string;

  constructor(name: string, value: string) {
    this.name = name;
    this.#value = value;
  }

  /** Gives the secret's value, only for sending or verifying. */
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

/** A secret that could not be read, for code that may never need its value. */
export class AbsentSecret extends Secret {
  readonly problem: string;
  readonly #error: ConfigError;

  constructor(name: string, problem: string, hint: string) {
    super(name, '');
    this.problem = problem;
    this.#error = new ConfigError('config.secret_absent', problem, { hint });
  }

  override reveal(): string {
    throw this.#error;
  }
}

/** The text of a setting that may be a secret. */
export function revealed(text: string | Secret): string {
  return text instanceof Secret ? text.reveal() : text;
}

export interface Scrubber {
  /** Removes this value, and its usual encodings, from every text from now on. */
  register(value: string, name: string): void;
  scrub(text: string): string;
}

/** Minimum characters of a value to remove; shorter ones would blank out innocent words. */
const SECRET_CHARS_MIN = 6;

/**
 * Number of values remembered per name: a new token displaces an old one, never a secret of the
 * configuration, which is registered once.
 */
const VALUES_PER_NAME_MAX = 64;

const escaped = (text: string): string => JSON.stringify(text).slice(1, -1);

function formsOf(value: string): ReadonlySet<string> {
  const once = escaped(value);
  return new Set([
    value,
    once,
    // These forms are for JSON nested as text within JSON, up to three times.
    escaped(once),
    escaped(escaped(once)),
    encodeURIComponent(value),
    Buffer.from(value).toString('base64'),
    Buffer.from(value).toString('base64url'),
  ]);
}

export function createScrubber(): Scrubber {
  /** Forms to search for, by the secret's name and value; the oldest value comes first. */
  const known = new Map<string, Map<string, ReadonlySet<string>>>();
  /** All forms, the longest first, because a value within another would leave the rest visible. */
  let forms: readonly (readonly [form: string, name: string])[] = [];
  return {
    register(value, name) {
      if (value.length < SECRET_CHARS_MIN) return;
      const values = known.get(name) ?? new Map<string, ReadonlySet<string>>();
      known.set(name, values.set(value, formsOf(value)));
      const [oldest] = values.keys();
      if (values.size > VALUES_PER_NAME_MAX && oldest !== undefined) values.delete(oldest);
      forms = [...known]
        .flatMap(([of, all]) => [...all.values()].map((found) => [of, found] as const))
        .flatMap(([of, found]) => [...found].map((form) => [form, of] as const))
        .sort(([a], [b]) => b.length - a.length);
    },
    scrub(text) {
      let out = text;
      for (const [form, name] of forms) {
        if (out.includes(form)) out = out.replaceAll(form, `[secret ${name}]`);
      }
      return out;
    },
  };
}
