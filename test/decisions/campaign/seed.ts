/**
 * Runs one seed: a day in which deliveries are packed, decided, accepted and rejected, by rules, by
 * people here and by people at the service, while rules are edited, armed and stopped, customers
 * blocked, deliveries packed anew, goods come in and go, the stock is told late or as nonsense, the
 * clock is moved, answers and events are lost, and the daemon is killed or started anew.
 */
import { seededRandom } from '../../../src/lib/random.ts';
import { calmClock } from './calm-clock.ts';
import { storiesOf, verdictOf } from './check-end.ts';
import { listsSoldOut, openCampaignFixture } from './fixture.ts';
import {
  endTrouble,
  happen,
  type Life,
  resetBreaker,
  stopOrResume,
  tellAllCustomers,
} from './happenings.ts';
import { Truth } from './truth.ts';

export interface SeedFigures {
  readonly seed: number;
  readonly deliveries: number;
  /** Changes that the daemon has made at the service, such as `accepted by rules`. */
  readonly moves: Readonly<Record<string, number>>;
  readonly happened: Readonly<Record<string, number>>;
  readonly conflicts: number;
  readonly problems: readonly string[];
  readonly seconds: number;
}

const HOUR_MS = 3_600_000;
/** Each so many seeds lie at the end of a season. */
const OVER_EVERY = 3;
const PAUSE_MS_MAX = 480_000;
const DELIVERY = /\b5\d{5}\b/;
/** A Monday. */
const STARTS_AT = Date.UTC(2026, 10, 23, 6);

function counted(names: readonly string[]): Record<string, number> {
  const counts: Record<string, number> = {};
  for (const name of names) counts[name] = (counts[name] ?? 0) + 1;
  return counts;
}

/** @param dialects the account speaks dialects, drawn by the seed. */
export async function runSeed(seed: number, hours: number, dialects = false): Promise<SeedFigures> {
  const began = performance.now();
  const clock = calmClock(STARTS_AT);
  const random = seededRandom(seed);
  await using fixture = await openCampaignFixture(seed, clock, random, dialects);
  const watch = { now: clock.now, wall: fixture.wall, listsSoldOut: listsSoldOut(seed) };
  const truth = new Truth(fixture.reference, watch);
  const life: Life = { clock, random, fixture, truth, isOver: seed % OVER_EVERY === 0 };
  const happened: string[] = [];
  await fixture.start();
  tellAllCustomers(life);
  while (clock.now() < STARTS_AT + hours * HOUR_MS) {
    happened.push(await happen(life));
    await clock.runUntil(clock.now() + random.int(1, PAUSE_MS_MAX));
  }
  await endTrouble(life);
  fixture.ahead = 0;
  truth.ahead.set(clock.now(), 0);
  if (truth.isStopped.now) await stopOrResume(life);
  await resetBreaker(life);
  const problems = [...truth.problems, ...(await verdictOf(life))];
  const named = problems.flatMap((problem) => DELIVERY.exec(problem)?.map(Number) ?? []);
  problems.push(...(await storiesOf(life, new Set(named))));
  return {
    seed,
    deliveries: fixture.reference.world.book.deliveries.all.length,
    moves: {
      ...counted(truth.moves.map(({ to, by }) => `${to} by ${by}`)),
      'of these for want of pieces': truth.forWant,
    },
    happened: counted(happened),
    conflicts: truth.conflicts,
    problems,
    seconds: (performance.now() - began) / 1_000,
  };
}
