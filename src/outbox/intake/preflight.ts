/**
 * Dry run of a submission: makes every check of intake and sending, and keeps nothing. Reads the
 * mirror, and asks the service where sending would.
 */
import type { Clock } from '../../lib/clock.ts';
import { BugError, isStoreUnusable, SelvedgeError } from '../../lib/errors.ts';
import type { JsonObject } from '../../lib/json.ts';
import type { Store } from '../../store/store.ts';
import { meetingOf } from '../corrections.ts';
import type { Problem } from '../documents.ts';
import { onFile } from '../enqueue.ts';
import type { Clearance, FlightProblem, OutboxItem, OutboxKind } from '../item.ts';
import { checkEnvelope, conflictOf, type Envelope } from './envelope.ts';
import { readReceipt } from './receipt.ts';

interface Checkup {
  readonly reference: string | null;
  /**
   * Result of the dry run. `fit`: the document would be sent. `repeated`: it was submitted before.
   * `refused`: a submission would be refused, or the repeated document has ended badly. `unclear`:
   * the service cannot tell now.
   */
  readonly verdict: 'fit' | 'repeated' | 'refused' | 'unclear';
  readonly documentId: number | null;
  readonly problems: readonly (Problem & Partial<FlightProblem>)[];
}

const BAD_ENDS: ReadonlySet<string> = new Set(['refused', 'canceled', 'dead']);

export type Preflight = (envelope: Envelope, signal: AbortSignal) => Promise<Checkup>;

function refusal(reference: string | undefined, problems: Checkup['problems']): Checkup {
  return { reference: reference ?? null, verdict: 'refused', documentId: null, problems };
}

function checkupOf(reference: string, clearance: Clearance): Checkup {
  if (clearance.send) {
    return { reference, verdict: 'fit', documentId: null, problems: clearance.warnings };
  }
  const { lookup } = clearance;
  if (lookup.outcome === 'invalid') return refusal(reference, lookup.problems);
  const message =
    lookup.outcome === 'ambiguous' || lookup.outcome === 'superseded'
      ? lookup.reason
      : 'the service has it already';
  return { reference, verdict: 'unclear', documentId: null, problems: [{ path: '', message }] };
}

function itemOf(kind: string, reference: string, body: JsonObject, now: number): OutboxItem {
  return {
    outboxId: 0,
    kind,
    orderingKey: '',
    reference,
    body,
    expectedFrom: null,
    state: 'queued',
    attempts: 0,
    result: null,
    inDoubtSince: null,
    createdAt: now,
  };
}

/** Returns why a refund would wait for its order to be sent first; undefined: it would not. */
async function orderAhead({ db }: Store, kind: string, document: JsonObject) {
  const { orderReference } = document;
  if (kind !== 'pending_refund' || typeof orderReference !== 'string') return undefined;
  const order = await onFile(db, 'order', orderReference);
  if (!order?.isOpen) return undefined;
  return `its order, document ${order.outboxId}, is on its way (${order.state}) and goes first`;
}

/** Answers for a document that was submitted before: its earlier end counts. */
async function repeated({ db }: Store, reference: string, documentId: number): Promise<Checkup> {
  const receipt = await readReceipt(db, documentId);
  if (!receipt || !BAD_ENDS.has(receipt.state)) {
    return { reference, verdict: 'repeated', documentId, problems: [] };
  }
  const { state, nextStep, problems } = receipt;
  const message = `belongs to document ${documentId}, this very one (${state}): ${nextStep}`;
  const all = [{ path: 'reference', message }, ...problems];
  return { reference, verdict: 'refused', documentId, problems: all };
}

export function createPreflight(
  store: Store,
  clock: Clock,
  kinds: readonly OutboxKind[],
): Preflight {
  return async (envelope, signal) => {
    const checked = checkEnvelope(envelope);
    if (!checked.ok) return refusal(checked.reference, checked.problems);
    const { kind, reference, document } = checked;
    const existing = await onFile(store.db, kind, reference);
    const meeting = existing && (await meetingOf(store.db, existing, document));
    if (existing && meeting === 'repeat') return repeated(store, reference, existing.outboxId);
    if (existing && meeting === 'conflict') {
      const { outboxId, state } = existing;
      const where = conflictOf(existing, document).differences.join('; ');
      const message = `belongs to document ${outboxId} (${state}): ${where}`;
      return refusal(reference, [{ path: 'reference', message }]);
    }
    const ahead = await orderAhead(store, kind, document);
    if (ahead !== undefined) {
      const problems = [{ path: '', message: ahead }];
      return { reference, verdict: 'unclear', documentId: null, problems };
    }
    const sender = kinds.find((one) => one.kind === kind);
    if (!sender) return refusal(reference, [{ path: 'kind', message: 'is not sent from here' }]);
    const off = sender.off?.(document);
    if (off) return refusal(reference, [off]);
    try {
      const item = itemOf(kind, reference, document, clock.now());
      return checkupOf(reference, await sender.clear(item, signal));
    } catch (error) {
      // An error of the service about one document does not keep the others from being checked.
      const isOurs = error instanceof BugError || isStoreUnusable(error);
      if (isOurs || !(error instanceof SelvedgeError)) throw error;
      const problems = [{ path: '', message: error.message }];
      return { reference, verdict: 'unclear', documentId: null, problems };
    }
  };
}
