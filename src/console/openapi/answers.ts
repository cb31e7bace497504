/**
 * Schemas of the console's answers to programs. Each is strict, so that a test that parses real
 * answers with it finds every member that is not described.
 */
import { z } from 'zod';
import { TILES } from '../../ops/health-grade.ts';
import { WAITING_KINDS } from '../../ops/waiting.ts';
import { pushSchema as pushRow } from '../../outbox/lists.ts';
import { ANSWER_STATES, APIS } from '../../store/answering.ts';
import { OUTBOX_STATES } from '../../store/tables.ts';
import { wireSchema } from '../../surface/forms.ts';
import { UNLISTED } from '../read/delivery.ts';
import { SALES, SPANS } from '../read/sales.ts';
import { planeWire, standbyWire } from './postgres-wire.ts';

export const time = z.string().meta({ format: 'date-time', description: 'UTC' });
export const textOrNull = z.string().nullable();
const id = z.int().min(1);
const idOrNull = id.nullable();
export const wholeOrNull = z.int().nullable();
export const numberOrNull = z.number().nullable();
export const anyObject = z.record(z.string(), z.unknown());
export const counts = z.record(z.string(), z.int());

export const nothingSchema = z.strictObject({});

export const liveSchema = z
  .strictObject({
    held: z.int(),
    attention: z.int().meta({ description: 'Documents that wait for a person' }),
    waiting: z
      .strictObject({
        total: z.int(),
        deliveries: z.int(),
        documents: z.int(),
        runs: z.int(),
        incidents: z.int(),
      })
      .meta({ description: 'What waits for a person, by kind' }),
    decisionId: z.int().min(0).meta({ description: 'The latest one: lists changed when it did' }),
    runId: z.int().min(0).meta({ description: 'The latest pull that has ended' }),
    eventAt: time.nullable().meta({ description: 'When the latest event arrived' }),
    silent: z.boolean().meta({ description: 'Whether the daemon does not answer' }),
    runs: z.array(
      z.strictObject({
        runId: z.int().min(1),
        stream: z.string(),
        rows: z.int(),
        of: wholeOrNull.meta({ description: 'Rows of the last complete run, as an estimate' }),
      }),
    ),
  })
  .meta({ id: 'Changes' });

const amount = z.strictObject({ count: z.int(), oldestAt: time.nullable() });

export const pauseMembers = {
  target: z.enum(['pushes', 'decisions', 'stream', 'all']),
  name: z.string().meta({ description: 'A kind of push, or a stream; empty: all of the target' }),
  actor: z.string(),
  reason: z.string(),
  at: time,
};

const streamSchema = z
  .strictObject({
    stream: z.string(),
    ageMs: z.number().nullable().meta({ description: 'Of the last complete run; null: none yet' }),
    waitsMs: z
      .number()
      .nullable()
      .meta({ description: 'The same; while none is complete, since the first run began' }),
    rows: wholeOrNull,
    running: z.boolean(),
    paused: z.boolean(),
    off: z.boolean().meta({ description: 'Switched off' }),
    notAtLevel: textOrNull.meta({ description: 'The level of the account, which lacks it' }),
    dueInMs: z.number(),
    stale: z.boolean(),
    lastError: textOrNull,
  })
  .meta({ id: 'Stream' });

const answerSchema = z
  .strictObject({
    api: z.enum(APIS),
    host: z.string(),
    state: z.enum(ANSWER_STATES).meta({ description: '`silent`: nobody answers' }),
    since: time,
    askedAt: time.nullable(),
    answeredAt: time.nullable(),
    unansweredMs: z
      .number()
      .meta({ description: 'In which requests were sent, and none answered' }),
    why: textOrNull,
    untilAt: time.nullable().meta({ description: 'Until when it asks to wait' }),
  })
  .meta({ id: 'ServiceAnswer' });

const checkSchema = z
  .strictObject({
    check: z.string(),
    grade: z.enum(['warning', 'critical']),
    text: z.string(),
    advice: z.string(),
    tiles: z.array(z.enum(TILES)).meta({ description: 'Tiles of the overview that it colours' }),
  })
  .meta({ id: 'Check', description: 'As `selvedge status --check` tells it.' });

const waitingOf = z
  .strictObject({
    count: z.int(),
    overdue: z.int().meta({ description: 'Those that are told as an alarm' }),
    oldestAt: time.nullable(),
    parts: z.array(
      z.strictObject({
        what: z.string(),
        count: z.int(),
        oldestAt: time.nullable(),
        newestAt: time.nullable(),
      }),
    ),
  })
  .meta({ id: 'WaitingOf', description: 'What waits of a kind, in parts that share nothing.' });

const waitingSchema = z
  .strictObject({
    total: z.int(),
    overdue: z.int(),
    deliveries: waitingOf,
    documents: waitingOf,
    runs: waitingOf,
    incidents: waitingOf,
  })
  .meta({ id: 'Waiting', description: 'What waits for a person; each thing counts once.' });

const statusSchema = z
  .strictObject({
    daemon: z.strictObject({
      running: z.boolean(),
      holder: textOrNull,
      leaseEndsAt: time.nullable(),
    }),
    service: z.array(answerSchema).meta({ description: 'Whether each API answers' }),
    schema: z.int(),
    streams: z.array(streamSchema),
    deliveries: counts.meta({ description: 'By status' }),
    pending: counts.meta({ description: 'Pending deliveries by their latest outcome' }),
    rules: z
      .strictObject({
        mode: z.enum(['observe', 'shadow', 'live']),
        valid: z.boolean(),
        set: z.enum(['off', 'shadow', 'live']),
        rules: z.int(),
        live: z.int(),
      })
      .nullable()
      .meta({ description: 'How far the rules in force may go' }),
    outbox: counts.meta({ description: 'By state' }),
    events: z.strictObject({ count: z.int(), lastAgeMs: numberOrNull }),
    foreignEvents: counts,
    relay: z
      .strictObject({
        state: z.enum(['healthy', 'degraded', 'silent']),
        deliveries: z.int(),
        missed: z.int(),
      })
      .nullable(),
    pace: z
      .strictObject({
        at: time,
        perSecond: z.number(),
        perSecondMax: z.number(),
        busy: z.number().meta({ description: '0 to 1' }),
        waiting: z.number(),
      })
      .nullable(),
    refreshWaiting: z.int(),
    book: z
      .strictObject({
        active: z.int(),
        calm: z.int(),
        activeAgeMs: numberOrNull,
        calmAgeMs: numberOrNull,
        requestsPerSecond: numberOrNull,
        activeRequests: z.int(),
        roundRequests: z.int(),
      })
      .nullable()
      .meta({ description: 'Open orders, and how old the looks of the sweeps at them are' }),
    quarantined: z.int(),
    openIncidents: z.int(),
    incidents: counts.meta({ description: 'Open ones by kind' }),
    causes: z.array(z.strictObject({ kind: z.string(), says: z.string(), advice: z.string() })),
    failingWorkers: z.array(z.strictObject({ worker: z.string(), since: time, error: z.string() })),
    waiting: waitingSchema,
    holdsOverdue: z.int(),
    rejectsWaiting: z.int(),
    paused: z.array(z.strictObject(pauseMembers)),
    accountHold: textOrNull,
    receiptsWaitSince: time.nullable().meta({
      description: 'Since when receipts wait for the lock of exchange.db',
    }),
    level: z.string(),
    lacks: z.array(z.string()).meta({ description: 'What the level of the account lacks' }),
    silentMs: numberOrNull.meta({
      description: 'Since when the daemon writes nothing; null: it does',
    }),
    dryRun: z.boolean(),
    backupAgeMs: numberOrNull.meta({ description: 'Null: there is none' }),
    freeBytes: z.number(),
    logBytes: z.number(),
    plane: planeWire,
    standby: standbyWire,
  })
  .meta({ id: 'Status', description: 'As `selvedge status --json` tells it.' });

export const overviewSchema = z
  .strictObject({
    held: amount,
    underWay: amount.meta({ description: 'Pushes that have not ended' }),
    unknownOutcomes: z.int(),
    needs: z.array(
      z.strictObject({
        of: z.enum(WAITING_KINDS),
        what: z.string().meta({ description: 'In words, or the id of a rule' }),
        isWithin: z.boolean().meta({
          description: 'Of a rule: its deliveries stand in the row of all that are held, too',
        }),
        count: z.int(),
        newestAt: time.nullable(),
        oldestAt: time.nullable(),
        worth: z
          .array(z.strictObject({ currency: textOrNull, value: numberOrNull }))
          .meta({ description: 'Of deliveries, by currency; of the oldest where they are many' }),
        href: z.string().meta({ description: 'The page with the rows' }),
      }),
    ),
    sales: z
      .strictObject({
        spans: z.record(z.enum(SPANS), z.strictObject({ fromAt: time, untilAt: time })),
        rows: z.array(
          z.strictObject({
            what: z.enum(SALES),
            span: z.enum(SPANS),
            currency: textOrNull,
            deliveries: z.int(),
            pieces: z.number(),
            value: numberOrNull,
          }),
        ),
        known: z
          .strictObject({ shippedAt: time.nullable(), decidedAt: time.nullable() })
          .meta({ description: 'Since when it is known; spans before have no rows' }),
      })
      .meta({ description: 'Today and this week, and in the last week until the same time' }),
    hours: z
      .array(z.strictObject({ hour: time, outcome: z.string(), count: z.int() }))
      .meta({ description: 'Decisions of each hour of the last 7 days' }),
    charts: z
      .strictObject({
        hours: z.array(time).meta({ description: 'Begin of each of the last 24 hours' }),
        ages: z
          .array(z.strictObject({ stream: z.string(), percents: z.array(wholeOrNull) }))
          .meta({ description: 'Oldest age in each hour, in percent of what it may be' }),
        queue: z.strictObject({ depths: z.array(z.int()), oldestMs: z.array(z.int()) }),
        lag: z.strictObject({ medianMs: z.array(wholeOrNull), longestMs: z.array(wholeOrNull) }),
      })
      .meta({ description: 'What the charts of the page show, an entry an hour' }),
    status: statusSchema,
    checks: z.array(checkSchema).meta({ description: 'Everything that is not fine' }),
  })
  .meta({ id: 'Overview' });

const truth = z.union([z.boolean(), z.literal('unknown')]);
const operandSchema = z
  .union([
    z.strictObject({ text: z.string(), value: z.unknown() }),
    z.strictObject({ text: z.string(), missing: z.string() }),
    z.strictObject({
      text: z.string(),
      which: z.enum(['fail', 'match']),
      of: z.int(),
      count: z.int(),
      unknown: z.int(),
      items: z.array(z.unknown()),
    }),
  ])
  .meta({ id: 'Operand', description: 'A value behind a condition.' });

const outcomeSchema = z
  .strictObject({
    kind: z.enum(['accept', 'hold', 'reject', 'no_rule']),
    code: z.string(),
    rules: z.array(z.string()),
    reason: z.string(),
    missing: z.array(z.string()),
  })
  .meta({ id: 'Outcome' });

const ruleResultSchema = z
  .strictObject({
    id: z.string(),
    title: z.string(),
    action: z.enum(['accept', 'hold', 'reject']),
    owner: z.string().optional(),
    hash: z.string(),
    mode: z.enum(['shadow', 'live']),
    armed: z.boolean().optional(),
    lapsed: z.enum(['accept', 'release']).optional(),
    value: truth,
    missing: z.array(z.string()),
    clauses: z.array(
      z.strictObject({
        text: z.string(),
        line: z.int(),
        negated: z.boolean(),
        value: truth,
        missing: z.string().optional(),
        operands: z.array(operandSchema),
      }),
    ),
    message: z.string().optional(),
    record: anyObject.optional(),
  })
  .meta({ id: 'RuleResult' });

export const evaluationSchema = z.strictObject({
  delivery: z.string(),
  setHash: z.string(),
  rules: z.array(ruleResultSchema),
  live: outcomeSchema,
  shadow: outcomeSchema,
  forgotten: anyObject.optional().meta({ description: 'Its texts were forgotten' }),
});

export const counterfactualsSchema = z.array(
  z.strictObject({
    rule: z.string(),
    line: z.int(),
    condition: z.string(),
    text: z.string(),
    change: z.string(),
    was: z.number().optional(),
    limit: z.number().optional(),
  }),
);

const decisionSchema = z
  .strictObject({
    decisionId: id,
    at: time,
    trigger: z.string(),
    actor: z.string(),
    mode: z.string(),
    outcome: z.string(),
    reason: z.string(),
    ruleSetHash: z.string(),
    evaluation: evaluationSchema,
    push: z
      .strictObject({ outboxId: id, state: z.enum(OUTBOX_STATES), error: textOrNull })
      .nullable(),
  })
  .meta({ id: 'Decision' });

const noteSchema = z.strictObject({ text: z.string(), author: z.string(), at: time });

const stockOfOpen = numberOrNull.meta({ description: 'Null: not listed, or it is decided' });
const cardSchema = z
  .strictObject({
    orderDeliveryId: id,
    deliveryNo: textOrNull,
    status: z.string(),
    shipped: z.boolean().meta({ description: 'Whether it has a tracking number' }),
    since: time,
    changedAt: time,
    order: z.strictObject({
      orderId: id,
      orderNo: textOrNull,
      reference: textOrNull,
      comment: textOrNull,
    }),
    season: textOrNull,
    customer: z.strictObject({ accountNo: textOrNull, company: textOrNull, country: textOrNull }),
    currency: textOrNull,
    lines: z.array(
      z.strictObject({
        barcode: textOrNull,
        style: textOrNull,
        quantity: numberOrNull,
        price: numberOrNull,
        stock: stockOfOpen,
      }),
    ),
    review: z
      .strictObject({
        action: z.string(),
        at: time,
        actor: z.string(),
        reason: z.string(),
        why: textOrNull,
      })
      .nullable()
      .meta({ description: 'What a person decided' }),
    rejects: z.array(
      z.strictObject({
        rule: z.string(),
        state: z.string(),
        queuedAt: time,
        dueAt: time,
        safeguard: textOrNull,
        detail: textOrNull,
        endedAt: time.nullable(),
        endedBy: textOrNull,
      }),
    ),
    holds: z.array(
      z.strictObject({
        rule: z.string(),
        since: time,
        untilAt: time.nullable(),
        expiresAt: time.nullable(),
        afterwards: z.string(),
        lapsedAt: time.nullable(),
      }),
    ),
    assigned: z
      .strictObject({ name: z.string(), actor: z.string(), at: time })
      .nullable()
      .meta({ description: 'Who sees to it' }),
    notes: z.array(noteSchema).meta({ description: 'The oldest first' }),
    decisions: z.array(decisionSchema).meta({ description: 'The latest first' }),
  })
  .meta({ id: 'DeliveryCard' });

export const deliverySchema = z
  .strictObject({
    card: cardSchema,
    value: numberOrNull,
    pieces: numberOrNull,
    grid: z.array(
      z.strictObject({
        barcode: textOrNull,
        style: textOrNull,
        styleName: textOrNull,
        color: textOrNull,
        size: textOrNull,
        packed: numberOrNull,
        ordered: wholeOrNull.meta({ description: 'Pieces that the order asks for' }),
        price: numberOrNull,
        stock: stockOfOpen,
        unlisted: z.enum(UNLISTED).nullable(),
      }),
    ),
    history: z
      .strictObject({ accepted: z.int(), rejected: z.int(), held: z.int() })
      .nullable()
      .meta({ description: 'Deliveries of the account in 90 days' }),
    account: z
      .strictObject({
        blocked: z.boolean(),
        balance: numberOrNull,
        limit: numberOrNull,
        currency: textOrNull,
        overdueDays: wholeOrNull,
        refunds: z.int().meta({ description: 'Of 90 days' }),
      })
      .nullable()
      .meta({ description: 'State of the account now, as the ERP tells it' }),
    siblings: z.array(
      z.strictObject({
        orderDeliveryId: id,
        deliveryNo: textOrNull,
        status: z.string(),
        state: z.string(),
      }),
    ),
    note: noteSchema.nullable().meta({ description: 'The latest' }),
    missedBy: z.array(z.string()),
    attempts: z.array(
      z.strictObject({
        outboxId: id,
        attempt: z.int(),
        startedAt: time,
        endedAt: time.nullable(),
        class: textOrNull,
        httpStatus: wholeOrNull,
      }),
    ),
    events: z.array(z.strictObject({ type: textOrNull, receivedAt: time })),
    latestDecisionId: idOrNull,
    contentHash: z.string(),
    openPush: z.boolean().meta({ description: 'Nothing else can be decided now' }),
    tracking: z.array(z.string()),
    shipment: z.strictObject({
      acceptedAt: textOrNull,
      shippedAt: textOrNull.meta({ description: 'When its first tracking number came' }),
      waitsHours: numberOrNull.meta({ description: 'Since it was accepted, without a parcel' }),
      weightKg: numberOrNull,
      customs: z.array(
        z.strictObject({
          tariffNo: textOrNull,
          origin: textOrNull,
          pieces: wholeOrNull,
          weightKg: numberOrNull,
          value: numberOrNull,
        }),
      ),
    }),
    counterfactuals: z
      .record(z.string(), counterfactualsSchema)
      .meta({ description: 'By decision: limits that would have let it pass' }),
  })
  .meta({ id: 'Delivery' });

const candidateSchema = z
  .strictObject({
    orderId: id,
    orderNo: textOrNull,
    reference: textOrNull,
    createdAt: time.nullable(),
    currency: textOrNull,
    lines: z.array(
      z.strictObject({
        barcode: textOrNull,
        quantity: numberOrNull,
        price: numberOrNull,
        deliveryName: textOrNull,
      }),
    ),
    seasonName: textOrNull,
    shippingAddress: anyObject,
    differences: z.array(z.string()),
  })
  .meta({ id: 'Candidate', description: 'An order of the service that it may have become.' });

export const pushSchema = wireSchema(pushRow)
  .extend({
    ended: z.boolean(),
    deliveries: z.array(
      z.strictObject({ orderDeliveryId: id, deliveryNo: textOrNull, status: textOrNull }),
    ),
    orderRefundId: idOrNull,
    styleId: textOrNull,
    problems: z.array(
      z.strictObject({
        path: z.string(),
        message: z.string(),
        severity: z.enum(['error', 'warning']),
      }),
    ),
    nextAction: z.string(),
    cause: z.string(),
    orderingKey: z.string(),
    inDoubtSince: time.nullable(),
    document: anyObject,
    attemptLog: z.array(
      z.strictObject({
        attempt: z.int(),
        startedAt: time,
        endedAt: time.nullable(),
        class: textOrNull,
        answer: textOrNull,
        httpStatus: wholeOrNull,
        errorCode: textOrNull,
        maxOrderIdBefore: wholeOrNull,
        countBefore: wholeOrNull,
      }),
    ),
    evidence: z.array(
      z.strictObject({
        at: time,
        source: z.string(),
        outcome: z.string(),
        complete: z.boolean(),
        detail: z.unknown(),
      }),
    ),
    candidates: z.array(candidateSchema),
    isNotable: z.boolean().meta({ description: 'It waits until a person takes note of it' }),
    revisions: z.array(
      z.strictObject({
        revision: z.int(),
        document: anyObject,
        cause: z.string(),
        submittedAt: time,
        state: z.string(),
        lastError: textOrNull,
        replacedAt: time,
      }),
    ),
  })
  .meta({ id: 'PushDetail' });
