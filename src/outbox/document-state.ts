/**
 * State of a document for receipts, HTTP answers and people: its outbox row, the objects that it
 * made at the service, its problems, and one sentence that says what to do next.
 */
import { type Selectable, sql } from 'kysely';
import { z } from 'zod';
import { pushWords, wordFor } from '../config/words.ts';
import { tryParseJson } from '../lib/json.ts';
import { type Api, absent, readAnswers } from '../store/answering.ts';
import { describePause, pauseOf, readPauses, resumeStep } from '../store/pauses.ts';
import { readAccountHold } from '../store/state.ts';
import type { Db, Tx } from '../store/store.ts';
import type { OutboxState, Tables } from '../store/tables.ts';
import { wasNeverSent } from './corrections.ts';
import type { FlightProblem } from './item.ts';
import { describeLost, type Lost, readLost } from './watch/lost.ts';

export interface DocumentState {
  readonly outboxId: number;
  readonly kind: string;
  readonly reference: string;
  readonly state: OutboxState;
  readonly ended: boolean;
  readonly createdAt: number;
  readonly endedAt: number | null;
  readonly attempts: number;
  readonly orderId: number | null;
  readonly orderNo: string | null;
  /** Deliveries in the service's answer to the order (level 1.4.12), with their current status. */
  readonly deliveries: readonly {
    readonly orderDeliveryId: number;
    readonly deliveryNo: string | null;
    readonly status: string | null;
  }[];
  readonly pendingRefundId: number | null;
  readonly orderRefundId: number | null;
  readonly styleId: string | null;
  readonly problems: readonly FlightProblem[];
  readonly blockedReason: string | null;
  readonly lastError: string | null;
  readonly lost: Lost | null;
  readonly nextAction: string;
}

const problemsSchema = z.array(
  z.object({ path: z.string(), message: z.string(), severity: z.enum(['error', 'warning']) }),
);

const resultSchema = z.object({
  orderId: z.int().nullish(),
  orderNo: z.string().nullish(),
  deliveries: z
    .array(
      z.object({
        orderDeliveryId: z.int(),
        deliveryNo: z.string().nullish(),
        status: z.string().nullish(),
      }),
    )
    .nullish(),
  pendingRefundId: z.int().nullish(),
  orderRefundId: z.int().nullish(),
  styleId: z.string().nullish(),
});

/**
 * Reads the service's answer that a row has stored, as far as it can be understood; empty without
 * one.
 */
export function readResult(text: string | null): z.output<typeof resultSchema> {
  const parsed = resultSchema.safeParse(text === null ? {} : tryParseJson(text));
  return parsed.success ? parsed.data : {};
}

function readProblems(text: string): readonly FlightProblem[] {
  const parsed = problemsSchema.safeParse(tryParseJson(text));
  return parsed.success ? parsed.data : [];
}

type Row = Selectable<Tables['outbox']>;

async function refundOf(db: Db | Tx, pendingRefundId: number | null): Promise<number | null> {
  if (pendingRefundId === null) return null;
  const refund = await db
    .selectFrom('refund')
    .select('order_refund_id')
    .where('pending_refund_id', '=', pendingRefundId)
    .executeTakeFirst();
  return refund?.order_refund_id ?? null;
}

async function deliveriesOf(
  db: Db | Tx,
  orderId: number | null,
  { deliveries: answered }: z.output<typeof resultSchema>,
): Promise<DocumentState['deliveries']> {
  if (!answered || answered.length === 0) return [];
  const rows = await db
    .selectFrom('delivery')
    .select(['order_delivery_id', 'delivery_no', 'status'])
    .where('order_id', '=', orderId ?? 0)
    .where('deleted_at', 'is', null)
    .execute();
  return answered.map(({ orderDeliveryId, deliveryNo = null, status }) => {
    // Some accounts list a delivery under another id than the answer named: its number tells, if no
    // other delivery has it.
    const [alike, other] = rows.filter((one) => one.delivery_no === deliveryNo);
    const named = answered.filter((one) => one.deliveryNo === deliveryNo);
    const isIt = deliveryNo?.trim() && !other && named.length === 1;
    const row =
      rows.find((one) => one.order_delivery_id === orderDeliveryId) ?? (isIt ? alike : undefined);
    const id = row?.order_delivery_id ?? orderDeliveryId;
    return { orderDeliveryId: id, deliveryNo, status: row?.status ?? status ?? null };
  });
}

/** Error code of the service's refusal; null when the refusal came from Selvedge's own checks. */
async function refusalOf(db: Db | Tx, { outbox_id, state }: Row) {
  if (state !== 'refused') return null;
  const last = await db
    .selectFrom('outbox_attempt')
    .select(['class', 'error_code'])
    .where('outbox_id', '=', outbox_id)
    .orderBy('attempt', 'desc')
    .limit(1)
    .executeTakeFirst();
  return last?.class === 'refused' ? last.error_code : null;
}

async function lostOf(db: Db | Tx, { outbox_id, kind, state }: Row): Promise<Lost | null> {
  if (kind !== 'order' || state !== 'confirmed') return null;
  return (await readLost(db, [outbox_id])).get(outbox_id) ?? null;
}

function lostProblems(lost: Lost | null): FlightProblem[] {
  return lost ? [{ path: '', message: describeLost(lost), severity: 'error' }] : [];
}

/**
 * Whether an open incident says that the document at the service differs from the one that was
 * sent.
 */
async function differs(db: Db | Tx, { outbox_id, state }: Row): Promise<boolean> {
  if (state !== 'confirmed') return false;
  const incident = await db
    .selectFrom('incident')
    .select('id')
    .where('kind', '=', 'push_differs')
    .where('entity', '=', 'outbox')
    .where('key', '=', String(outbox_id))
    .where('resolved_at', 'is', null)
    .executeTakeFirst();
  return incident !== undefined;
}

export async function stateOf(db: Db | Tx, row: Row): Promise<DocumentState> {
  const result = readResult(row.result);
  const pendingRefundId = result.pendingRefundId ?? null;
  const orderRefundId = result.orderRefundId ?? (await refundOf(db, pendingRefundId));
  const orderId = result.orderId ?? row.order_id;
  const { kind, reference, state, attempts } = row;
  const lost = await lostOf(db, row);
  return {
    outboxId: row.outbox_id,
    kind,
    reference,
    state,
    attempts,
    orderId,
    ended: row.ended_at !== null,
    createdAt: row.created_at,
    endedAt: row.ended_at,
    orderNo: result.orderNo ?? null,
    deliveries: await deliveriesOf(db, orderId, result),
    pendingRefundId,
    orderRefundId,
    styleId: result.styleId ?? null,
    problems: [...readProblems(row.problems), ...lostProblems(lost)],
    lost,
    blockedReason: row.blocked_reason,
    lastError: row.last_error,
    nextAction: nextAction({
      outboxId: row.outbox_id,
      kind,
      state,
      lastError: row.last_error,
      blockedReason: row.blocked_reason,
      pendingRefundId,
      orderRefundId,
      refusedWith: await refusalOf(db, row),
      lost: lost && describeLost(lost),
      neverSent: await wasNeverSent(db, row.outbox_id),
      waiting: await waitingOf(db, row),
      away: row.ended_at === null ? absent(await readAnswers(db), apiOf(kind)) : undefined,
      differs: await differs(db, row),
    }),
  };
}

export async function documentState(
  db: Db | Tx,
  outboxId: number,
): Promise<DocumentState | undefined> {
  const row = await db
    .selectFrom('outbox')
    .selectAll()
    .where('outbox_id', '=', outboxId)
    .executeTakeFirst();
  return row && stateOf(db, row);
}

// Next action: one sentence for every state of an outbox row, also when nothing is to be done.

type Told = 'outboxId' | 'kind' | 'state' | 'blockedReason' | 'lastError';

export interface Situation extends Pick<DocumentState, Told | 'pendingRefundId' | 'orderRefundId'> {
  /** Error code of the service's refusal; null: Selvedge's own checks refused, or nobody did. */
  readonly refusedWith: string | null;
  readonly lost: string | null;
  readonly neverSent: boolean;
  readonly waiting: Waiting | null;
  /** Says that the service does not answer; undefined: it does, or was not asked. */
  readonly away?: string | undefined;
  /**
   * Whether the document at the service differs from the one that was sent and nobody has noted
   * that.
   */
  readonly differs: boolean;
}

/** Placeholder for the id that `outbox resolve --as confirmed:` asks for, by kind. */
const MADE: Readonly<Record<string, string>> = {
  order: '<orderId>',
  pending_refund: '<pendingRefundId>',
  style: '<styleId>',
};

/** API by which documents of a kind are sent and looked up. */
function apiOf(kind: string): Api {
  return kind === 'style' ? 'V2' : 'V1';
}

/** Sentence with the reason for which it takes longer: the service does not answer. */
function delayed(sentence: string, { away }: Pick<Situation, 'away'>): string {
  if (away === undefined) return sentence;
  return `${sentence.replace(/^nothing: /, 'wait: ')}; ${away}`;
}

function inDoubt({ outboxId, kind, blockedReason, away }: Situation): string {
  if (blockedReason === null) {
    return delayed(
      'wait: it is being looked up at the service and is sent again only when it is proved not ' +
        'to be there; do not submit it again under another reference',
      { away },
    );
  }
  const made = MADE[kind];
  const confirmed = made === undefined ? 'confirmed' : `confirmed:${made}`;
  return (
    `decide: compare both sides with "selvedge outbox show ${outboxId}", then: selvedge outbox ` +
    `resolve ${outboxId} --as ${confirmed} --reason "…", or the same with --as absent, which ` +
    `sends it again; if it could not be looked up: selvedge outbox retry ${outboxId} --reason "…"`
  );
}

function confirmed({ outboxId, lost, differs, ...situation }: Situation): string {
  const { kind, pendingRefundId, orderRefundId } = situation;
  const noted = `selvedge outbox resolve ${outboxId} --as noted --reason "…"`;
  if (lost !== null) {
    return (
      `decide: ${lost}; it is not sent again by itself: submit it under a new reference if it ` +
      `is still wanted, then: ${noted}`
    );
  }
  if (differs) {
    const shown = `"selvedge outbox show ${outboxId}"`;
    return (
      `compare: the service has it otherwise than it was sent, as ${shown} says; once that is ` +
      `settled: ${noted}`
    );
  }
  if (kind !== 'pending_refund' || pendingRefundId === null) return 'nothing: it is done';
  return orderRefundId === null
    ? `nothing: the service has it as pending refund ${pendingRefundId}; a refund comes of it later`
    : `nothing: the service confirmed it as refund ${orderRefundId}`;
}

const CORRECT = 'correct what its problems name and submit it under a new reference';
const CORRECT_IT =
  'correct it where its problems say, and submit it again under the same reference: it was ' +
  'never sent. Submitted again unchanged, it is checked once more';

const AFTER_REFUSAL: Readonly<Record<string, string>> = {
  'service.forbidden':
    'have the key allowed at the service to do this, then submit it under a new reference',
  'service.not_found':
    'the service does not know what the document names: check its numbers, and submit it under ' +
    'a new reference',
  'service.gone':
    'what the document names is gone at the service: submit what is wanted instead, under a new ' +
    'reference',
  'service.too_large': 'split the document, and submit the parts under references of their own',
};

/** Error codes of refusals that are about the form of the request, whatever the document says. */
const BY_FORM = new Set([
  'service.bad_method',
  'service.bad_media_type',
  'service.unexpected_status',
  'transport.too_large',
]);

function refused({ outboxId, kind, refusedWith, neverSent }: Situation): string {
  if (refusedWith !== null && BY_FORM.has(refusedWith)) {
    const shown = `"selvedge outbox show ${outboxId}"`;
    return `the service does not take requests of this form: show ${shown} to its support`;
  }
  const step = AFTER_REFUSAL[refusedWith ?? ''];
  if (kind === 'delivery_status') {
    return 'look at the delivery: it is as its error says, and is decided again if it is pending';
  }
  if (step !== undefined) return step;
  if (kind === 'refund_status' && refusedWith === null) {
    return (
      'look at the refund: it is as its problems say; submit another document if it is to ' +
      'change still'
    );
  }
  return neverSent ? CORRECT_IT : CORRECT;
}

function canceled({ kind, neverSent }: Situation): string {
  if (kind === 'delivery_status') return 'nothing: the delivery is decided again if it is pending';
  return neverSent
    ? 'submit it under a new reference if it is wanted after all; other content may come under ' +
        'the same reference, because it was never sent'
    : 'submit it under a new reference if it is wanted after all';
}

const ERROR_CHARS_MAX = 300;

function tryingAgain(lastError: string): string {
  const step = stepAfter(lastError);
  const reason = lastError.slice(0, ERROR_CHARS_MAX);
  if (step !== undefined) return `wait: ${reason}; to go on: ${step}`;
  return (
    `wait: it was not sent yet (${reason}) and is tried again by itself; if that names ` +
    'something, it is to be put right'
  );
}

function itsTurn(before: number): string {
  const turn = 'nothing: it is sent as soon as its turn has come';
  if (before === 0) return turn;
  const many = before >= BEFORE_MAX ? `${BEFORE_MAX} and more` : String(before);
  return `${turn}; before it: ${many}, as fast as service.limits allow`;
}

function queued({ lastError, waiting, away }: Situation): string {
  const { ahead = null, pause = null, before = 0 } = waiting ?? {};
  if (ahead?.needsAttention) {
    return (
      `wait for outbox ${ahead.outboxId}, which goes first and needs a person: "selvedge ` +
      `outbox show ${ahead.outboxId}" says what to decide`
    );
  }
  if (pause !== null) return `wait: ${pause.reason}; to go on: ${pause.step}`;
  if (away !== undefined) return `wait: ${away}; it is sent once the service answers`;
  if (ahead !== null) {
    const { kind, reference, outboxId, state } = ahead;
    const what = `${wordFor('push', kind)} ${pushWords(kind, reference)}`;
    return `wait: ${what} (document ${outboxId}, ${wordFor('pushState', state)}) goes first`;
  }
  return lastError === null ? itsTurn(before) : tryingAgain(lastError);
}

export function nextAction(situation: Situation): string {
  const { outboxId, state } = situation;
  if (state === 'queued') return queued(situation);
  if (state === 'sending') return delayed('nothing: it is on its way', situation);
  if (state === 'sent') {
    return delayed('nothing: the service took it, and it is read back', situation);
  }
  if (state === 'in_doubt') return inDoubt(situation);
  if (state === 'confirmed') return confirmed(situation);
  if (state === 'refused') return refused(situation);
  if (state === 'canceled') return canceled(situation);
  return (
    'it is provably not at the service: remove the cause of its error, then: selvedge outbox ' +
    `retry ${outboxId} --reason "…", or: selvedge outbox cancel ${outboxId} --reason "…"`
  );
}

// Waiting: an unsent row waits for an earlier row of its ordering key, for a pause, or for its
// turn. All of it is read from the database, so that every process gives the same answer.

/** Reasons that pause sending; rows that wait because of one have it as their last error. */
export const PAUSED_BY = {
  disk: 'the disk is too full to send',
  dryRun: 'dry run (outbox.dryRun)',
  account: 'nothing is asked of the service',
  standby: 'this machine may not send',
} as const;

const STEPS: Readonly<Record<keyof typeof PAUSED_BY, string>> = {
  disk: 'make room on the disk ("selvedge doctor" says where and how much)',
  dryRun: 'set outbox.dryRun: false and restart the daemon',
  account: 'selvedge account show',
  standby: 'it goes on by itself: selvedge standby status',
};

/**
 * Returns the step that ends the pause with this reason; undefined: the text is no reason of a
 * pause.
 */
function stepAfter(words: string): string | undefined {
  const key = (['disk', 'dryRun', 'account', 'standby'] as const).find((one) =>
    words.startsWith(PAUSED_BY[one]),
  );
  return key && STEPS[key];
}

interface Waiting {
  /** Earlier open row with the same ordering key, which goes first; null: there is none. */
  readonly ahead: {
    readonly outboxId: number;
    readonly kind: string;
    readonly reference: string;
    readonly state: string;
    readonly needsAttention: boolean;
  } | null;
  readonly pause: { readonly reason: string; readonly step: string } | null;
  readonly before: number;
}

const BEFORE_MAX = 100;

async function pauseFor(db: Db | Tx, kind: string): Promise<Waiting['pause']> {
  const account = await readAccountHold(db);
  if (account !== undefined) {
    return { reason: `${PAUSED_BY.account}: ${account}`, step: STEPS.account };
  }
  const pause = pauseOf(await readPauses(db), 'pushes', kind);
  return pause ? { reason: describePause(pause), step: resumeStep(pause) } : null;
}

async function rowAhead(
  db: Db | Tx,
  { outbox_id, ordering_key }: { readonly outbox_id: number; readonly ordering_key: string },
): Promise<Waiting['ahead']> {
  const first = await db
    .selectFrom('outbox')
    .select(['outbox_id', 'kind', 'reference', 'state', 'blocked_reason'])
    .where('ordering_key', '=', ordering_key)
    .where('outbox_id', '<', outbox_id)
    .where('ended_at', 'is', null)
    // A row that needs a person comes first: it explains more than a row that moves on its own.
    .orderBy(sql`blocked_reason is null`)
    .orderBy('outbox_id')
    .limit(1)
    .executeTakeFirst();
  if (!first) return null;
  const { kind, reference, state } = first;
  const needsAttention = first.blocked_reason !== null;
  return { outboxId: first.outbox_id, kind, reference, state, needsAttention };
}

async function countBefore(db: Db | Tx, outboxId: number, dueAt: number): Promise<number> {
  const { rows } = await sql<{ readonly n: number }>`select count(*) n from (
    select 1 from outbox where state = 'queued' and ended_at is null
      and (due_at < ${dueAt} or (due_at = ${dueAt} and outbox_id < ${outboxId}))
    limit ${BEFORE_MAX})`.execute(db);
  return rows[0]?.n ?? 0;
}

/** Returns what a row waits for; null when it does not wait to be sent. */
async function waitingOf(
  db: Db | Tx,
  row: {
    readonly outbox_id: number;
    readonly kind: string;
    readonly ordering_key: string;
    readonly state: string;
    readonly due_at: number;
  },
): Promise<Waiting | null> {
  if (row.state !== 'queued') return null;
  return {
    ahead: await rowAhead(db, row),
    pause: await pauseFor(db, row.kind),
    before: await countBefore(db, row.outbox_id, row.due_at),
  };
}
