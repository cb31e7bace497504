/** Accounts that differ in several ways at once, for the campaign of dialects. */
import { isDeepStrictEqual } from 'node:util';
import { isJsonObject } from '../../src/lib/json.ts';
import { seededRandom } from '../../src/lib/random.ts';
import { ACCOUNTS } from './accounts.ts';
import { drawDialects, namesOf } from './drawn.ts';
import type { Account } from './walk.ts';

type Members = Readonly<Record<string, unknown>>;
type Named = readonly [string, Account];

/** Merges two objects; undefined where they contradict each other. */
function merged(a: Members, b: Members): Members | undefined {
  const out: Record<string, unknown> = { ...a };
  for (const [name, value] of Object.entries(b)) {
    const own = a[name];
    if (own === undefined || isDeepStrictEqual(own, value)) out[name] = value;
    else if (Array.isArray(own) && Array.isArray(value)) out[name] = [...own, ...value];
    else if (isJsonObject(own) && isJsonObject(value)) {
      const inner = merged(own, value);
      if (!inner) return undefined;
      out[name] = inner;
    } else return undefined;
  }
  return out;
}

function both(a: Account, b: Account): Account | undefined {
  const knobs = merged(a.knobs ?? {}, b.knobs ?? {});
  const settings = merged(a.settings ?? {}, b.settings ?? {});
  return knobs && settings && { knobs, settings };
}

/** Pairs that do not contradict each other: all, or `count` of them, drawn by the seed. */
export function pairsOf(count: number, seed: number): readonly Named[] {
  const all = Object.entries(ACCOUNTS).filter(([name, { waits }]) => name !== 'plain' && !waits);
  const found = all.flatMap(([a, one], at) =>
    all.slice(at + 1).flatMap(([b, other]): Named[] => {
      const account = both(one, other);
      return account ? [[`${a} + ${b}`, account]] : [];
    }),
  );
  if (count >= found.length) return found;
  const random = seededRandom(seed);
  const drawn = found.map((pair) => ({ pair, place: random.next() }));
  return drawn
    .sort((a, b) => a.place - b.place)
    .slice(0, count)
    .map(({ pair }) => pair);
}

/** Sets of several dialects, one for each seed from `first` on. */
export function setsOf(count: number, first: number): readonly Named[] {
  return Array.from({ length: count }, (_, index): Named => {
    const dialect = drawDialects(first + index);
    return [`seed ${first + index}: ${namesOf(dialect)}`, { knobs: { dialect } }];
  });
}
