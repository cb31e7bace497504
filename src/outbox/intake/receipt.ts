/**
 * What the ERP is told about a document, the same by every door: state, what it made at the
 * service, what is wrong with it, and what to do next, in a sentence.
 */
import type { Db, Tx } from '../../store/store.ts';
import { type DocumentState, documentState } from '../document-state.ts';
import type { Problem } from '../documents.ts';
import type { FlightProblem } from '../item.ts';
import type { Refusal } from './intake.ts';
import type { Conflict } from './envelope.ts';

export interface Receipt {
  /** Null when the document was refused at the door: nothing of it is kept. */
  readonly documentId: number | null;
  readonly kind: string | null;
  readonly reference: string | null;
  readonly state: DocumentState['state'];
  /** The state does not change any more. */
  readonly final: boolean;
  readonly orderId: number | null;
  readonly orderNo: string | null;
  readonly deliveries: DocumentState['deliveries'];
  readonly pendingRefundId: number | null;
  readonly refundId: number | null;
  readonly styleId: string | null;
  readonly problems: readonly (Problem & Partial<FlightProblem>)[];
  /** When the reference belongs to another document. */
  readonly conflict?: Conflict;
  /** What to do next, in a sentence. */
  readonly nextStep: string;
  /** ISO texts in UTC. */
  readonly receivedAt: string;
  readonly endedAt: string | null;
}

const FINAL: ReadonlySet<string> = new Set(['confirmed', 'refused', 'canceled']);

export function isoTime(at: number): string {
  return new Date(at).toISOString();
}

/** A bad end that no lookup explains is explained by the service's own words. */
function problemsOf({ state, problems, lastError }: DocumentState): Receipt['problems'] {
  const explained = problems.some(({ severity }) => severity === 'error');
  if (explained || lastError === null || state === 'confirmed') return problems;
  return [...problems, { path: '', message: lastError, severity: 'error' }];
}

function receiptOf(document: DocumentState, receivedAt: number): Receipt {
  const { kind, reference, state, orderId, orderNo, deliveries, pendingRefundId } = document;
  return {
    documentId: document.outboxId,
    ...{ kind, reference, state, final: FINAL.has(state) },
    ...{ orderId, orderNo, deliveries, pendingRefundId },
    refundId: document.orderRefundId,
    styleId: document.styleId,
    problems: problemsOf(document),
    nextStep: document.nextAction,
    receivedAt: isoTime(receivedAt),
    endedAt: document.endedAt === null ? null : isoTime(document.endedAt),
  };
}

/** Undefined when nothing with this number came in by a door. */
export async function readReceipt(db: Db | Tx, documentId: number): Promise<Receipt | undefined> {
  const row = await db
    .selectFrom('intake')
    .select('received_at')
    .where('outbox_id', '=', documentId)
    .executeTakeFirst();
  const document = row && (await documentState(db, documentId));
  return document && receiptOf(document, row.received_at);
}

/** What is told about a document that was refused at the door. */
export function refusalReceipt(kind: string | null, refusal: Refusal, receivedAt: number): Receipt {
  const { reference, problems, nextStep, conflict } = refusal;
  const at = isoTime(receivedAt);
  return {
    documentId: null,
    ...{ kind, reference: reference ?? null, state: 'refused', final: true },
    ...{ orderId: null, orderNo: null, deliveries: [], pendingRefundId: null },
    ...{ refundId: null, styleId: null, problems },
    ...(conflict === undefined ? {} : { conflict }),
    ...{ nextStep, receivedAt: at, endedAt: at },
  };
}
