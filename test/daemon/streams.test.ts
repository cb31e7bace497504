/** The streams are what the configuration says of each, and not of its neighbour. */
import { expect, it, onTestFinished } from 'vitest';
import { plannedStreams } from '../../src/daemon/streams.ts';
import { systemClock } from '../../src/lib/clock.ts';
import { Secret } from '../../src/lib/secret.ts';
import { configOf } from '../config/config-of.ts';
import { temporaryStore } from '../support/store.ts';
import { clientsOf } from '../sync/pull.ts';

const V1 = [
  { path: 'service.v1.baseUrl', value: 'https://key.example.com/api/v1' },
  { path: 'service.v1.apiKey', value: new Secret('apiKey', 'k') },
];

async function planned(said: Readonly<Record<string, unknown>>) {
  const overrides = Object.entries(said).map(([path, value]) => ({ path, value }));
  const config = configOf([...V1, ...overrides]);
  const url = 'http://127.0.0.1:1';
  const credentials = { key: { clientId: 'a', clientSecret: 'b' } };
  const { transport, v1, v2 } = clientsOf({ v1Url: url, v2Url: url, credentials });
  onTestFinished(() => transport[Symbol.asyncDispose]());
  const store = await temporaryStore();
  const sources = { store, clock: systemClock(), v1, v2, onRefetchRequested: () => undefined };
  const streams = plannedStreams(config, { ...sources, sweepPace: () => 7 });
  return { config, streams, of: (name: string) => streams.find((one) => one.stream.name === name) };
}

const V1_STREAMS = ['brands', 'freight', 'seasons', 'stock', 'season', 'orders', 'ordersFull'];

it('each has its own schedule and fuse; none that is switched off is there', async () => {
  const { off, ...streams } = (await planned({})).config.streams;
  const names = Object.keys(streams);
  expect(off).toEqual([]);
  const said = V1_STREAMS.map((name, at) => [`streams.${name}.schedule`, `${at} 3 * * *`]);
  const { of } = await planned({ ...Object.fromEntries(said), 'streams.off': ['types'] });
  const found = V1_STREAMS.map((name) => [name, of(name)?.schedule]);
  expect(found).toEqual(V1_STREAMS.map((name, at) => [name, `${at} 3 * * *`]));
  expect(names.filter((name) => !of(name))).toEqual(['types']);
  for (const name of names.filter((one) => one !== 'orders' && one !== 'types')) {
    expect(of(name)?.stream.list?.deletionGuard.absolute, name).toBeGreaterThan(0);
  }
  expect(of('genders')).toMatchObject({ schedule: '26 */12 * * *' });
});

it('asks as it is told; only the short walk over the orders is due at each start', async () => {
  const { streams, of } = await planned({
    'service.dialect.v1.paging': 'pages',
    'service.dialect.v1.pageLimit': 123,
    'streams.orders.refunds': true,
    'streams.orders.pendingRefunds': false,
    'streams.stock.detailed': false,
    'streams.stock.detailedPricing': true,
    'streams.stock.includeVariantsOnOrder': true,
    'streams.season.detailed': true,
    'streams.season.detailedPricing': false,
  });
  const paging = { mode: 'pages', pageRows: 123 };
  const level = { detailed: false, detailedPricing: true, includeVariantsOnOrder: true };
  expect(of('stock')?.stream.options).toEqual({ ...level, ...paging });
  const ahead = { detailed: true, detailedPricing: false };
  expect(of('season')?.stream.options).toEqual({ ...ahead, ...paging });
  for (const name of ['orders', 'ordersFull']) {
    expect(of(name)?.stream.options).toEqual({ refunds: true, pendingRefunds: false });
  }
  const urgent = streams.filter(({ atStart, pace }) => atStart || pace);
  const told = urgent.map(({ stream, atStart, pace }) => [stream.name, atStart, pace?.()]);
  expect(told).toEqual([['orders', true, 7]]);
});
