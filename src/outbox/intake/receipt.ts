/**
 * Receipts for the ERP, the same by every intake channel: state, objects made at the service,
 * problems, and the next step in a sentence.
 */
import { isoTime } from '../../lib/units.ts';
import type { Db, Tx } from '../../store/store.ts';
import { type DocumentState, documentState } from '../document-state.ts';
import type { Problem } from '../documents.ts';
import type { FlightProblem } from '../item.ts';
import type { Conflict } from './envelope.ts';
import type { Refusal } from './intake.ts';

export interface Receipt {
  /**
   * Number of the document; null for one that was refused at submission, of which nothing is kept.
   */
  readonly documentId: number | null;
  readonly kind: string | null;
  readonly reference: string | null;
  readonly state: DocumentState['state'];
  readonly final: boolean;
  readonly orderId: number | null;
  readonly orderNo: string | null;
  readonly deliveries: DocumentState['deliveries'];
  readonly pendingRefundId: number | null;
  readonly refundId: number | null;
  readonly styleId: string | null;
  readonly problems: readonly (Problem & Partial<FlightProblem>)[];
  /** Both documents, when the reference belongs to another one. */
  readonly conflict?: Conflict;
  readonly nextStep: string;
  readonly receivedAt: string;
  readonly endedAt: string | null;
}

const FINAL: ReadonlySet<string> = new Set(['confirmed', 'refused', 'canceled']);

/** Problems of a document; a refusal or failure without any gets its last error as the problem. */
function problemsOf({ state, problems, lastError }: DocumentState): Receipt['problems'] {
  const explained = problems.some(({ severity }) => severity === 'error');
  if (explained || lastError === null || state === 'confirmed') return problems;
  return [...problems, { path: '', message: lastError, severity: 'error' }];
}

function receiptOf(document: DocumentState, receivedAt: number): Receipt {
  const { kind, reference, state, orderId, orderNo, deliveries, pendingRefundId } = document;
  return {
    documentId: document.outboxId,
    kind,
    reference,
    state,
    final: FINAL.has(state),
    orderId,
    orderNo,
    deliveries,
    pendingRefundId,
    refundId: document.orderRefundId,
    styleId: document.styleId,
    problems: problemsOf(document),
    nextStep: document.nextAction,
    receivedAt: isoTime(receivedAt),
    endedAt: document.endedAt === null ? null : isoTime(document.endedAt),
  };
}

/** Reads the receipt of a document by its number; undefined when no intake channel brought it. */
export async function readReceipt(db: Db | Tx, documentId: number): Promise<Receipt | undefined> {
  const row = await db
    .selectFrom('intake')
    .select('received_at')
    .where('outbox_id', '=', documentId)
    .executeTakeFirst();
  const document = row && (await documentState(db, documentId));
  return document && receiptOf(document, row.received_at);
}

export function refusalReceipt(kind: string | null, refusal: Refusal, receivedAt: number): Receipt {
  const { reference, problems, nextStep, conflict } = refusal;
  const at = isoTime(receivedAt);
  return {
    documentId: null,
    kind,
    reference: reference ?? null,
    state: 'refused',
    final: true,
    orderId: null,
    orderNo: null,
    deliveries: [],
    pendingRefundId: null,
    refundId: null,
    styleId: null,
    problems,
    ...(conflict === undefined ? {} : { conflict }),
    nextStep,
    receivedAt: at,
    endedAt: at,
  };
}
