/**
 * Chaos: the service cuts connections before and after the effect, answers with faults, stalls,
 * commits late and lists late, the daemon is killed at random moments, and references may be used
 * twice. In the end the service has each document exactly once, or the outbox shows it in doubt
 * with its evidence. `SELVEDGE_OUTBOX_SEEDS` (`1-50`), `SELVEDGE_OUTBOX_ORDERS` and
 * `SELVEDGE_OUTBOX_REFUNDS` make it longer.
 */
import { expect, it } from 'vitest';
import { systemClock } from '../../src/lib/clock.ts';
import { type Random, seededRandom } from '../../src/lib/random.ts';
import { troubleKnobs } from './campaign/faults.ts';
import { type House, startHouse } from './house.ts';

const { env } = process;
const ORDERS = Number(env.SELVEDGE_OUTBOX_ORDERS ?? 15);
const REFUNDS = Number(env.SELVEDGE_OUTBOX_REFUNDS ?? 5);
const SEED_MS_MAX = 2_400_000;
const isLong = env.SELVEDGE_OUTBOX_SEEDS !== undefined;

function seeds(): number[] {
  const [first = 1, last = first] = (env.SELVEDGE_OUTBOX_SEEDS ?? '1').split('-').map(Number);
  return Array.from({ length: last - first + 1 }, (_, index) => first + index);
}

const TROUBLE = { stall: '31s', lateCommit: { least: 5, most: 120 }, listingLagMax: 30 };

async function submit(house: House, random: Random): Promise<void> {
  const { barcodes } = house;
  for (let index = 0; index < ORDERS; index += 1) {
    const line = { barcode: random.pick(barcodes), quantity: 3, price: 10 + (index % 7) };
    await house.put('order', `O-${index}`, { lines: [line] });
    if (index < REFUNDS) {
      const lines = [{ barcode: line.barcode, quantity: 1, refundType: 'claim/credit' }];
      await house.put('pending_refund', `R-${index}`, { orderReference: `o-${index}`, lines });
    }
    if (index % 20 === 0) await systemClock().sleep(1);
  }
}

/** Kills and starts again, a few times, at moments that the seed has no power over. */
async function killAtRandom(house: House, random: Random, times: number): Promise<void> {
  for (let left = times; left > 0; left -= 1) {
    await systemClock().sleep(random.int(50, isLong ? 1_500 : 250));
    await house.kill();
    await house.start();
  }
}

function countsBy(references: readonly string[]): Map<string, number> {
  const counts = new Map<string, number>();
  for (const one of references) counts.set(one, (counts.get(one) ?? 0) + 1);
  return counts;
}

/** Lists the problems in the end, one text each: the list must be empty. */
async function verdict(house: House): Promise<{ problems: string[]; inDoubt: number }> {
  const { book } = house.reference.world;
  const made = new Map([
    ['order', countsBy(book.orders.all.map(({ reference }) => reference))],
    ['pending_refund', countsBy(book.pendingRefunds.all.map(({ reference }) => reference))],
  ]);
  const rows = await house.store.db.selectFrom('outbox').selectAll().execute();
  const evidence = await house.store.db.selectFrom('outbox_evidence').select('outbox_id').execute();
  const proved = new Set(evidence.map((row) => row.outbox_id));
  const problems: string[] = [];
  let inDoubt = 0;
  for (const row of rows) {
    const count = made.get(row.kind)?.get(row.reference) ?? 0;
    const told = `${row.kind} ${row.reference} is ${row.state}, ${count} at the service`;
    if (count > 1) problems.push(`double: ${told}`);
    if (row.state === 'confirmed' && count !== 1) problems.push(`lost: ${told}`);
    if (row.state === 'confirmed') continue;
    if (row.blocked_reason !== null) inDoubt += 1;
    if (row.blocked_reason === null || !proved.has(row.outbox_id)) {
      problems.push(`unsettled: ${told}: ${row.last_error}`);
    }
  }
  if (rows.length !== ORDERS + REFUNDS) problems.push(`${rows.length} rows`);
  return { problems, inDoubt };
}

it.each(seeds())(
  'leaves every document there exactly once (seed %i)',
  async (seed) => {
    const random = seededRandom(seed);
    const startedAt = performance.now();
    const house = await startHouse({
      seed,
      knobs: { paging: { orders: 100 }, ...troubleKnobs(random, TROUBLE) },
      settings: {
        // In real time half a second: a busy machine must not look like a stalled service.
        'service.timeouts.connect': '4m',
        'service.timeouts.firstByte': '4m',
        'service.timeouts.idle': '4m',
        'service.timeouts.total': '8m',
        'outbox.reviewAfter': '30d',
        'outbox.attemptsMax': 20,
        'outbox.delayMax': '1m',
        'service.limits.concurrency': 16,
      },
    });
    await Promise.all([submit(house, random), systemClock().sleep(isLong ? 1_000 : 0)]);
    await killAtRandom(house, random, isLong ? 6 : 2);
    await house.settled();
    await house.kill();
    await house.start();
    await house.settled();
    const { problems, inDoubt } = await verdict(house);
    expect(problems).toEqual([]);
    if (!isLong) return;
    const classes = await house.store.db
      .selectFrom('outbox_attempt')
      .select(['class', (eb) => eb.fn.countAll<number>().as('count')])
      .groupBy('class')
      .execute();
    const told = classes.map((row) => `${row.class} ${row.count}`).join(', ');
    const seconds = ((performance.now() - startedAt) / 1_000).toFixed(1);
    process.stdout.write(`seed ${seed}: ${told}; left to people ${inDoubt}; ${seconds} s\n`);
  },
  SEED_MS_MAX,
);
