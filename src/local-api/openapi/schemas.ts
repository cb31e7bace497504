/**
 * Schemas of the HTTP intake channel: requests are checked by them, and the description of requests
 * and answers is made from them.
 */
import { z } from 'zod';
import { DOCUMENT_KINDS, DOCUMENT_SCHEMAS, type DocumentKind } from '../../outbox/documents.ts';
import { OUTBOX_STATES } from '../../store/tables.ts';

export const keyHeader = z
  .string()
  .regex(/^[\x21-\x7e]{1,200}$/)
  .optional();

const number = z.string().regex(/^\d{1,15}$/);
const id = z.int().min(1);

export const idParams = z.object({ id: number });
export const findQuery = z.strictObject({ kind: z.enum(DOCUMENT_KINDS), reference: z.string() });
export const outcomesQuery = z.strictObject({ after: number.default('0') });

const time = z.string().meta({ format: 'date-time' });

const problemSchema = z
  .strictObject({
    path: z.string(),
    message: z.string(),
    severity: z.enum(['error', 'warning']).optional(),
  })
  .meta({ id: 'Problem', description: 'A mistake; `path` is like `lines[2].price`.' });

const anyObject = z.record(z.string(), z.unknown());

const conflictSchema = z
  .strictObject({
    existing: z.strictObject({ documentId: id, state: z.string(), document: anyObject }),
    given: z.strictObject({ document: anyObject }),
    differences: z.array(z.string()),
  })
  .meta({ id: 'Conflict', description: 'Both documents that want one reference.' });

const receiptMembers = {
  documentId: id.nullable(),
  kind: z.string().nullable(),
  reference: z.string().nullable(),
  state: z.enum(OUTBOX_STATES),
  final: z.boolean(),
  orderId: id.nullable(),
  orderNo: z.string().nullable(),
  deliveries: z.array(
    z.strictObject({
      orderDeliveryId: id,
      deliveryNo: z.string().nullable(),
      status: z.string().nullable(),
    }),
  ),
  pendingRefundId: id.nullable(),
  refundId: id.nullable(),
  styleId: z.string().nullable(),
  problems: z.array(problemSchema),
  conflict: conflictSchema.optional(),
  nextStep: z.string(),
  receivedAt: time,
  endedAt: time.nullable(),
};

export const receiptSchema = z
  .strictObject(receiptMembers)
  .meta({ id: 'Receipt', description: 'What became of a document, and what to do next.' });

export const refusalSchema = z
  .strictObject({
    code: z.enum(['intake.invalid', 'intake.conflict', 'intake.key_reused']),
    ...receiptMembers,
  })
  .meta({ id: 'Refusal', description: 'The receipt of a document of which nothing is kept.' });

export const errorSchema = z
  .strictObject({ code: z.string(), message: z.string(), nextStep: z.string() })
  .meta({ id: 'Error', description: 'What is wrong with the request itself.' });

const outcomeSchema = z
  .strictObject({
    outcomeId: id,
    kind: z.literal('decision'),
    decisionId: id,
    orderDeliveryId: id,
    deliveryNo: z.string().nullable(),
    orderId: id,
    orderNo: z.string().nullable(),
    reference: z.string().nullable(),
    outcome: z.enum(['accept', 'hold', 'reject', 'release']),
    state: z.enum(['confirmed', 'refused']),
    reason: z.string(),
    rules: z.array(z.string()),
    decidedBy: z.string().meta({ description: 'daemon, external or who' }),
    problem: z.string().nullable(),
    decidedAt: time,
    endedAt: time,
  })
  .meta({ id: 'Outcome', description: 'What became of a packed delivery.' });

export const outcomesSchema = z.strictObject({ outcomes: z.array(outcomeSchema) });

export const healthSchema = (name: string) =>
  z.strictObject({ [name]: z.boolean(), why: z.array(z.string()) });

/** Schemas of documents under the names of their kinds, such as `PendingRefund`. */
const NAMED = new Map(
  DOCUMENT_KINDS.map((kind): [DocumentKind, z.ZodType] => {
    const words = kind.split('_').map((word) => word.charAt(0).toUpperCase() + word.slice(1));
    return [kind, DOCUMENT_SCHEMAS[kind].meta({ id: words.join('') })];
  }),
);

function documentOf(kind: DocumentKind): z.ZodType {
  return NAMED.get(kind) ?? DOCUMENT_SCHEMAS[kind];
}

function wrapped(kind: DocumentKind, isKindNeeded: boolean) {
  const literal = z.literal(kind);
  return z.strictObject({
    kind: isKindNeeded ? literal : literal.optional(),
    reference: z.string().optional(),
    payload: documentOf(kind),
  });
}

/** A document, alone or wrapped with its kind and reference. */
export function bothShapes(kind: DocumentKind) {
  return z.union([documentOf(kind), wrapped(kind, false)]);
}

export const anyDocument = z.union(DOCUMENT_KINDS.map((kind) => wrapped(kind, true)));
