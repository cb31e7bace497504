/**
 * The table of all metrics, from which docs/metrics.md is generated. Units are base units (seconds,
 * bytes); labels have few values each: streams, states, kinds, reasons of ours.
 */
import { OUTBOX_KINDS } from '../../config/words.ts';
import { ANSWER_STATES } from '../../store/answering.ts';
import { PAUSE_TARGETS } from '../../store/pauses.ts';
import { INCIDENT_KINDS } from '../incident-kinds.ts';
import { WAITING_KINDS } from '../waiting.ts';
import {
  END_STATES,
  EVENT_STATES,
  HOLD_CODES,
  MIRRORED,
  OPEN_STATES,
  OUTCOMES,
  REQUEST_CLASSES,
} from './known.ts';
import type { DatabaseReadings } from './readings.ts';
import type { InForce, LiveReadings } from './sources.ts';
import type { Counts, Tallies } from './tally.ts';

/** Readings of the database, with the rules in force that decided. */
export interface Counted extends DatabaseReadings, Tallies {
  readonly inForce: InForce;
}

interface Sample {
  readonly value: number;
  readonly labels?: Readonly<Record<string, string>>;
}

export interface Measure<T> {
  /** Name of the metric without the prefix `selvedge_`; a counter's ends in `_total`. */
  readonly name: string;
  /** Upper bounds of a histogram's buckets; its samples are single observations. */
  readonly buckets?: readonly number[];
  /** Label sets of a histogram that are shown before anything is observed with them. */
  readonly known?: readonly Readonly<Record<string, string>>[];
  readonly help: string;
  readonly labels?: readonly string[];
  readonly read: (readings: T) => readonly Sample[];
}

const one = (value: number | undefined): readonly Sample[] =>
  value === undefined ? [] : [{ value }];
const seconds = (ms: number): number => ms / 1_000;
const each = (record: Readonly<Record<string, number>>, label: string): readonly Sample[] =>
  Object.entries(record).map(([name, value]) => ({ labels: { [label]: name }, value }));

/** Adds a 0 for each known name that does not occur: "none" differs from "not known". */
function withZeros<T extends { readonly name: string }>(
  found: readonly T[],
  known: readonly string[],
  none: Omit<T, 'name'>,
): readonly (T | (Omit<T, 'name'> & { readonly name: string }))[] {
  const names = new Set(found.map(({ name }) => name));
  const absent = known.filter((name) => !names.has(name));
  return [...found, ...absent.map((name) => ({ ...none, name }))];
}

const NONE = { count: 0, oldestMs: 0 };
const PENDING = ['undecided', ...OUTCOMES];
const OPEN_PUSHES = OUTBOX_KINDS.flatMap((kind) => OPEN_STATES.map((state) => `${kind}/${state}`));
const ENDED_PUSHES = OUTBOX_KINDS.flatMap((kind) => END_STATES.map((state) => [kind, state]));

/** Samples of counts under these labels, with 0 for each known combination that does not occur. */
function byLabels(
  counts: Counts,
  labels: readonly string[],
  known: readonly (readonly string[])[],
): readonly Sample[] {
  const found = new Set(counts.map(({ of }) => of.join('/')));
  const absent = known.filter((of) => !found.has(of.join('/'))).map((of) => ({ of, count: 0 }));
  return [...counts, ...absent].map(({ of, count }) => ({
    labels: Object.fromEntries(labels.map((label, at) => [label, of[at] ?? ''])),
    value: count,
  }));
}

/** Ids of the hold rules in force, and the codes of holds that come from no rule. */
function holders({ rules }: InForce): readonly string[] {
  return [...rules.filter(({ action }) => action === 'hold').map(({ id }) => id), ...HOLD_CODES];
}

const zeros = (names: readonly string[]): Readonly<Record<string, number>> =>
  Object.fromEntries(names.map((name) => [name, 0]));

const MINUTE_S = 60;
const HOUR_S = 3_600;
const DAY_S = 86_400;
/** Upper bounds in seconds, from a minute to a week: rules decide at once, people within days. */
const LATENCY_BUCKETS = [
  ...[1, 2, 5, 15, 30].map((minutes) => minutes * MINUTE_S),
  ...[1, 2, 4, 8].map((hours) => hours * HOUR_S),
  ...[1, 2, 4, 7].map((days) => days * DAY_S),
];
const REQUEST_BUCKETS = [0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60];

function perStream(
  name: string,
  help: string,
  value: (stream: DatabaseReadings['streams'][number]) => number | undefined,
): Measure<Counted> {
  return {
    name,
    help,
    labels: ['stream'],
    read: ({ streams }) =>
      streams.flatMap((stream) =>
        one(value(stream)).map((sample) => ({ ...sample, labels: { stream: stream.stream } })),
      ),
  };
}

const kindAndState = (name: string): Readonly<Record<string, string>> => {
  const [kind = '', state = ''] = name.split('/');
  return { kind, state };
};

export const DATABASE_MEASURES: readonly Measure<Counted>[] = [
  perStream('stream_age_seconds', 'Since the start of the last complete run; +Inf: none', (s) =>
    seconds(s.ageMs),
  ),
  perStream('stream_freshness_limit_seconds', 'The age from which data is stale', (s) =>
    seconds(s.limitMs),
  ),
  perStream('stream_failures', 'Failed runs in a row', (s) => s.failures),
  perStream('stream_rows', 'Rows of the last complete run', (s) => s.rows),
  {
    name: 'deliveries_pending',
    help: 'Pending deliveries by what was decided last',
    labels: ['outcome'],
    read: ({ pending }) =>
      withZeros(pending, PENDING, NONE).map(({ name, count }) => ({
        labels: { outcome: name },
        value: count,
      })),
  },
  {
    name: 'deliveries_pending_oldest_seconds',
    help: 'How long the oldest of them is known',
    labels: ['outcome'],
    read: ({ pending }) =>
      withZeros(pending, PENDING, NONE).map(({ name, oldestMs }) => ({
        labels: { outcome: name },
        value: seconds(oldestMs),
      })),
  },
  {
    name: 'holds',
    help: 'Deliveries that are held, by each rule that holds them; no_rule: none covers them',
    labels: ['rule'],
    read: ({ holds, inForce }) =>
      withZeros(holds, holders(inForce), NONE).map(({ name, count }) => ({
        labels: { rule: name },
        value: count,
      })),
  },
  {
    name: 'holds_oldest_seconds',
    help: 'How long the oldest of them is held',
    labels: ['rule'],
    read: ({ holds, inForce }) =>
      withZeros(holds, holders(inForce), NONE).map(({ name, oldestMs }) => ({
        labels: { rule: name },
        value: seconds(oldestMs),
      })),
  },
  {
    name: 'decisions_total',
    help: 'Decisions of rules and people',
    labels: ['outcome', 'mode'],
    read: ({ decisions, inForce: { mode } }) =>
      byLabels(
        decisions,
        ['outcome', 'mode'],
        OUTCOMES.map((outcome) => [outcome, mode]),
      ),
  },
  {
    name: 'rule_decisions_total',
    help: 'The same by rule; a decision that several rules made counts for each',
    labels: ['rule', 'outcome', 'mode'],
    read: ({ ruleDecisions, inForce: { mode, rules } }) =>
      byLabels(
        ruleDecisions,
        ['rule', 'outcome', 'mode'],
        rules.map(({ id, action }) => [id, action, mode]),
      ),
  },
  {
    name: 'packed_to_confirmed_seconds',
    help: 'From packed to the status that the service confirmed (histogram)',
    buckets: LATENCY_BUCKETS,
    read: ({ confirmedMs }) => confirmedMs.map((ms) => ({ value: seconds(ms) })),
  },
  {
    name: 'pushes_ended_total',
    help: 'Pushes that have come to an end',
    labels: ['kind', 'state'],
    read: ({ ended }) => byLabels(ended, ['kind', 'state'], ENDED_PUSHES),
  },
  {
    name: 'rejects_waiting',
    help: 'Rejects that wait out their grace and can be stopped',
    read: ({ rejects }) => one(rejects),
  },
  {
    name: 'outbox_items',
    help: 'Pushes that have not ended, by kind and state',
    labels: ['kind', 'state'],
    read: ({ outbox }) =>
      withZeros(outbox, OPEN_PUSHES, NONE).map(({ name, count }) => ({
        labels: kindAndState(name),
        value: count,
      })),
  },
  {
    name: 'outbox_oldest_seconds',
    help: 'The age of the oldest of them, or since when it is in doubt',
    labels: ['kind', 'state'],
    read: ({ outbox }) =>
      withZeros(outbox, OPEN_PUSHES, NONE).map(({ name, oldestMs }) => ({
        labels: kindAndState(name),
        value: seconds(oldestMs),
      })),
  },
  {
    name: 'waiting',
    help: 'Things that wait for a person, each once: deliveries, documents, runs, other incidents',
    labels: ['kind'],
    read: ({ waiting }) =>
      WAITING_KINDS.map((kind) => ({ labels: { kind }, value: waiting[kind].count })),
  },
  {
    name: 'waiting_overdue',
    help: 'Of these, those that have waited for too long',
    labels: ['kind'],
    read: ({ waiting }) =>
      WAITING_KINDS.map((kind) => ({ labels: { kind }, value: waiting[kind].overdue })),
  },
  { name: 'outbox_dead', help: 'Pushes that were given up', read: ({ dead }) => one(dead) },
  {
    name: 'outbox_needs_attention',
    help: 'Pushes that need a person',
    read: ({ needsAttention }) => one(needsAttention),
  },
  {
    name: 'paused',
    help: '1 for each pause: pushes, decisions, stream or all; name: a kind of push, or a stream',
    labels: ['target', 'name'],
    read: ({ paused }) => {
      const whole = paused.filter(({ name }) => name === '').map(({ target }) => target);
      const others = PAUSE_TARGETS.filter((target) => !whole.includes(target));
      return [
        ...paused.map(({ target, name }) => ({ labels: { target, name }, value: 1 })),
        ...others.map((target) => ({ labels: { target, name: '' }, value: 0 })),
      ];
    },
  },
  {
    name: 'paused_seconds',
    help: 'How long each of these pauses lasts',
    labels: ['target', 'name'],
    read: ({ paused }) =>
      paused.map(({ target, name, forMs }) => {
        return { labels: { target, name }, value: seconds(forMs) };
      }),
  },
  {
    name: 'orders_to_read',
    help: 'Orders that events have named and that are not read again yet',
    read: ({ toRead }) => one(toRead.count),
  },
  {
    name: 'orders_to_read_oldest_seconds',
    help: 'How long the first of them waits: the lag behind events',
    read: ({ toRead }) => one(seconds(toRead.oldestMs)),
  },
  {
    name: 'open_orders',
    help: 'Open orders that may change soon (active), and the others (calm)',
    labels: ['orders'],
    read: ({ book }) => (book ? each({ active: book.active, calm: book.calm }, 'orders') : []),
  },
  {
    name: 'open_orders_oldest_look_seconds',
    help: 'Age of the oldest look of a sweep at an active order, and at any as a whole (calm)',
    labels: ['orders'],
    read: ({ book }) => {
      const ages = { active: book?.activeAgeMs, calm: book?.calmAgeMs };
      return Object.entries(ages).flatMap(([orders, ms]) =>
        typeof ms === 'number' ? [{ labels: { orders }, value: seconds(ms) }] : [],
      );
    },
  },
  {
    name: 'sweep_requests_per_second',
    help: 'Requests of sweeps, in the last hours of a day',
    read: ({ book }) => one(book?.requestsPerSecond ?? undefined),
  },
  {
    name: 'last_event_timestamp_seconds',
    help: 'When the last event was received',
    read: ({ lastEventAt }) => one(lastEventAt === undefined ? undefined : seconds(lastEventAt)),
  },
  {
    name: 'events_missed_ratio',
    help: 'Share of the newest deliveries that no event announced in time, 0 to 1',
    read: ({ relay }) => one(relay && relay.missed / relay.deliveries),
  },
  {
    name: 'events_state',
    help: '1 for the state of the relay by missed-event detection',
    labels: ['state'],
    read: ({ relay }) => (relay ? each({ ...zeros(EVENT_STATES), [relay.state]: 1 }, 'state') : []),
  },
  {
    name: 'quarantine_rows',
    help: 'Rows that could not be understood',
    labels: ['entity'],
    read: ({ quarantine }) => each({ ...zeros(MIRRORED), ...quarantine }, 'entity'),
  },
  {
    name: 'incidents_open',
    help: 'Incidents that nobody has resolved',
    labels: ['kind'],
    read: ({ incidents }) => each({ ...zeros(INCIDENT_KINDS), ...incidents }, 'kind'),
  },
];

export const LIVE_MEASURES: readonly Measure<LiveReadings>[] = [
  {
    name: 'events_received_total',
    help: 'Events that were stored and acknowledged, duplicates included',
    read: ({ inbox }) => one(inbox.accepted),
  },
  {
    name: 'events_duplicates_total',
    help: 'Of these, those that were known already',
    read: ({ inbox }) => one(inbox.duplicates),
  },
  {
    name: 'events_unknown_type_total',
    help: 'Of these, those of a type that we do not know',
    read: ({ inbox }) => one(inbox.unknownType),
  },
  {
    name: 'events_refused_total',
    help: 'Requests at the listener that were no event of ours',
    labels: ['reason'],
    read: ({ inbox }) => each(inbox.refused, 'reason'),
  },
  {
    name: 'events_commit_failures_total',
    help: 'Commits of events that failed: the relay sends them again',
    read: ({ inbox }) => one(inbox.failedCommits),
  },
  {
    name: 'clock_offset_seconds',
    help: 'The other clock less ours',
    labels: ['of'],
    read: ({ inbox, service }) =>
      Object.entries({
        relay: inbox.clockOffsetMs === undefined ? undefined : -inbox.clockOffsetMs,
        service: service.clockOffsetMs,
      }).flatMap(([of, ms]) => (ms === undefined ? [] : [{ labels: { of }, value: seconds(ms) }])),
  },
  {
    name: 'service_requests_total',
    help: 'Requests to the service',
    read: ({ service }) => one(service.requests),
  },
  {
    name: 'service_request_seconds',
    help: 'From the start of a request to its answer (histogram); answer: 2xx to 5xx, or none',
    labels: ['class', 'answer'],
    buckets: REQUEST_BUCKETS,
    known: REQUEST_CLASSES.map((name) => ({ class: name, answer: '2xx' })),
    read: ({ service }) =>
      service.answered.map(({ priority, answer, ms }) => ({
        labels: { class: priority, answer },
        value: seconds(ms),
      })),
  },
  {
    name: 'service_retries_total',
    help: 'Of these, repetitions',
    read: ({ service }) => one(service.retries),
  },
  {
    name: 'service_wait_seconds_total',
    help: 'Waiting for a place within the rate limits, and between tries',
    read: ({ service }) => one(seconds(service.waitMs)),
  },
  {
    name: 'service_received_bytes_total',
    help: 'Bytes of answers',
    read: ({ service }) => one(service.bytesReceived),
  },
  {
    name: 'service_requests_waiting',
    help: 'Requests that wait for a place',
    labels: ['priority'],
    read: ({ service }) => each({ ...zeros(REQUEST_CLASSES), ...service.waiting }, 'priority'),
  },
  {
    name: 'service_requests_active',
    help: 'Requests on their way',
    read: ({ service }) => one(service.active),
  },
  {
    name: 'service_requests_per_second',
    help: 'How many requests may start in a second now; less than configured: the service said so',
    read: ({ service }) => one(service.perSecond),
  },
  {
    name: 'service_dialects_total',
    help: 'What answers had otherwise than the contract says, and was read all the same',
    labels: ['what'],
    read: ({ service }) => each(service.dialects, 'what'),
  },
  {
    name: 'service_state',
    help: '1 for the state of each API, by the end of its last request; silent: nobody answers',
    labels: ['api', 'state'],
    read: ({ service }) =>
      service.answers.flatMap(({ api, state }) =>
        ANSWER_STATES.map((one) => ({
          labels: { api, state: one },
          value: one === state ? 1 : 0,
        })),
      ),
  },
  {
    name: 'logins_total',
    help: 'Log-ins at the service: done, refused, or failed for want of an answer',
    labels: ['result'],
    read: ({ service }) => each({ ...service.logins }, 'result'),
  },
  {
    name: 'worker_running',
    help: '0 while a worker waits to be started again',
    labels: ['worker'],
    read: ({ workers }) =>
      workers.map(({ name, state }) => ({
        labels: { worker: name },
        value: Number(state === 'running'),
      })),
  },
  {
    name: 'worker_restarts_total',
    help: 'How often a worker has failed and was started again',
    labels: ['worker'],
    read: ({ workers }) =>
      workers.map(({ name, restarts }) => ({ labels: { worker: name }, value: restarts })),
  },
  {
    name: 'workers_stuck',
    help: 'Workers that make no progress',
    read: ({ stuck }) => one(stuck.length),
  },
  {
    name: 'disk_free_bytes',
    help: 'Free on the disk of the database',
    read: ({ space }) => one(space.freeBytes),
  },
  {
    name: 'disk_stopped',
    help: '1 for an activity that rests because the disk is nearly full',
    labels: ['activity'],
    read: ({ space }) =>
      ['pull', 'receive', 'send'].map((activity) => ({
        labels: { activity },
        value: Number(space.stopped.includes(activity)),
      })),
  },
  {
    name: 'database_bytes',
    help: 'Size of mirror.db',
    read: ({ files }) => one(files.databaseBytes),
  },
  {
    name: 'wal_bytes',
    help: 'Size of the write-ahead log of mirror.db',
    read: ({ files }) => one(files.walBytes),
  },
  {
    name: 'wal_pinned_seconds',
    help: 'How long a reader has kept the log from being emptied',
    read: ({ files }) => one(seconds(files.walPinnedMs)),
  },
  {
    name: 'backup_age_seconds',
    help: 'Age of the newest backup that was verified; +Inf: there is none',
    read: ({ backup }) => one(backup === undefined ? Infinity : seconds(backup.ageMs)),
  },
  {
    name: 'backup_bytes',
    help: 'Size of the newest backup',
    read: ({ backup }) => one(backup?.bytes),
  },
  {
    name: 'plane_lag_seconds',
    help: 'Age of the oldest change that the copy in PostgreSQL lacks; +Inf: there is no copy',
    read: ({ plane }) => one(plane && seconds(plane.lagMs)),
  },
  {
    name: 'plane_lag_limit_seconds',
    help: 'The lag from which the copy is late (plane.lagWarning)',
    read: ({ plane }) => one(plane && seconds(plane.limitMs)),
  },
  {
    name: 'standby_sends',
    help: '1: this machine holds the lease and sends; 0: it has a standby, and sends nothing',
    read: ({ standby }) => one(standby && Number(standby.sends)),
  },
  {
    name: 'standby_unkept_entries',
    help: 'Changes that PostgreSQL does not have yet for a standby',
    read: ({ standby }) => one(standby?.waiting),
  },
  {
    name: 'standby_ready_machines',
    help: 'Standbys that could take over now',
    read: ({ standby }) => one(standby?.ready),
  },
];
