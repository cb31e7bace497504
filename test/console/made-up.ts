/** Parts of the console that a test without a daemon needs, and that do nothing. */
import type { ConsoleSettings } from '../../src/console/context.ts';
import type { LookupDeps } from '../../src/console/lookups.ts';
import { Secret } from '../../src/lib/secret.ts';
import { installationOf } from '../../src/ops/installation.ts';
import { configOf } from '../config/config-of.ts';

const SOME = configOf([
  { path: 'service.v1.baseUrl', value: 'https://service.example.com/api/v1' },
  { path: 'service.v1.apiKey', value: new Secret('apiKey', 'made-up-key') },
]);

export const CONSOLE_SETTINGS: ConsoleSettings = {
  ...{ instance: 'main', version: '0', publicUrl: null, timeZone: 'UTC', proxy: null },
  ...{ sessionIdleMs: 7_200_000, freshnessMs: {}, pulled: {}, notAtLevel: {} },
  reasons: [],
  rates: [],
  reports: { directory: '', locale: null, schedules: [], store: { path: '', busyTimeoutMs: 1 } },
  // A folder without a database: no daemon runs there, and there is no backup.
  installation: { ...installationOf(SOME), dataDir: '.', freshnessMs: {} },
  machine: { dataDir: '', store: SOME.store, exchange: '', written: null, plane: null },
};

function notAsked(): Promise<never> {
  return Promise.reject(new Error('not asked'));
}

export const NO_LOOKUPS: LookupDeps = {
  sync: { previewRelease: notAsked },
  inbox: () => ({}),
  people: () => ({ operators: [], proxyRole: null }),
  doctor: notAsked,
};
