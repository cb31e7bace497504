/**
 * Everything that went wrong since a time, also what is over by now: incidents, pulls that failed
 * or were held back, and pushes that came to nothing. It answers "did anything go wrong in the
 * night?".
 */
import { sql } from 'kysely';
import type { z } from 'zod';
import { pushWords, WORDS, wordFor } from '../config/words.ts';
import { atLocal, isoDay, localClockOf } from '../lib/local-time.ts';
import { plural } from '../lib/strings.ts';
import type { Db } from '../store/store.ts';
import { list, pageOfAll, ROWS_MAX } from '../surface/lists.ts';
import { oneOf, text, time, whole } from '../surface/members.ts';
import type { Reading } from '../surface/reading.ts';
import { incidentsSince } from './incidents.ts';

const KINDS = ['incident', 'run', 'push'] as const;

const row = {
  at: time('When'),
  endedAt: time('Ended').nullable(),
  thing: oneOf('Kind', KINDS, { words: { ...WORDS.thing, run: 'pull' } }),
  key: text('Key', { about: 'Number by which its page and its commands name it' }),
  what: text('What went wrong', { opens: ['thing', 'key'] }),
  says: text('What happened', {}, 10_000),
  times: whole('Times', { about: 'Pulls of one stream with the same end are one row' }, 1),
};
export type Trouble = { readonly [K in keyof typeof row]: z.output<(typeof row)[K]> };

const DAY_MS = 86_400_000;
const EVENING = '18:00';

/** Beginning of the last night: six in the evening of the day before, in the zone. */
export function lastEvening(now: number, timeZone: string): number {
  const { date } = localClockOf(timeZone)(now);
  return atLocal(timeZone, isoDay(Date.parse(date) - DAY_MS), EVENING);
}

/** Pulls that did not end well: those of one stream with one end together, by the latest. */
async function wrongRuns(db: Db, since: number, until: number): Promise<Trouble[]> {
  const { rows } = await sql<{
    readonly stream: string;
    readonly outcome: string;
    readonly times: number;
    readonly first: number;
    readonly last: number | null;
    readonly runId: number;
    readonly reason: string | null;
  }>`
    select stream, outcome, count(*) times, min(started_at) first, max(ended_at) last,
      max(run_id) "runId", reason
    from sync_run
    where outcome in ('failed', 'suspicious') and started_at between ${since} and ${until}
    group by stream, outcome`.execute(db);
  return rows.map(({ stream, outcome, times, first, last, runId, reason }) => ({
    at: first,
    endedAt: last,
    thing: 'run',
    key: String(runId),
    what: `pull of ${wordFor('stream', stream)}: ${wordFor('runOutcome', outcome)}`,
    says: reason ?? '',
    times,
  }));
}

/** Pushes that the service refused or that were given up; why they were may quote a document. */
async function wrongPushes({ db, seesAddresses }: Reading, since: number, until: number) {
  const { rows } = await sql<{
    readonly id: number;
    readonly kind: string;
    readonly reference: string;
    readonly state: string;
    readonly at: number;
    readonly endedAt: number;
    readonly error: string | null;
  }>`
    select outbox_id id, kind, reference, state, created_at at, ended_at "endedAt",
      last_error error
    from outbox
    where kind in (${sql.join(Object.keys(WORDS.push))}) and state in ('refused', 'dead')
      and ended_at between ${since} and ${until}`.execute(db);
  return rows.map(({ id, kind, reference, state, endedAt, error }): Trouble => {
    const about = pushWords(kind, reference);
    return {
      at: endedAt,
      endedAt,
      thing: 'push',
      key: String(id),
      what: `${wordFor('push', kind)} ${wordFor('pushState', state)}: ${about}`,
      says: (seesAddresses && error) || '',
      times: 1,
    };
  });
}

/** Troubles of a time, the latest first; of those that began before it, the ones that lasted. */
export async function troublesSince(
  from: Reading,
  since: number,
  until = from.now,
): Promise<readonly Trouble[]> {
  const incidents = await incidentsSince(from.db, since, until);
  const all: Trouble[] = [
    ...incidents.map(
      ({ incidentId, kind, says, at, resolvedAt }): Trouble => ({
        at,
        endedAt: resolvedAt,
        thing: 'incident',
        key: String(incidentId),
        what: wordFor('incident', kind),
        says,
        times: 1,
      }),
    ),
    ...(await wrongRuns(from.db, since, until)),
    ...(await wrongPushes(from, since, until)),
  ];
  return all.toSorted((a, b) => b.at - a.at);
}

/** Number of things that went wrong, in words. */
export function troublesText(count: number): string {
  return count === 0 ? 'nothing went wrong' : `${plural(count, 'thing')} went wrong`;
}

export const troubles = list({
  name: 'incidents.past',
  operation: 'listTroubles',
  path: '/incidents/past',
  title: 'What went wrong',
  about: 'incidents, pulls that failed or were held back, and pushes that came to nothing',
  more:
    'The latest first, also what is over by now; since six in the evening of yesterday unless a ' +
    'time is given.',
  examples: [
    ['incidents past', 'did anything go wrong in the night?'],
    ['incidents past --since 7d', 'in the last week'],
  ],
  query: {
    since: time('Since', {
      about: 'From then on: a time, or 7d; left out: yesterday 18:00',
    }).optional(),
    until: time('Until', { about: 'A time, or 1d for a day ago; left out: now' }).optional(),
    thing: row.thing.optional(),
  },
  row,
  shown: ['at', 'endedAt', 'thing', 'what', 'says', 'times'],
  empty: 'Nothing went wrong in this time.',
  async read(from, { since, until, thing }, page) {
    const begin = since ?? lastEvening(from.now, await from.timeZone());
    const all = await troublesSince(from, begin, until);
    const shown = thing === undefined ? all : all.filter((one) => one.thing === thing);
    return pageOfAll(shown.slice(0, ROWS_MAX), page, placeOf);
  },
  place: placeOf,
});

function placeOf({ thing, key }: Pick<Trouble, 'thing' | 'key'>): string {
  return `${thing} ${key}`;
}
