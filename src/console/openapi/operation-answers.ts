/** Schemas of answers about pulls, events and the system; each is strict, as in answers.ts. */
import { z } from 'zod';
import { events, missedEvents } from '../../inbox/lists.ts';
import { backups } from '../../ops/lists.ts';
import { wireSchema } from '../../surface/forms.ts';
import { runSchema as runRow } from '../../sync/lists.ts';
import { counts, numberOrNull, pauseMembers, textOrNull, time, wholeOrNull } from './answers.ts';
import { standbyWire } from './postgres-wire.ts';

const timeOrNull = time.nullable();

const runSchema = wireSchema(runRow);

const previewSchema = z
  .strictObject({
    deletes: z.int().meta({ description: 'What a release must expect' }),
    firstKeys: z.array(z.string()),
    acceptsChange: z.boolean(),
    acceptsCount: textOrNull,
    later: textOrNull.meta({ description: 'Why nothing is deleted at once' }),
  })
  .nullable();

export const runViewSchema = z
  .strictObject({
    run: runSchema,
    rowsBefore: wholeOrNull,
    lastError: textOrNull,
    drift: z.array(z.string()).meta({ description: 'Members that the contract does not know' }),
    accepted: z.record(z.string(), z.unknown()).nullable(),
    unread: z.array(
      z.strictObject({ entity: z.string(), path: z.string(), reason: z.string(), times: z.int() }),
    ),
    changes: z.array(
      z.strictObject({
        seq: z.int(),
        at: time,
        entity: z.string(),
        key: z.string(),
        op: z.string(),
        diff: z.record(z.string(), z.unknown()),
      }),
    ),
    isWaiting: z.boolean(),
    release: z
      .strictObject({ preview: previewSchema, refused: textOrNull })
      .nullable()
      .meta({ description: 'Null: nothing waits for a release' }),
  })
  .meta({ id: 'RunView' });

const changeSchema = z.strictObject({
  at: time,
  entity: z.string(),
  key: z.string(),
  op: z.string(),
  cause: z.string(),
});

export const eventSchema = wireSchema(
  z
    .strictObject({
      ...events.row.shape,
      changes: z.array(changeSchema),
      orderSince: z.array(changeSchema),
      decisions: z.array(
        z.strictObject({
          decisionId: z.int().min(1),
          at: time,
          orderDeliveryId: z.int().min(1),
          outcome: z.string(),
          mode: z.string(),
        }),
      ),
      waiting: z.strictObject({ dueAt: time, lastError: textOrNull }).nullable(),
      body: z.unknown().meta({ description: 'As JSON where it is some, else as text or base64' }),
    })
    .meta({ id: 'Event' }),
);

export const eventFiguresSchema = z.strictObject({
  lastAt: timeOrNull,
  relay: z
    .strictObject({
      state: z.enum(['healthy', 'degraded', 'silent']),
      deliveries: z.int(),
      missed: z.int(),
    })
    .nullable(),
  missed: z.array(wireSchema(missedEvents.row)),
  foreign: counts,
  waiting: z.int(),
  inbox: z
    .strictObject({
      accepted: z.int(),
      duplicates: z.int(),
      unknownType: z.int(),
      failedCommits: z.int(),
      refused: counts.meta({ description: 'By reason, since the daemon started' }),
      clockOffsetMs: z.number().optional(),
    })
    .nullable(),
});

export const systemSchema = z
  .strictObject({
    version: z.string(),
    daemon: z.strictObject({ running: z.boolean(), holder: textOrNull, since: timeOrNull }),
    silentMs: z.number(),
    loop: z.strictObject({ medianMs: numberOrNull, longestMs: numberOrNull, beats: z.int() }),
    storage: z.strictObject({
      mirrorBytes: z.int(),
      logBytes: z.int(),
      exchangeBytes: z.int(),
      unusedBytes: z.int(),
      freeBytes: z.int(),
      resting: textOrNull,
      schema: z.int(),
    }),
    backups: z.strictObject({
      rows: z.array(wireSchema(backups.row)),
      others: z.int(),
      problem: textOrNull,
    }),
    pauses: z.array(z.strictObject(pauseMembers)),
    plane: z
      .strictObject({
        account: z.string(),
        state: z.enum(['following', 'rebuilding', 'reconciling', 'waiting', 'absent', 'silent']),
        lagMs: numberOrNull,
        isLate: z.boolean(),
        error: z.strictObject({ message: z.string(), hint: textOrNull }).nullable(),
      })
      .nullable()
      .meta({ description: 'The copy in PostgreSQL; null: the configuration has none' }),
    standby: standbyWire,
  })
  .meta({ id: 'System' });
