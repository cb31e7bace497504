/**
 * Composes messages to people: numbers, causes, the oldest deliveries, pushes or runs by their ids,
 * and the command that shows the rest. No names, addresses or amounts: mail is read by many, and
 * kept for long.
 */
import { z } from 'zod';
import { NOTIFY_EVENTS, type NotifyEvent } from '../../config/schema/notify.ts';
import { WORDS, wordFor } from '../../config/words.ts';
import type { LocalClock } from '../../lib/local-time.ts';
import { WAITING_KINDS, type WaitingKind, waitingOfKind } from '../waiting.ts';
import type { News } from './news.ts';

/** Message to people as it is stored and sent; times are ISO 8601 in UTC. */
export const messageSchema = z.object({
  subject: z.string(),
  text: z.string(),
  causes: z.array(
    z.object({
      event: z.enum(NOTIFY_EVENTS),
      cause: z.string(),
      count: z.number(),
      says: z.string(),
      oldest: z.array(z.object({ id: z.number(), since: z.string() })),
      /** Command that shows more about the cause. */
      look: z.string(),
    }),
  ),
});
export type Message = z.output<typeof messageSchema>;
type ToldCause = Message['causes'][number];

interface Words {
  /** Word behind the number in the subject, as in `3 held`. */
  readonly short: string;
  readonly says: (news: News) => string;
  readonly look: (news: News) => string;
}

/** Words for what holds deliveries: a rule by its id, or one of the codes that are no rules. */
function heldWords(cause: string): string {
  if (!Object.hasOwn(WORDS.hold, cause)) return `by the rule ${cause}`;
  return cause === 'safeguard' ? 'by a safeguard' : `because ${wordFor('hold', cause)}`;
}

/** Beginning of the cause where an arming ends soon. */
const ENDS = 'ends:';

function disarmedText(cause: string): string {
  if (cause === 'reject_breaker') return 'a limit of rejects was reached: no rule rejects any more';
  if (!cause.startsWith(ENDS)) {
    return `the rule ${cause} is not armed any more: it rejects nothing and, if live, holds`;
  }
  return `the rule ${cause.slice(ENDS.length)} is armed for a few days more, then it only holds`;
}

function counted(count: number, one: string, many: string): string {
  return `${count} ${count === 1 ? one : many}`;
}

function deliveries({ count }: News): string {
  return counted(count, 'delivery', 'deliveries');
}

function firstId({ oldest }: News): string {
  return String(oldest[0]?.id ?? '');
}

const LOOK_AT: Readonly<Record<WaitingKind, string>> = {
  deliveries: 'selvedge deliveries list --waiting',
  documents: 'selvedge outbox list --waiting',
  runs: 'selvedge sync list',
  incidents: 'selvedge status',
};

function waitingKind({ cause }: News): WaitingKind | undefined {
  return WAITING_KINDS.find((kind) => kind === cause);
}

const TOLD: Readonly<Record<NotifyEvent, Words>> = {
  waiting: {
    short: 'waiting',
    says(news) {
      const kind = waitingKind(news);
      const what = kind ? waitingOfKind(kind, news.count) : news.cause;
      return `waiting for a person: ${what}`;
    },
    look(news) {
      const kind = waitingKind(news);
      return kind ? LOOK_AT[kind] : 'selvedge status';
    },
  },
  held: {
    short: 'held',
    says: (news) => `${deliveries(news)} held ${heldWords(news.cause)}`,
    look: () => 'selvedge deliveries list --waiting',
  },
  overdue: {
    short: 'overdue',
    says: (news) => {
      const why = heldWords(news.cause);
      return `${deliveries(news)} held ${why} for longer than they may be`;
    },
    look: () => 'selvedge deliveries list --waiting --overdue',
  },
  unknown_outcome: {
    short: 'of unknown outcome',
    says: ({ count, cause }) => {
      const pushes = counted(count, 'push', 'pushes');
      if (cause === 'needs_a_person') return `${pushes} that only a person can resolve`;
      return `${pushes} whose outcome is unknown; the service is asked again and again`;
    },
    look: ({ cause }) =>
      cause === 'needs_a_person'
        ? 'selvedge outbox list --needs-attention'
        : 'selvedge outbox list --state in_doubt',
  },
  suspicious_run: {
    short: 'suspicious',
    says: ({ cause }) =>
      `the list of ${wordFor('stream', cause)} came with data that cannot be right, or all changed`,
    look: (news) =>
      `selvedge sync show ${news.cause}; if it is right: selvedge sync release ${firstId(news)}`,
  },
  disarmed: {
    short: 'disarmed',
    says: ({ cause }) => disarmedText(cause),
    look: ({ cause }) =>
      cause === 'reject_breaker' || cause.startsWith(ENDS)
        ? 'selvedge rules queue'
        : 'selvedge audit list --action rules.disarm',
  },
};

export interface Reader {
  /** Name of the daemon (setting `instance`). */
  readonly instance: string;
  readonly timeZone: string;
  readonly localTime: LocalClock;
}

function paragraph(news: News, { says, look, oldest }: ToldCause, { localTime }: Reader): string {
  const shown = news.oldest.map(({ id, since }) => {
    const { date, time } = localTime(since);
    return `${id === null ? '' : `${id}, `}since ${date} ${time}`;
  });
  const head = oldest.length > 1 ? 'the oldest: ' : '';
  return `${says}\n  ${head}${shown.join('; ')}\n  ${look}`;
}

export function composeMessage(news: readonly News[], reader: Reader): Message {
  const causes = news.map((one): ToldCause => {
    const words = TOLD[one.event];
    const known = one.oldest.flatMap(({ id, since }) =>
      id === null ? [] : [{ id, since: new Date(since).toISOString() }],
    );
    const { event, cause, count } = one;
    return { event, cause, count, says: words.says(one), oldest: known, look: words.look(one) };
  });
  const totals = Map.groupBy(causes, ({ event }) => event);
  const short = [...totals].map(([event, of]) => {
    return `${of.reduce((sum, { count }) => sum + count, 0)} ${TOLD[event].short}`;
  });
  const paragraphs = causes.flatMap((told, index) => {
    const one = news[index];
    return one === undefined ? [] : [paragraph(one, told, reader)];
  });
  const foot = `Times are those of ${reader.timeZone}. Selvedge, ${reader.instance}.`;
  return {
    subject: `[selvedge ${reader.instance}] ${short.join(', ')}`,
    text: `${[...paragraphs, foot].join('\n\n')}\n`,
    causes,
  };
}

/** A message that reports nothing, for `selvedge notify test`. */
export function testMessage(channel: string, { instance }: Pick<Reader, 'instance'>): Message {
  const text = `A test of the channel ${channel} of Selvedge, ${instance}. Nothing has happened.\n`;
  return { subject: `[selvedge ${instance}] test of ${channel}`, text, causes: [] };
}
