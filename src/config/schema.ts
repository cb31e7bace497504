/**
 * The one description of the configuration. It is strict (unknown settings are refused) and has no
 * defaults: the shipped `config/selvedge.yaml` has every setting, and a user's file is laid over
 * it. Durations become milliseconds, sizes bytes, secrets `Secret` objects.
 */
import { z } from 'zod';
import { type ContextFields, contextFields, type SchemaContext } from './schema/context.ts';
import {
  choice,
  delaysInOrder,
  duration,
  flag,
  onceSound,
  size,
  text,
  whole,
} from './schema/fields.ts';
import { intakeSection } from './schema/intake.ts';
import { consoleSection, listenerSection, localSection } from './schema/listeners.ts';
import { notifySection } from './schema/notify.ts';
import { placesApart } from './schema/places.ts';
import { planeSection } from './schema/plane.ts';
import { reportsSection } from './schema/reports.ts';
import { serviceSection } from './schema/service.ts';
import { standbySection, standbySound } from './schema/standby.ts';
import { streamsSection } from './schema/streams.ts';

function storeSection(fields: ContextFields) {
  return z.strictObject({
    busyTimeout: duration('0s', '1m'),
    space: z.strictObject({
      pullFloor: size('0B', '1000000GiB'),
      receiveFloor: size('0B', '1000000GiB'),
      sendFloor: size('0B', '1000000GiB'),
      margin: size('0B', '1000000GiB'),
    }),
    ballast: size('0B', '1GiB'),
    retention: z.strictObject({
      // Decisions use the history of changes: accepted deliveries claim stock and credit by it
      // (decisions/facts/reserved.ts).
      changes: duration('30d', '36500d'),
      events: duration('90d', '36500d'),
      stockDays: duration('30d', '36500d'),
    }),
    backup: z.strictObject({
      directory: fields.path('/var/backups/selvedge').nullable(),
      keep: whole(1, 10_000),
    }),
  });
}

function outboxSection() {
  const section = z.strictObject({
    dryRun: flag(),
    styles: flag(),
    freight: choice('learned', 'required', 'optional'),
    quietTime: duration('0s', '1d'),
    lookEvery: duration('1s', '1h'),
    refundsUpTo: choice('delivered', 'ordered'),
    attemptsMax: whole(1, 100),
    delayMin: duration('0s', '1h'),
    delayMax: duration('1s', '1d'),
    reviewAfter: duration('1m', '30d'),
    auditEvery: duration('1m', '30d'),
  });
  return section.superRefine(delaysInOrder, onceSound('delayMin', 'delayMax'));
}

/** Builds the schema of the whole file, bound to the paths and secrets of this start. */
export function createSchema(context: SchemaContext) {
  const fields = contextFields(context);
  const file = z.strictObject({
    instance: text('a short name (a-z, 0-9, -)', 'main', /^[a-z0-9][a-z0-9-]{0,31}$/),
    dataDir: fields.path('/var/lib/selvedge'),
    service: serviceSection(fields),
    store: storeSection(fields),
    listener: listenerSection(fields),
    local: localSection(),
    console: consoleSection(fields),
    streams: streamsSection(),
    rules: z.strictObject({
      directory: fields.path('/etc/selvedge/rules'),
      mode: choice('observe', 'shadow', 'live'),
    }),
    decisions: z.strictObject({
      settle: duration('0s', '1d'),
      reconsider: duration('1s', '1d'),
    }),
    outbox: outboxSection(),
    reports: reportsSection(fields),
    intake: intakeSection(fields),
    notify: notifySection(fields),
    plane: planeSection(fields),
    standby: standbySection(fields),
    log: z.strictObject({
      level: choice('trace', 'debug', 'info', 'warn', 'error'),
      format: choice('auto', 'json', 'journal', 'human'),
    }),
  });
  return file
    .superRefine(placesApart, onceSound('dataDir', 'store', 'intake', 'reports'))
    .superRefine(standbySound, onceSound('standby', 'outbox'));
}

/** The configuration as the program uses it: milliseconds, bytes, absolute paths, secrets. */
export type Config = z.output<ReturnType<typeof createSchema>>;
