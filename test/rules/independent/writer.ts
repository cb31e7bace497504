/** Random conditions that the rules take: of the right kinds, and with a currency where needed. */
import type { Random } from '../../../src/lib/random.ts';
import type { Condition, Relation, Sum } from './conditions.ts';
import type { Fact, Kind } from './pages.ts';
import type { Table } from './tables.ts';
import { NOW, textsOf } from './world.ts';

export type ListKind = 'text' | 'number' | 'truth';

export interface Known {
  readonly facts: readonly Fact[];
  /** Declared fields of the ERP, by path. */
  readonly extra: readonly Fact[];
  readonly lists: Readonly<Record<string, ListKind>>;
  readonly tables: readonly Table[];
}

type Sides = readonly [Condition, Condition];

const ORDERS: readonly Relation[] = ['==', '!=', '<', '<=', '>', '>='];
const DAY_MS = 86_400_000;

const fact = (path: string): Condition => ({ is: 'fact', path });
const text = (value: string): Condition => ({ is: 'text', value });
const numeral = (value: string): Condition => ({ is: 'number', value });
const relation = (sign: Relation, ...sides: Sides): Condition => ({ is: 'relation', sign, sides });
const sum = (sign: Sum, ...sides: Sides): Condition => ({ is: 'sum', sign, sides });

export class Writer {
  readonly #random: Random;
  readonly #known: Known;
  /** Amounts that met a bare number, by the fact that names their currency. */
  readonly bare = new Set<string>();

  constructor(random: Random, known: Known) {
    this.#random = random;
    this.#known = known;
  }

  condition(depth: number, inLoop = false): Condition {
    const random = this.#random;
    if (depth > 0 && random.chance(0.55)) {
      const sides = [this.condition(depth - 1, inLoop), this.condition(depth - 1, inLoop)] as const;
      return { is: random.pick(['and', 'or'] as const), sides };
    }
    if (depth > 0 && random.chance(0.15)) {
      return { is: 'not', of: this.condition(depth - 1, inLoop) };
    }
    if (!inLoop && random.chance(0.2)) return this.#loop(depth);
    return this.#simple(inLoop);
  }

  #loop(depth: number): Condition {
    const random = this.#random;
    const how = random.pick(['all', 'exists'] as const);
    if (random.chance(0.8)) {
      const body = this.condition(Math.min(1, depth), true);
      return { is: 'loop', how, over: 'delivery.lines', name: 'line', body };
    }
    const over = random.pick(this.#pathsOf('list of texts', false));
    const sides = [fact('name'), text(random.pick(['1st', '2nd']))] as const;
    const body = relation(random.pick(['==', '!='] as const), ...sides);
    return { is: 'loop', how, over, name: 'name', body };
  }

  #factsIn(inLoop: boolean): readonly Fact[] {
    const isLine = ({ path }: Fact): boolean => path.startsWith('line.');
    const wanted = inLoop && this.#random.chance(0.8);
    const facts = this.#known.facts.filter((one) => isLine(one) === wanted);
    return wanted ? facts : [...facts, ...this.#known.extra];
  }

  #pathsOf(kind: Kind, inLoop: boolean): readonly string[] {
    return this.#factsIn(inLoop).flatMap((one) => (one.kind === kind ? [one.path] : []));
  }

  #simple(inLoop: boolean): Condition {
    const random = this.#random;
    const one = random.pick(this.#factsIn(inLoop));
    if (one.mayBeUnknown && random.chance(0.15)) return { is: 'has', path: this.#asked(one) };
    switch (one.kind) {
      case 'text':
        return this.#ofText(one);
      case 'choice': {
        const value = () => text(random.pick(one.values));
        return random.chance(0.3)
          ? relation('in', fact(one.path), { is: 'values', items: [value(), value()] })
          : relation(random.pick(['==', '!=']), fact(one.path), value());
      }
      case 'true/false':
        return this.#ofTruth(one);
      case 'whole number':
        return this.#ofCount(one, inLoop);
      case 'number':
        return this.#ofNumber(one);
      case 'amount':
        return this.#ofAmount(one, inLoop);
      case 'duration':
        return relation(this.#order(), ...this.#swapped(fact(one.path), this.#length()));
      case 'point in time':
        return this.#ofTime(one, inLoop);
      case 'list of texts':
        return this.#ofTexts(one);
    }
  }

  /** Now and then the group that a fact is in. */
  #asked({ path }: Fact): string {
    const group = path.replace(/\.\w+$/, '');
    return group.includes('.') && this.#random.chance(0.3) ? group : path;
  }

  #order(): Relation {
    return this.#random.pick(ORDERS);
  }

  #swapped(left: Condition, right: Condition): Sides {
    return this.#random.chance(0.2) ? [right, left] : [left, right];
  }

  #table(kind: ListKind): Condition | undefined {
    const fitting = this.#known.tables.filter((table) => table.kind === kind);
    if (fitting.length === 0) return undefined;
    const { name, by } = this.#random.pick(fitting);
    return { is: 'cell', table: name, keys: by.map(fact) };
  }

  #listOf(kind: ListKind): Condition | undefined {
    const names = Object.entries(this.#known.lists).flatMap(([name, one]) =>
      one === kind ? [name] : [],
    );
    return names.length === 0 ? undefined : { is: 'list', name: this.#random.pick(names) };
  }

  #ofText({ path }: Fact): Condition {
    const random = this.#random;
    const value = (): Condition => text(random.pick(textsOf(path).filter((one) => one !== '')));
    const isCode = /country$|currency$/.test(path);
    const of = fact(path);
    const how = random.int(0, isCode ? 3 : 7);
    if (how === 0) return relation('in', of, { is: 'values', items: [value(), value()] });
    if (how === 1)
      return relation('in', of, this.#listOf('text') ?? { is: 'values', items: [value()] });
    if (how === 2) return relation(random.pick(['==', '!=']), of, this.#table('text') ?? value());
    if (how === 3) return relation(random.pick(['==', '!=']), ...this.#swapped(of, value()));
    const lower: Condition = { is: 'lower', of };
    if (how === 4) return relation(random.pick(['==', '!=']), lower, text('nord'));
    const way = random.pick(['startsWith', 'endsWith', 'contains'] as const);
    const part = text(random.pick(['P', 'urgent', '!', 'o', '00', '']));
    if (how === 5) return { is: 'part', how: way, of: random.chance(0.5) ? lower : of, part };
    if (how === 6) return relation(random.pick(['<', '>=']), of, value());
    return relation(this.#order(), { is: 'size', of }, numeral(String(random.int(0, 8))));
  }

  #ofTruth({ path }: Fact): Condition {
    const of = fact(path);
    const random = this.#random;
    if (random.chance(0.6)) return of;
    const other: Condition = this.#table('truth') ?? { is: 'truth', value: random.chance(0.5) };
    return relation(random.pick(['==', '!=']), of, other);
  }

  #whole(): Condition {
    return numeral(String(this.#random.int(-1, 12)));
  }

  #ofCount({ path }: Fact, inLoop: boolean): Condition {
    const random = this.#random;
    const other = () => fact(random.pick(this.#pathsOf('whole number', inLoop)));
    const how = random.int(0, 9);
    const of = fact(path);
    if (how === 0) {
      const sign = random.pick(['+', '-', '*', '/', '%'] as const);
      const inner = sum(sign, of, random.chance(0.5) ? other() : this.#whole());
      return relation(this.#order(), inner, this.#whole());
    }
    if (how === 1) {
      const left = sum('*', of, numeral('100'));
      return relation(this.#order(), left, sum('*', other(), numeral('80')));
    }
    if (how === 2) return relation(this.#order(), of, sum('-', other(), sum('-', other(), of)));
    if (how === 3) {
      // A whole number never equals a fraction: the rules refuse to ask.
      const sign = random.pick(['<', '<=', '>', '>='] as const);
      return relation(sign, of, numeral(random.pick(['2.5', '0.1', '7.0001'])));
    }
    if (how === 4) {
      const values: Condition = { is: 'values', items: [this.#whole(), this.#whole()] };
      return relation('in', of, values);
    }
    if (how === 5) return relation(this.#order(), of, this.#table('number') ?? this.#whole());
    if (how === 6) return relation(this.#order(), of, other());
    return relation(this.#order(), ...this.#swapped(of, this.#whole()));
  }

  #ofNumber({ path }: Fact): Condition {
    const random = this.#random;
    const limit = random.pick(['0', '2', '2.5', '12.5', '0.3333', '33.3334', '100']);
    const other = random.chance(0.2) ? this.#table('number') : undefined;
    return relation(this.#order(), ...this.#swapped(fact(path), other ?? numeral(limit)));
  }

  #ofAmount({ path, currency }: Fact, inLoop: boolean): Condition {
    const random = this.#random;
    const limit = () => numeral(random.pick(['0', '1', '2.5', '5', '12.0001', '20', '60']));
    const how = random.int(0, 5);
    const of = fact(path);
    if (how === 0) {
      return relation(this.#order(), of, fact(random.pick(this.#pathsOf('amount', inLoop))));
    }
    if (how === 1) {
      const amounts = this.#known.facts.filter((one) => one.currency === currency);
      const same = amounts.filter((one) => inLoop || !one.path.startsWith('line.'));
      const both = sum(random.pick(['+', '-']), of, fact(random.pick(same).path));
      this.bare.add(currency);
      return relation(this.#order(), both, limit());
    }
    this.bare.add(currency);
    if (how === 2) return relation(this.#order(), sum('*', of, numeral('1.25')), limit());
    if (how === 3) return relation(this.#order(), of, this.#table('number') ?? limit());
    return relation(this.#order(), ...this.#swapped(of, limit()));
  }

  #length(): Condition {
    const random = this.#random;
    const unit = random.pick(['days', 'hours', 'minutes', 'duration'] as const);
    return { is: 'length', unit, count: unit === 'days' ? random.int(0, 3) : random.int(0, 90) };
  }

  #ofTime({ path }: Fact, inLoop: boolean): Condition {
    const random = this.#random;
    const of = fact(path);
    const times = this.#pathsOf('point in time', inLoop);
    const other = random.chance(0.5)
      ? fact(random.pick(times))
      : ({ is: 'time', at: NOW + random.int(-5, 5) * DAY_MS } as const);
    if (random.chance(0.3)) return relation(this.#order(), sum('-', of, other), this.#length());
    if (random.chance(0.3)) {
      return relation(this.#order(), of, sum(random.pick(['+', '-']), other, this.#length()));
    }
    return relation(this.#order(), of, other);
  }

  #ofTexts({ path }: Fact): Condition {
    const random = this.#random;
    const of = fact(path);
    if (random.chance(0.5)) return relation('in', text(random.pick(['1st', '2nd'])), of);
    return relation(this.#order(), { is: 'size', of }, numeral(String(random.int(0, 2))));
  }
}
