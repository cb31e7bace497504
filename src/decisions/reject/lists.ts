/** Lists of the rules in force with their figures, and of the rejects that wait. */
import { z } from 'zod';
import { WORDS, wordFor } from '../../config/words.ts';
import { RefusedError } from '../../lib/errors.ts';
import { nearestName } from '../../lib/nearest.ts';
import { plural } from '../../lib/strings.ts';
import { formatDuration } from '../../lib/units.ts';
import type { Evaluation } from '../../rules/evaluate.ts';
import { explain } from '../../rules/explain.ts';
import type { Rule, RuleSet } from '../../rules/rule.ts';
import { inKeys } from '../../store/bulk.ts';
import type { IdPage } from '../../store/pages.ts';
import type { Db } from '../../store/store.ts';
import { list, type Made, pageOfAll, ROWS_MAX } from '../../surface/lists.ts';
import { as, oneOf, text, time, whole } from '../../surface/members.ts';
import type { Reading, RuleFigures } from '../../surface/reading.ts';
import { type RejectOverview, rejectOverview } from '../review/overview.ts';
import { seenCount, unseenMatches } from './matches.ts';

const ACTIONS = ['accept', 'hold', 'reject'] as const;
const MODES = ['off', 'shadow', 'live'] as const;
const NO_FIGURES = { day: 0, week: 0, month: 0, accepted: 0, rejected: 0, nearMisses: 0 };
const MINUTE_MS = 60_000;

const words = (title: string) => as(z.string(), title, 'text');

const figures = z.strictObject({
  day: whole('24 h', {
    csv: 'matches_24h',
    about: 'Deliveries of 24 hours on which it was true',
  }),
  week: whole('7 d', { csv: 'matches_7d' }),
  month: whole('30 d', { csv: 'matches_30d', about: 'Of 30 days' }),
  accepted: whole('Accepted', { csv: 'people_accepted', about: 'Of those, accepted by people' }),
  rejected: whole('Rejected', { csv: 'people_rejected' }),
  nearMisses: whole('Near misses', {
    about: 'Deliveries for which one of several conditions alone stood in the way',
  }),
});

const armed = z.strictObject({
  actor: z.string(),
  reason: z.string(),
  expiresAt: time('Armed until', { csv: 'armed_until' }),
  inForce: z.boolean().meta({ description: 'False: in another text, so it rejects nothing' }),
});

const rule = {
  id: text('Rule', { link: 'rule', isCode: true, csv: 'rule' }),
  title: words('Title'),
  action: oneOf('Action', ACTIONS, { words: WORDS.action, class: (one) => `state s-${one}` }),
  mode: oneOf('Mode', MODES, { words: WORDS.mode, about: 'The weaker of its and the set' }),
  owner: words('Owner').nullable(),
  file: words('File'),
  line: whole('Line'),
  figures: as(figures, 'Figures', 'text', { isSpread: true }).nullable(),
  armed: as(armed, 'Armed', 'text', { isSpread: true }).nullable(),
  waiting: whole('Waiting', { about: 'Deliveries that it is about to reject' }),
  otherwise: z
    .enum(['hold', 'nothing'])
    .nullable()
    .meta({ description: 'What a live reject rule does while it is not armed' }),
};

export const ruleSchema = z.strictObject(rule).meta({ id: 'Rule' });
export type RuleRow = z.output<typeof ruleSchema>;

function armedOf({ armed: all }: RejectOverview, ruleId: string): RuleRow['armed'] {
  const found = all.find((one) => one.ruleId === ruleId);
  if (!found) return null;
  const { actor, reason, expiresAt, inForce } = found;
  return { actor, reason, expiresAt, inForce: inForce === true };
}

function weakerMode({ mode }: Rule, { settings }: RuleSet): Rule['mode'] {
  return MODES.find((one) => one === mode || one === settings.mode) ?? mode;
}

/** A rule with its figures; without `counted` these are not known yet. */
export function ruleRow(
  of: Rule,
  ruleSet: RuleSet,
  rejects: RejectOverview,
  counted: readonly RuleFigures[] | undefined,
): RuleRow {
  const { id, title, action, owner = null, otherwise = null, file, line } = of;
  const { id: _, ...own } = counted?.find((one) => one.id === id) ?? { id, ...NO_FIGURES };
  return {
    id,
    title,
    action,
    mode: weakerMode(of, ruleSet),
    owner,
    file,
    line,
    figures: counted ? own : null,
    armed: action === 'reject' ? armedOf(rejects, id) : null,
    waiting: rejects.waiting.filter(({ ruleId }) => ruleId === id).length,
    otherwise,
  };
}

/** What a reject rule does while it may not reject. */
export function doesInstead({ mode, armed: by, otherwise }: RuleRow): 'holds' | 'only watches' {
  const isHolding = mode === 'live' && otherwise === 'hold' && by?.inForce !== true;
  return isHolding ? 'holds' : 'only watches';
}

export function stateText(row: RuleRow, now: number): string {
  const { action, mode, armed: by, waiting } = row;
  if (action !== 'reject' || mode === 'off') {
    return wordFor('mode', mode);
  }
  const does = doesInstead(row);
  if (by?.inForce === false) return `armed in another text: ${does}`;
  const waits = waiting > 0 ? `, ${plural(waiting, 'delivery waits', 'deliveries wait')}` : '';
  if (!by)
    return `${wordFor('mode', mode)}, not armed${mode === 'live' ? `: ${does}` : ''}${waits}`;
  const left = Math.max(1, Math.round((by.expiresAt - now) / MINUTE_MS)) * MINUTE_MS;
  return `armed, ${formatDuration(left)} left${waits}`;
}

/** Words for how people decided what the rule matched, by which its action is judged. */
export function peopleText({ action, figures: of }: RuleRow): string | null {
  if (of === null) return null;
  const { accepted, rejected } = of;
  const all = accepted + rejected;
  if (all === 0) return '–';
  if (action === 'hold') return `${accepted} accepted, ${rejected} rejected`;
  return `${action === 'accept' ? accepted : rejected} of ${all} agree`;
}

function counted(name: keyof NonNullable<RuleRow['figures']>, title: string): Made<RuleRow> {
  return { title, kind: 'whole', text: ({ figures: of }) => of && String(of[name]) };
}

export const rules = list({
  name: 'rules.list',
  operation: 'listRules',
  path: '/rules',
  title: 'Rules',
  about: 'the rules in force, and how they did in 30 days',
  more:
    'Each rule in force with the deliveries of the last 24 hours, 7 and 30 days on which it\n' +
    'was true, what people did with those, and its near misses: deliveries for which one of\n' +
    'several conditions alone stood in the way. Reads all decisions of 30 days.',
  examples: [['rules list', 'which rule does anything']],
  query: {},
  row: rule,
  shown: [
    'id',
    'action',
    {
      title: 'State',
      text: stateText,
      class: ({ armed: by }) => (by?.inForce === true ? 'state s-reject' : undefined),
    },
    'owner',
    counted('day', '24 h'),
    counted('week', '7 d'),
    counted('month', '30 d'),
    { title: 'People', text: peopleText },
    counted('nearMisses', 'Near misses'),
    { title: 'Place', text: ({ file, line }) => `${file}:${line}` },
  ],
  sorts: ['id', 'action', 'owner'],
  empty:
    'There is no rule: nothing is decided but by people. Write one into the folder of the ' +
    'setting rules.directory, or try one first.',
  limit: ROWS_MAX,
  rowsAs: 'rules',
  beside: { set: z.string().nullable(), mode: z.string().nullable() },
  async read({ db, now, rules: { inForce, figures: count } }, _query, page) {
    const ruleSet = await inForce();
    if (!ruleSet) return [];
    const rejects = await rejectOverview(db, now, ruleSet);
    const known = await count();
    const rows = ruleSet.rules.map((one) => ruleRow(one, ruleSet, rejects, known));
    return pageOfAll(rows, page, ({ id }) => id);
  },
  async readBeside({ rules: { inForce } }) {
    const { hash = null, settings } = (await inForce()) ?? {};
    return { set: hash, mode: settings?.mode ?? null };
  },
  place: ({ id }) => id,
});

const waiting = {
  orderDeliveryId: whole('Delivery', { link: 'delivery' }, 1),
  deliveryNo: words('Number').nullable(),
  ruleId: text('Rule', { link: 'rule' }),
  queuedAt: time('Queued'),
  dueAt: time('Will be rejected'),
  safeguard: as(z.string(), 'Put off by', 'text', { words: WORDS.safeguard }).nullable(),
  detail: words('Detail').nullable(),
  reason: words('Message'),
};

export const waitingSchema = z.strictObject(waiting);

/** Orders of these deliveries, whose texts the messages of rules may quote. */
export async function ordersOfDeliveries(
  db: Db,
  deliveries: readonly number[],
): Promise<readonly number[]> {
  const rows = await db
    .selectFrom('delivery')
    .select('order_id')
    .where(inKeys('order_delivery_id', deliveries))
    .execute();
  return rows.map(({ order_id: id }) => id);
}

/** Rows without names and addresses, which messages and values quote. */
async function hidden<Row extends { readonly orderDeliveryId: number }>(
  from: Reading,
  rows: readonly Row[],
): Promise<readonly Row[]> {
  const ids = rows.map(({ orderDeliveryId }) => orderDeliveryId);
  return from.masked(await ordersOfDeliveries(from.db, ids), rows);
}

function butFor(inForce: boolean | null): string {
  if (inForce === null) return '; this version cannot read the rules in force: rules check';
  return inForce ? '' : '; it has another text now and rejects nothing';
}

async function remarks({ db, now }: Reading): Promise<readonly string[]> {
  const { breaker, armed: all, disarmed, waiting: waits, today } = await rejectOverview(db, now);
  const lines = all.map(({ ruleId, actor, expiresAt, inForce }) => {
    const until = new Date(expiresAt).toISOString().slice(0, 10);
    return `armed: ${ruleId}, by ${actor}, until ${until}${butFor(inForce)}`;
  });
  return [
    ...(breaker === null
      ? []
      : [
          `THE BREAKER TRIPPED at ${new Date(breaker.at).toISOString()}: ${breaker.safeguard}, ` +
            `${breaker.detail}; no rule rejects until "selvedge resume rejects --reason …"`,
        ]),
    ...(lines.length === 0 ? ['no reject rule is armed'] : lines),
    ...disarmed.map(
      ({ ruleId, at, reason }) =>
        `disarmed: ${ruleId}, since ${new Date(at ?? 0).toISOString()}: ${reason}`,
    ),
    `rejects of the last 24 hours, confirmed or being sent: ${today}; ${waits.length} wait`,
  ];
}

export const queue = list({
  name: 'rules.queue',
  operation: 'listWaitingRejects',
  path: '/rules/queue',
  title: 'Queue of rejects',
  about: 'what reject rules will reject, and when',
  more:
    'Armed rules, the breaker, and every delivery that waits out its grace.\n' +
    '"deliveries hold <delivery> --if-reject-waits" stops one.',
  examples: [['rules queue', 'each morning']],
  query: { rule: text('Rule', { about: 'Id of a reject rule' }, 100).optional() },
  row: waiting,
  shown: [
    'orderDeliveryId',
    'deliveryNo',
    'dueAt',
    { title: 'In', text: ({ dueAt }, now) => formatDuration(Math.max(0, dueAt - now)) },
    'ruleId',
    'safeguard',
    { title: 'Reason', text: ({ detail, reason }) => detail ?? reason },
  ],
  empty: 'Nothing waits to be rejected.',
  sorts: ['dueAt', 'ruleId', 'queuedAt'],
  limit: ROWS_MAX,
  rowsAs: 'waiting',
  isWhole: true,
  beside: {
    breaker: z
      .strictObject({ safeguard: z.string(), detail: z.string(), at: time('Tripped') })
      .nullable(),
    armed: z.array(
      z.strictObject({
        ruleId: z.string(),
        ruleHash: z.string(),
        inForce: z.boolean().nullable(),
        at: time('Armed'),
        actor: z.string(),
        reason: z.string(),
        expiresAt: time('Armed until'),
      }),
    ),
    disarmed: z.array(
      z.strictObject({
        ruleId: z.string(),
        at: time('Disarmed').nullable(),
        reason: z.string().nullable(),
      }),
    ),
    today: z.int().meta({ description: 'Rejects of the last 24 hours' }),
  },
  async read({ db, now }, { rule: id }, page) {
    const { waiting: all } = await rejectOverview(db, now);
    const rows = all.filter(({ ruleId }) => id === undefined || ruleId === id);
    return pageOfAll(rows, page, ({ orderDeliveryId }) => String(orderDeliveryId));
  },
  hide: (from, rows) => hidden(from, rows),
  async readBeside({ db, now }) {
    const { waiting: _, ...beside } = await rejectOverview(db, now);
    return beside;
  },
  notes: remarks,
  place: ({ orderDeliveryId }) => String(orderDeliveryId),
});

const match = {
  decisionId: whole('Decision', {}, 1),
  orderDeliveryId: whole('Delivery', { link: 'delivery' }, 1),
  at: time('Decided'),
  explained: words('What it saw'),
  evaluation: z.custom<Evaluation>().meta({ override: { type: 'object' } }),
};

export const matchSchema = z.strictObject(match);
type MatchRow = z.output<typeof matchSchema>;

export const lookedSchema = z.strictObject({
  seen: z.int(),
  needed: z.int().meta({ description: 'Looked at by people before it can be armed' }),
});

/** Matches of exactly the present text of a rule that nobody has looked at, the newest first. */
export async function readMatches(db: Db, of: Rule, page: IdPage): Promise<MatchRow[]> {
  const found = await unseenMatches(db, of.hash, page);
  return found.map((one) => {
    const own = one.evaluation.rules.filter(({ id }) => id === of.id);
    return { ...one, explained: explain({ ...one.evaluation, rules: own }) };
  });
}

/** Number of matches of a rule that people looked at, and of those that arming asks for. */
export async function lookedAt(db: Db, { hash }: Rule, { settings }: RuleSet) {
  return { seen: await seenCount(db, hash), needed: settings.safeguards.reject.matches_seen };
}

/** @throws RefusedError `rules.unknown` */
export function ruleIn(ruleSet: RuleSet | undefined, id: string): Rule {
  const ids = ruleSet?.rules.map((one) => one.id) ?? [];
  const found = ruleSet?.rules.find((one) => one.id === id);
  if (found) return found;
  const near = nearestName(id, ids);
  const hint = near === undefined ? 'see: selvedge rules list' : `did you mean ${near}?`;
  throw new RefusedError('rules.unknown', `there is no rule ${id}`, { hint });
}

export const matches = list({
  name: 'rules.matches',
  operation: 'listMatches',
  path: '/rules/{id}/matches',
  title: 'Matches',
  about: 'show what a rule in shadow mode matched',
  more:
    'The latest match of each delivery by exactly the present text of the rule that nobody\n' +
    'has looked at yet. With --seen you say that you have: arming asks for it. At a\n' +
    'terminal it shows one after the other, with what the rule saw, and asks about each.',
  examples: [['rules matches reject-closed-season --seen', 'one by one']],
  args: ['rule'],
  thing: 'rule',
  query: { rule: text('Rule', { about: 'The id of a rule' }, 100) },
  row: match,
  shown: ['decisionId', 'orderDeliveryId', 'at', 'explained'],
  empty: 'There is no match of this text that nobody has looked at.',
  pageParameter: 'before',
  limit: 20,
  rowsAs: 'matches',
  isWhole: true,
  beside: lookedSchema.shape,
  read: async ({ db, rules: { inForce } }, { rule: id }, page) =>
    readMatches(db, ruleIn(await inForce(), id), page),
  hide: (from, rows) => hidden(from, rows),
  async readBeside({ db, rules: { inForce } }, { rule: id }) {
    const ruleSet = await inForce();
    const of = ruleIn(ruleSet, id);
    return ruleSet ? lookedAt(db, of, ruleSet) : { seen: 0, needed: 0 };
  },
  place: ({ decisionId }) => String(decisionId),
});

export const ruleLists = [rules, queue, matches];
