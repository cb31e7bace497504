/**
 * Parses JSON that may have ambiguous values: a member that occurs twice with different values, of
 * which parsers take the last or the first, and a text with U+0000, where many programs stop.
 * `JSON.parse` reports neither. An {@link OddValue} replaces such a value, which no schema accepts
 * as a text, a number or an object.
 */
import { isTooDeep, memberTwice } from '../json.ts';

/**
 * An ambiguous value, as an array subclass so that nothing takes it for a usable value; its JSON
 * shows the received values.
 */
export class OddValue extends Array<unknown> {
  static override get [Symbol.species](): ArrayConstructor {
    return Array;
  }

  /** Text without its U+0000; undefined: the value is that of a duplicate member. */
  text: string | undefined;

  toJSON(): unknown {
    return this.text === undefined ? { twice: [...this] } : this[0];
  }
}

/** U+0000, at which SQLite and many printers end a text. */
const NUL = '\0';
/** Visible replacement of U+0000 for people and SQL. */
const SHOWN_NUL = '\u2400';

function shownNul(text: string): string {
  return text.replaceAll(NUL, SHOWN_NUL);
}

function twice(values: readonly unknown[]): OddValue {
  const odd = new OddValue();
  odd.push(...values);
  return odd;
}

function withoutNul(text: string): OddValue {
  const odd = twice([shownNul(text)]);
  odd.text = text.replaceAll(NUL, '');
  return odd;
}

const SPACE = /[ \t\n\r]*/y;
const SCALAR = /"(?:[^"\\]|\\.)*"|[^\s,\]}]+/y;

/** Parser of a text that is known to be valid JSON and not nested deep. */
class Reader {
  readonly #text: string;
  #at = 0;

  constructor(text: string) {
    this.#text = text;
  }

  value(): unknown {
    this.#skip();
    if (this.#text[this.#at] === '{') return this.#object();
    if (this.#text[this.#at] === '[') return this.#list();
    const value = this.#scalar();
    return typeof value === 'string' && value.includes(NUL) ? withoutNul(value) : value;
  }

  #skip(): void {
    SPACE.lastIndex = this.#at;
    SPACE.exec(this.#text);
    this.#at = SPACE.lastIndex;
  }

  #scalar(): unknown {
    SCALAR.lastIndex = this.#at;
    const [token = ''] = SCALAR.exec(this.#text) ?? [];
    this.#at += token.length;
    return JSON.parse(token);
  }

  /** Consumes a closing bracket or a comma; returns whether it was the bracket. */
  #ends(bracket: string): boolean {
    this.#skip();
    const isEnd = this.#text[this.#at] === bracket;
    if (isEnd || this.#text[this.#at] === ',') this.#at += 1;
    return isEnd;
  }

  #list(): unknown[] {
    const list: unknown[] = [];
    this.#at += 1;
    while (!this.#ends(']')) list.push(this.value());
    return list;
  }

  #object(): Record<string, unknown> {
    const values = new Map<string, unknown[]>();
    this.#at += 1;
    while (!this.#ends('}')) {
      this.#skip();
      const name = shownNul(String(this.#scalar()));
      this.#skip();
      this.#at += 1;
      const value = this.value();
      const before = values.get(name);
      const text = JSON.stringify(value);
      // A duplicate member with an equal value is unambiguous.
      if (!before) values.set(name, [value]);
      else if (before.every((one) => JSON.stringify(one) !== text)) before.push(value);
    }
    const members = [...values].map(([name, [first, ...others]]) => [
      name,
      others.length === 0 ? first : twice([first, ...others]),
    ]);
    return Object.fromEntries(members);
  }
}

/** Parses a JSON text; throws like `JSON.parse`. */
export function parseOddJson(text: string): unknown {
  const value: unknown = JSON.parse(text);
  const isOdd = text.includes('\\u0000') || memberTwice(text) !== undefined;
  return isOdd && !isTooDeep(value) ? new Reader(text).value() : value;
}
