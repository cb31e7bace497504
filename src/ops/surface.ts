/** Acts of people and programs on the daemon as a whole: pauses, messages, the feed of a copy. */
import { z } from 'zod';
import { OUTBOX_KINDS, pausedWords, WORDS, wordFor } from '../config/words.ts';
import type { Actor } from '../store/audit.ts';
import {
  describePause,
  PAUSE_TARGETS,
  type Pausable,
  type Pause,
  type Pauses,
} from '../store/pauses.ts';
import { act } from '../surface/acts.ts';
import { oneOf, text, time, whole } from '../surface/members.ts';
import type { IncidentOperations, IncidentRow } from './incidents.ts';
import type { TriedChannel } from './notify/try-channels.ts';
import type { PlaneFeed } from './plane-feed.ts';

export type PauseOperations = Pick<
  Pauses,
  'pause' | 'resume' | 'requirePausable' | 'resumable' | 'list'
>;

const pausable = {
  target: oneOf('What', PAUSE_TARGETS),
  name: text('Name', { about: 'Of a stream: which one' }, 100).default(''),
  kind: oneOf('Kind', OUTBOX_KINDS, {
    words: WORDS.push,
    about: 'Of pushes: only this kind',
  }).optional(),
};

const paused = z.strictObject({
  target: z.enum(PAUSE_TARGETS),
  name: z.string(),
  actor: z.string(),
  reason: z.string(),
  at: time('Since'),
});

const pauseAnswer = z
  .strictObject({
    ...paused.shape,
    via: z.strictObject({ session: z.string(), address: z.string().nullable() }).optional(),
    paused: z.array(paused).meta({ description: 'All that is paused now' }),
  })
  .meta({ id: 'Pause' });

function whatOf({ target, name, kind }: z.output<z.ZodObject<typeof pausable>>): Pausable {
  return { target, name: kind ?? name };
}

function shown({ target, name, actor, reason, at }: Pause): z.output<typeof paused> {
  return { target, name, actor, reason, at };
}

function answerOf(pauses: PauseOperations, pause: Pause): z.output<typeof pauseAnswer> {
  return { ...shown(pause), via: pause.via, paused: pauses.list().map(shown) };
}

export const pauseAct = act({
  name: 'pause',
  operation: 'pause',
  path: '/pause',
  about: 'pause pushes, decisions, a stream or all until "resume"',
  more:
    'Takes hold at once and lasts until "resume", also over restarts; works while the daemon\n' +
    'runs and while it does not. Lookups, confirmations and events go on.\n\n' +
    'pushes     nothing is sent, or nothing of one kind; everything waits in its place\n' +
    'decisions  the rules decide nothing, and what they decided and was not sent yet is\n' +
    '           canceled; what people and the ERP want is still sent\n' +
    'stream     the stream is not pulled\n' +
    'all        the three together\n\n' +
    'In an emergency a file in dataDir does it, with the reason in it, for as long as it is\n' +
    'there: pushes.paused, decisions.paused or all.paused.',
  button: 'Pause',
  role: 'operator',
  reason: 'stated',
  args: ['target', 'name'],
  input: pausable,
  output: pauseAnswer,
  offline: true,
  examples: [
    ['pause pushes --reason "the service is being moved"', 'everything waits'],
    ['pause pushes --kind order --reason "wrong price list"', 'orders wait, refunds go out'],
    ['pause decisions --reason "prices look wrong"', 'the rules decide nothing'],
    ['pause stream stock --reason "the list is broken"', 'it is not pulled'],
  ],
  async preview(pauses: PauseOperations, input) {
    const what = whatOf(input);
    await pauses.requirePausable(what);
    const isOfRules = what.target === 'decisions' || what.target === 'all';
    const canceled = 'what the rules decided and was not sent yet would be canceled';
    return { lines: [`${pausedWords(what)} would be paused`, ...(isOfRules ? [canceled] : [])] };
  },
  run: async (pauses, input, actor) => answerOf(pauses, await pauses.pause(whatOf(input), actor)),
  done: (pause) => `paused: ${pausedWords(pause)}`,
});

export const resumeAct = act({
  name: 'resume',
  operation: 'resume',
  path: '/resume',
  about: 'go on after "pause", a restore or "account adopt"',
  more:
    'Ends the pause of exactly this target. What waited is sent at once, in the order in\n' +
    'which it came; what the rules decided too long ago is decided again, by present facts.\n' +
    '"rejects" resets the breaker of armed reject rules, which trips when a limit is\n' +
    'reached, when pushes of rejects fail, or when far more is rejected than usual. What it\n' +
    'stopped stays held until somebody has looked.',
  button: 'Resume',
  role: 'approver',
  reason: 'stated',
  args: ['target', 'name'],
  input: pausable,
  output: pauseAnswer,
  offline: true,
  examples: [
    ['resume pushes --reason "looked through"', 'send again'],
    ['resume rejects --reason "a sale, expected"', 'after the breaker tripped'],
  ],
  async preview(pauses: PauseOperations, input) {
    const pause = await pauses.resumable(whatOf(input));
    return { lines: [`${pausedWords(pause)} would go on; it is ${describePause(pause)}`] };
  },
  run: async (pauses, input, actor) => answerOf(pauses, await pauses.resume(whatOf(input), actor)),
  done(pause) {
    const since = new Date(pause.at).toISOString();
    const ended = `resumed: ${pausedWords(pause)}; ${describePause(pause)}, since ${since}`;
    return [ended, ...pause.paused.map((one) => `still ${describePause(one)}`)].join('\n');
  },
});

export const pauseActs = [pauseAct, resumeAct];

export interface Messages {
  /** Channels with their places, as {@link TriedChannel} has them. */
  channels(): readonly Pick<TriedChannel, 'channel' | 'to'>[];
  /** Sends a test message through every channel. */
  test(who: Actor): Promise<readonly TriedChannel[]>;
}

const NO_CHANNELS = 'there are no channels: notify.channels';

export const notifyActs = [
  act({
    name: 'notify.test',
    operation: 'testChannels',
    path: '/system/notify/test',
    about: 'send a test through every channel',
    more:
      'Sends one message that says so through each of notify.channels, whatever the time of\n' +
      'day, and tells what came of it: "taken" means that the other side answered so. The\n' +
      'heartbeat is not part of it. Exit code 1 when one was not taken. The audit says who tried.',
    button: 'Send a test',
    role: 'operator',
    reason: 'page',
    input: {},
    output: z.array(
      z.strictObject({
        channel: z.string(),
        to: z.string(),
        error: z.string().nullable().meta({ description: 'Null: the message was taken' }),
        note: z.string().nullable(),
      }),
    ),
    offline: true,
    examples: [['notify test', 'does it arrive?']],
    async preview(messages: Messages) {
      const all = messages.channels();
      const lines = all.map(({ channel, to }) => `${channel}  ${to}  would get a test`);
      return { lines: all.length === 0 ? [NO_CHANNELS] : lines };
    },
    run: async (messages, _input, actor) => [...(await messages.test(actor))],
    done(tried) {
      if (tried.length === 0) return NO_CHANNELS;
      const lines = tried.map(
        ({ channel, to, error, note }) => `${channel}  ${to}  ${error ?? note ?? 'taken'}`,
      );
      return lines.join('\n');
    },
    isWhole: (tried) => tried.every(({ error }) => error === null),
  }),
];

const incident = whole(
  'Incident',
  { about: 'Number of the incident (selvedge incidents list)' },
  1,
);

const incidentAnswer = z
  .strictObject({
    incidentId: z.int().min(1),
    kind: z.string(),
    acknowledgedBy: z.string().nullable(),
    resolvedAt: time('Ended').nullable(),
  })
  .meta({ id: 'IncidentChange' });

function changed(row: IncidentRow): z.output<typeof incidentAnswer> {
  const { incidentId, kind, acknowledgedBy, resolvedAt } = row;
  return { incidentId, kind, acknowledgedBy, resolvedAt };
}

/** The incident in words, for previews and answers. */
function named({ incidentId, kind }: Pick<IncidentRow, 'incidentId' | 'kind'>): string {
  return `incident ${incidentId} (${wordFor('incident', kind)})`;
}

export const acknowledgeIncident = act({
  name: 'incidents.acknowledge',
  operation: 'acknowledgeIncident',
  path: '/incidents/{id}/acknowledge',
  about: 'say that you look after an incident',
  more:
    'Others see your name at it. It stays open, and counts as before, until its reason is gone;\n' +
    'somebody else may take it over in the same way.',
  button: 'Take it up',
  role: 'operator',
  reason: 'free',
  thing: 'incident',
  args: ['incident'],
  input: { incident },
  output: incidentAnswer,
  offline: true,
  examples: [['incidents acknowledge 12 --reason "called the service"', 'you look after it']],
  async preview(incidents: IncidentOperations, { incident: id }) {
    return { lines: [`${named(await incidents.requireOpen(id))} would be looked after by you`] };
  },
  run: async (incidents, { incident: id }, who) => changed(await incidents.acknowledge(id, who)),
  done: (answer) => `${named(answer)}: ${answer.acknowledgedBy} looks after it`,
});

export const resolveIncident = act({
  name: 'incidents.resolve',
  operation: 'resolveIncident',
  path: '/incidents/{id}/resolve',
  about: 'end an incident that is dealt with',
  more:
    'Only incidents whose end nothing else tells, such as a file that was changed after it was\n' +
    'taken; all others end once their reason is gone. If the same happens again, it is told again.',
  button: 'It is dealt with',
  role: 'operator',
  reason: 'stated',
  thing: 'incident',
  args: ['incident'],
  input: { incident },
  output: incidentAnswer,
  offline: true,
  examples: [['incidents resolve 12 --reason "the sender renames files now"', 'it is over']],
  async preview(incidents: IncidentOperations, { incident: id }) {
    return { lines: [`${named(await incidents.requireEndable(id))} would end`] };
  },
  run: async (incidents, { incident: id }, who) => changed(await incidents.resolve(id, who)),
  done: (answer) => `${named(answer)} has ended`,
});

export const incidentActs = [acknowledgeIncident, resolveIncident];

const feedState = z.enum(['absent', 'whole', 'broken']);
const feedChange = z.strictObject({ before: feedState, now: feedState });

export const beginFeed = act({
  name: 'plane.begin-feed',
  operation: 'beginFeed',
  path: '/system/plane/begin-feed',
  about: 'have the daemon keep the feed that a copy in PostgreSQL follows',
  more: 'A part of "plane init", which also makes what PostgreSQL needs.',
  button: 'Begin the feed',
  role: 'approver',
  reason: 'page',
  input: {},
  output: feedChange,
  offline: true,
  examples: [['plane begin-feed --dry-run', 'is it there?']],
  async preview(feed: PlaneFeed) {
    const isThere = (await feed.state()) === 'whole';
    return { lines: [isThere ? 'the feed is there' : 'the feed would begin'] };
  },
  run: (feed, _input, actor) => feed.change('init', actor),
  done: ({ before }) => (before === 'whole' ? 'the feed is there' : 'the feed has begun'),
});

export const endFeed = act({
  name: 'plane.end-feed',
  operation: 'endFeed',
  path: '/system/plane/end-feed',
  about: 'end the feed that a copy in PostgreSQL follows',
  more: 'A part of "plane remove". What is in PostgreSQL stays, and grows old.',
  button: 'End the feed',
  role: 'approver',
  danger: true,
  reason: 'page',
  input: {},
  output: feedChange,
  offline: true,
  examples: [['plane end-feed --dry-run', 'is there one?']],
  async preview(feed: PlaneFeed) {
    const isAbsent = (await feed.state()) === 'absent';
    return { lines: [isAbsent ? 'there is no feed' : 'the feed would be removed'] };
  },
  run: (feed, _input, actor) => feed.change('remove', actor),
  done: ({ before }) => (before === 'absent' ? 'there was no feed' : 'the feed is removed'),
});

export const planeActs = [beginFeed, endFeed];
