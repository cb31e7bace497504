/** Parts of the console that a test without a daemon needs, and that do nothing. */
import type { ConsoleSettings } from '../../src/console/context.ts';
import type { OperationDeps } from '../../src/console/operations/operate.ts';
import { configOf } from '../config/config-of.ts';

export const CONSOLE_SETTINGS: ConsoleSettings = {
  ...{ instance: 'main', version: '0', publicUrl: null, timeZone: 'UTC', proxy: null },
  ...{ sessionIdleMs: 7_200_000, freshnessMs: {}, pulled: {}, notAtLevel: {} },
  machine: { dataDir: '', store: configOf([]).store, exchange: '', written: null },
};

function notAsked(): Promise<never> {
  return Promise.reject(new Error('not asked'));
}

export const NO_OPERATIONS: OperationDeps = {
  sync: {
    runNow: notAsked,
    release: notAsked,
    previewRelease: notAsked,
    retryQuarantine: notAsked,
  },
  events: { replay: notAsked },
  rules: {
    rejects: {
      arm: notAsked,
      disarm: notAsked,
      seen: notAsked,
      keepReport: notAsked,
      resetBreaker: notAsked,
    },
    preview: notAsked,
    reload: notAsked,
  },
  openPortal: notAsked,
  inbox: () => ({}),
  people: () => ({ operators: [], proxyRole: null }),
  doctor: notAsked,
  endSession: notAsked,
};
