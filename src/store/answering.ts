/**
 * Tells whether the service is there: how the last request to each of its APIs ended, as the daemon
 * that asks them notes it. Texts that explain a delay ask here first, because a service that does
 * not answer is the cause of every other one.
 */

import { z } from 'zod';
import { V2_LISTS } from '../config/lists.ts';
import type { Clock } from '../lib/clock.ts';
import { tryParseJson } from '../lib/json.ts';
import { formatDuration, isoTime } from '../lib/units.ts';
import { readState, writeState } from './state.ts';
import type { Db, Tx } from './store.ts';

const KEY = 'service_answers';

/** `waits`: it answers, and asks to be asked later. */
export const ANSWER_STATES = ['answers', 'silent', 'login_refused', 'waits'] as const;
export const APIS = ['V1', 'V2'] as const;
export type Api = (typeof APIS)[number];

const noted = z.array(
  z.object({
    api: z.enum(APIS),
    host: z.string(),
    state: z.enum(ANSWER_STATES),
    /** Epoch ms since when it is so; of `silent`, when the first unanswered request was sent. */
    since: z.number(),
    /** Epoch ms of the last request, and of the last answer; null: there was none. */
    askedAt: z.number().nullable(),
    answeredAt: z.number().nullable(),
    /** Milliseconds in which requests were sent and none was answered; 0: the last one was. */
    unansweredMs: z.number(),
    /** Reason for silence or refusal; null for other states. */
    why: z.string().nullable(),
    /** Epoch ms until which the service asks to wait; null: it does not. */
    untilAt: z.number().nullable(),
  }),
);

/** State of one API of the service, and the host that it is asked at. */
export type ServiceAnswer = Readonly<z.output<typeof noted>[number]>;

export function noteAnswers(
  db: Db | Tx,
  answers: readonly ServiceAnswer[],
  clock: Clock,
): Promise<void> {
  return writeState(db, KEY, JSON.stringify(answers), clock);
}

/** Reads the noted states; empty while no daemon has asked. */
export async function readAnswers(db: Db | Tx): Promise<readonly ServiceAnswer[]> {
  return noted.safeParse(tryParseJson((await readState(db, KEY)) ?? '')).data ?? [];
}

/** Milliseconds of requests without an answer from which an incident tells of it. */
export const SILENT_MS = 60_000;

/** Milliseconds without a request from which the status says that nobody asks. */
const UNASKED_MS = 10 * 60_000;

/** Names APIs with their hosts; two of one host are named together. */
export function nameOfApis(answers: readonly Pick<ServiceAnswer, 'api' | 'host'>[]): string {
  const hosts = Map.groupBy(answers, ({ host }) => host);
  return [...hosts]
    .map(([host, of]) => `${of.map(({ api }) => api).join(' and ')} at ${host}`)
    .join(', ');
}

/**
 * Says that the service, or the API that is named, does not answer: the clause that other texts
 * put behind what waits for it. Undefined: it answers, or nobody has asked it.
 */
export function absent(answers: readonly ServiceAnswer[], api?: Api): string | undefined {
  const silent = answers.filter((one) => one.state === 'silent' && (api ?? one.api) === one.api);
  const [first] = silent.toSorted((a, b) => a.since - b.since);
  if (!first) return undefined;
  const which = answers.length > silent.length ? ` (${nameOfApis(silent)})` : '';
  return `the service${which} has not answered since ${isoTime(first.since)}`;
}

/** API that gives a stream its data. */
export function apiOfStream(stream: string): Api {
  return Object.hasOwn(V2_LISTS, stream) ? 'V2' : 'V1';
}

/** State of an API in words, without its name. */
export function describeAnswer(
  { state, since, askedAt, why, untilAt }: ServiceAnswer,
  now: number,
): string {
  const unasked = askedAt !== null && now - askedAt > UNASKED_MS;
  const last = unasked ? `; nobody has asked since ${isoTime(askedAt)}` : '';
  const because = why === null ? '' : `: ${why}`;
  if (state === 'silent') return `does not answer since ${isoTime(since)}${because}${last}`;
  if (state === 'login_refused') return `refuses the log-in since ${isoTime(since)}${last}`;
  if (state === 'answers') return `answers${last}`;
  const ms = untilAt === null ? 0 : Math.max(0, untilAt - now);
  return `asks to wait${ms > 0 ? ` for ${formatDuration(ms)}` : ''}${last}`;
}

/** Lines of the console's banner: APIs that do not answer, or refuse the log-in. */
export function absenceNotes(answers: readonly ServiceAnswer[], now: number): string[] {
  return answers
    .filter(({ state }) => state === 'silent' || state === 'login_refused')
    .map((one) => `The service ${describeAnswer(one, now)} (${nameOfApis([one])})`);
}

const GRAVEST = ['silent', 'login_refused', 'waits', 'answers'] as const;

/** The API in the gravest state; undefined: none was asked yet. */
export function gravestAnswer(answers: readonly ServiceAnswer[]): ServiceAnswer | undefined {
  return GRAVEST.flatMap((state) => answers.filter((one) => one.state === state))[0];
}

/** Whether the service is there, in one line: APIs in the same state are named together. */
export function describeService(answers: readonly ServiceAnswer[], now: number): string {
  if (answers.length === 0) return 'not asked yet';
  const sorted = GRAVEST.flatMap((state) => answers.filter((one) => one.state === state));
  const texts = Map.groupBy(sorted, (one) => describeAnswer(one, now));
  return [...texts].map(([text, of]) => `${text} (${nameOfApis(of)})`).join('; ');
}
