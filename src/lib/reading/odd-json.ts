/**
 * JSON in which a value is in question: a member that comes twice with two values, of which readers
 * take the last or the first, and a text with U+0000, at which many end. `JSON.parse` tells of
 * neither. In the place of such a value stands an {@link OddValue}, which no schema takes for a
 * text, a number or an object.
 */
import { isTooDeep, memberTwice } from '../json.ts';

/** A list, so that nothing takes it for a value; in JSON it shows what came. */
export class OddValue extends Array<unknown> {
  static override get [Symbol.species](): ArrayConstructor {
    return Array;
  }

  /** The text without U+0000; undefined: the member came twice. */
  text: string | undefined;

  toJSON(): unknown {
    return this.text === undefined ? { twice: [...this] } : this[0];
  }
}

/** SQLite ends a text there, and so do those who print it. */
const NUL = '\0';
/** Stands in its place where people and SQL see it. */
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

/** Reads a text that is JSON, for sure, and not nested deep. */
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

  /** Behind a bracket or a comma; whether the closing bracket has come. */
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
      // The same value once more leaves nothing in question.
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

/** The value of a JSON text; throws what `JSON.parse` does. */
export function parseOddJson(text: string): unknown {
  const value: unknown = JSON.parse(text);
  const isOdd = text.includes('\\u0000') || memberTwice(text) !== undefined;
  return isOdd && !isTooDeep(value) ? new Reader(text).value() : value;
}
