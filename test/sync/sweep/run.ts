/**
 * A season's book of pre-orders under the limit of an account, as a command:
 *
 *   npm run campaign -- sweep [--orders 30000] [--hours 48] [--rate 20] [--lost 2] [--seed 1]
 *
 * The streams, the reader, the refetcher and the mirror are the real ones; the account is an object
 * in this process, and the clock leaps. Of the events, `lost` per cent never come. Exits 1 when the
 * sweeps take more than 15 % of the requests, when `orders` was older than 30 minutes, when a lost
 * packing in its window was found after 25 minutes or any other change after a day, or when the
 * mirror is wrong at the end. Two days of 30,000 orders take minutes.
 */
import { parseArgs } from 'node:util';
import { wholeNumber } from '../../../src/cli/arguments.ts';
import { formatDuration } from '../../../src/lib/units.ts';
import { WORDS } from './happenings.ts';
import { simulateBook } from './simulate.ts';

const SHARE_MAX = 0.15;

const { values } = parseArgs({
  options: {
    orders: { type: 'string', default: '30000' },
    hours: { type: 'string', default: '48' },
    rate: { type: 'string', default: '20' },
    lost: { type: 'string', default: '2' },
    seed: { type: 'string', default: '1' },
  },
});
const read = wholeNumber();
const perSecond = read(values.rate);
const found = await simulateBook({
  ...{ orders: read(values.orders), hours: read(values.hours), perSecond },
  ...{ lost: read(values.lost) / 100, seed: read(values.seed) },
});
const { first, requests, share, book, slowestMs, problems } = found;
const cpu = process.cpuUsage();
const percent = (part: number): string => `${(part * 100).toFixed(1)} %`;
const foundWords = (limit: keyof typeof WORDS): string =>
  `${found.found[limit]} ${WORDS[limit].words}, the slowest after ` +
  `${formatDuration(Math.round(slowestMs[limit] / 1_000) * 1_000)}`;
const lines = [
  `${values.orders} open orders, ${perSecond} requests/s, ${values.hours} h, ${values.lost} % lost`,
  `first sweep: ${first.pages + first.looks} requests in ${formatDuration(first.ms)}`,
  `sweeps: ${requests.pages} pages and ${requests.looks} requests of looks, ${percent(share)}`,
  `events: ${found.events}, ${requests.reads} requests; ${found.packings} deliveries packed`,
  `at the end ${book?.active} active and ${book?.calm} calm orders`,
  `orders at most ${formatDuration(found.oldestMs)} old,` +
    ` a look at most ${formatDuration(found.calmMs)}`,
  `found without an event: ${foundWords('soon')}; ${foundWords('later')}`,
  `${found.waiting} changes not found yet; ${found.wrong} orders wrong`,
  `${((cpu.user + cpu.system) / 1_000_000).toFixed(0)} s of CPU`,
  ...problems.slice(0, 20),
];
process.stdout.write(`${lines.join('\n')}\n`);
if (problems.length > 0 || found.wrong > 0 || share > SHARE_MAX) process.exitCode = 1;
