/**
 * Worker that notes whether the service answers: for the status and the console's thread, which
 * only read the database, and over a restart. After a minute in which requests were sent and none
 * was answered it opens an incident, which the first answer ends. Without a request nothing is
 * known, and nothing changes: a quiet night is no silence.
 */
import type { Clock } from '../../lib/clock.ts';
import type { Logger } from '../../lib/log.ts';
import {
  describeAnswer,
  nameOfApis,
  noteAnswers,
  type ServiceAnswer,
  SILENT_MS,
} from '../../store/answering.ts';
import { type Incident, reconcileIncidents, updateIncident } from '../../store/incidents.ts';
import type { Store } from '../../store/store.ts';
import type { Worker } from '../supervisor.ts';

const KIND = 'service_silent';
const ADVICE =
  '"selvedge doctor" tries it: its host name, certificate and proxy; is the service up? What ' +
  'waits goes on by itself';

/** Least milliseconds between two notes, and most until the times of the last request are noted. */
const PAUSE_MS = 1_000;
const LOOK_MS = 10_000;
/** Steps in which times are noted; finer ones would only be writes. */
const STEP_MS = 60_000;

export interface AnswerWatchDeps {
  readonly store: Store;
  readonly clock: Clock;
  readonly log: Logger;
  readonly answers: () => readonly ServiceAnswer[];
}

export interface AnswerWatch extends Worker {
  /** Makes the worker look soon, because an API begins or ceases to answer. */
  wakeUp(): void;
}

function incidentsOf(answers: readonly ServiceAnswer[], now: number): Incident[] {
  return answers
    .filter(({ state, unansweredMs }) => state === 'silent' && unansweredMs >= SILENT_MS)
    .map((one) => {
      const { since, why } = one;
      // The time of the last request would be another detail with each look.
      const text = describeAnswer({ ...one, askedAt: now }, now);
      const detail = { says: `the service ${text} (${nameOfApis([one])})`, advice: ADVICE };
      return { kind: KIND, entity: 'service', key: one.api, detail: { ...detail, since, why } };
    });
}

/** Part that is worth a note: the states, and their times in steps. */
function noteworthy(answers: readonly ServiceAnswer[]): string {
  const steps = (ms: number | null): number => Math.floor((ms ?? 0) / STEP_MS);
  return JSON.stringify(
    answers.map(({ askedAt, answeredAt, unansweredMs, ...one }) => {
      return { ...one, at: [askedAt, answeredAt, unansweredMs].map(steps) };
    }),
  );
}

export async function tellAnswers(deps: AnswerWatchDeps): Promise<void> {
  const { store, clock, log } = deps;
  const now = clock.now();
  const answers = deps.answers();
  await noteAnswers(store.db, answers, clock);
  const wanted = incidentsOf(answers, now);
  const { opened, ended } = await reconcileIncidents(store.db, [KIND], wanted, now);
  for (const { detail } of opened) log.error({ alarm: KIND, ...detail }, 'nobody answers');
  for (const incident of wanted) await updateIncident(store.db, incident, now);
  if (ended > 0) log.info('the service answers again');
}

export function createAnswerWatch(deps: AnswerWatchDeps): AnswerWatch {
  const { clock } = deps;
  let wake = new AbortController();
  return {
    name: 'answering',
    wakeUp: () => wake.abort(),
    async run(signal) {
      let noted = '';
      while (!signal.aborted) {
        wake = new AbortController();
        const news = noteworthy(deps.answers());
        // Nothing is noted before the first request, so that the note of an earlier process stays.
        if (news !== noted && news !== '[]') await tellAnswers(deps);
        noted = news;
        await clock.sleep(PAUSE_MS, signal).catch(() => undefined);
        const either = AbortSignal.any([signal, wake.signal]);
        await clock.sleep(LOOK_MS, either).catch(() => undefined);
      }
    },
  };
}
