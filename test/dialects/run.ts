/**
 * Accounts that differ in several ways at once, as a command:
 *
 *   npm run campaign -- dialects [--pairs all|N] [--sets 200] [--first 1]
 *
 * Each pair of the accounts of accounts.ts that do not contradict each other (or the first N of
 * them in an order drawn by a seed), then sets of several dialects drawn by seeds. One line for
 * each that is wrong, and a summary; exits 1 when one is.
 */
import { isDeepStrictEqual, parseArgs } from 'node:util';
import { seededRandom } from '../../src/lib/chance.ts';
import { isJsonObject } from '../../src/lib/json.ts';
import { ACCOUNTS } from './accounts.ts';
import { drawDialects, namesOf } from './drawn.ts';
import { type Account, type Outcome, walk } from './walk.ts';

const { values } = parseArgs({
  options: {
    pairs: { type: 'string', default: 'all' },
    sets: { type: 'string', default: '200' },
    first: { type: 'string', default: '1' },
  },
});

/** Walks at the same time: most of a walk is waiting. */
const SIDE_BY_SIDE = 3;

type Members = Readonly<Record<string, unknown>>;

/** Both, or undefined where they contradict each other. */
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

function pairs(): (readonly [string, Account])[] {
  const all = Object.entries(ACCOUNTS).filter(([name, { waits }]) => name !== 'plain' && !waits);
  const found = all.flatMap(([a, one], at) =>
    all.slice(at + 1).flatMap(([b, other]) => {
      const account = both(one, other);
      return account ? [[`${a} + ${b}`, account] as const] : [];
    }),
  );
  if (values.pairs === 'all') return found;
  const random = seededRandom(Number(values.first));
  const drawn = found.map((pair) => ({ pair, place: random.next() }));
  return drawn
    .sort((a, b) => a.place - b.place)
    .slice(0, Number(values.pairs))
    .map(({ pair }) => pair);
}

function sets(): (readonly [string, Account])[] {
  const first = Number(values.first);
  return Array.from({ length: Number(values.sets) }, (_, index) => {
    const dialect = drawDialects(first + index);
    return [`seed ${first + index}: ${namesOf(dialect)}`, { knobs: { dialect } }] as const;
  });
}

/** A spelling that leaves nothing of a reference needs a person where the answer was lost only. */
function isRight({ incomplete, order, delivery, refund, made }: Outcome): boolean {
  const isDone = order === 'confirmed' && delivery === 'accepted' && refund === 'confirmed';
  return incomplete.length === 0 && isDone && made === 1;
}

const waiting = [...pairs(), ...sets()];
const total = waiting.length;
let wrong = 0;

async function work(): Promise<void> {
  for (let next = waiting.shift(); next; next = waiting.shift()) {
    const [name, account] = next;
    const outcome = await walk(account).catch((error: unknown) => ({ error: String(error) }));
    if (!('error' in outcome) && isRight(outcome)) continue;
    wrong += 1;
    process.stdout.write(`WRONG ${name}: ${JSON.stringify(outcome)}\n`);
  }
}

await Promise.all(Array.from({ length: SIDE_BY_SIDE }, work));
process.stdout.write(`${total} accounts: ${wrong} wrong\n`);
if (wrong > 0) process.exitCode = 1;
