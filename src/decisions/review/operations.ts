/** Acts of people on deliveries, as the doors to them ask for them. */
import type { Clock } from '../../lib/clock.ts';
import { RefusedError } from '../../lib/errors.ts';
import { plural } from '../../lib/strings.ts';
import type { Actor } from '../../store/audit.ts';
import type { Store } from '../../store/store.ts';
import type { Preview } from '../../surface/acts.ts';
import type { Chooser, Matching } from '../../surface/many.ts';
import type { LoadedRuleSet } from '../rule-files.ts';
import { describeMatching, selectExpected } from './bulk.ts';
import { deliveryIdOf } from './deliveries.ts';
import { filterOf, ownersOf, type ReviewQuery } from './filter.ts';
import { selectForReview } from './listing.ts';
import { type ExpectedSet, markOf } from './mark.ts';
import { assignmentOf, ME, NOBODY, nameOf, ownNote, writeAssignment, writeNote } from './note.ts';
import type { ReviewAction, Reviewed, ReviewPreview } from './review.ts';
import { type UndoDeps, undoingOf, undoLatest } from './undo.ts';
import { createViewOperations, type ViewOperations } from './views.ts';

/** Members of an act on a delivery; each action takes some of them. */
export interface Stated {
  readonly delivery: string;
  readonly why?: string | undefined;
  readonly toRules?: boolean | undefined;
  readonly ifRejectWaits?: boolean | undefined;
  /** Delivery numbers that a person typed; in one text they are separated by blanks. */
  readonly confirmed?: string | readonly string[] | undefined;
}

/** State of a delivery that somebody saw; decisionId 0: there is no decision yet. */
export interface Saw {
  readonly decisionId: number;
  readonly contentHash: string;
}

export interface ReviewOperations {
  readonly views: ViewOperations;
  preview(
    action: ReviewAction,
    stated: Stated,
    actor: Actor,
  ): Promise<Preview & { readonly seen: Saw }>;
  act(action: ReviewAction, stated: Stated, actor: Actor, saw: Saw): Promise<Reviewed>;
  /** Finds what fits a filter; throws where it is not the expected set. */
  find(filter: ReviewQuery, expect: ExpectedSet | undefined, chooser: Chooser): Promise<Matching>;
  previewUndo(delivery: string, actor: Actor): Promise<Preview & { readonly seen: UndoSaw }>;
  undo(delivery: string, actor: Actor, saw: UndoSaw): Promise<Reviewed>;
  previewNote(delivery: string, text: string, actor: Actor): Promise<Preview>;
  note(delivery: string, text: string, actor: Actor): Promise<{ readonly orderDeliveryId: number }>;
  previewAssign(delivery: string, to: string, actor: Actor): Promise<Preview>;
  /** Says who sees to the delivery, and answers with the name; null: nobody. */
  assign(
    delivery: string,
    to: string,
    actor: Actor,
  ): Promise<{ readonly orderDeliveryId: number; readonly assignedTo: string | null }>;
}
type UndoSaw = Pick<Saw, 'decisionId'>;

export interface OperationsDeps extends Omit<UndoDeps, 'db'> {
  readonly store: Store;
  readonly clock: Clock;
  readonly rules: () => LoadedRuleSet;
}

const WOULD_BE: Readonly<Record<ReviewAction, string>> = {
  accept: 'accepted',
  reject: 'rejected for good',
  hold: 'held',
  release: 'released',
};

function previewLine(action: ReviewAction, preview: ReviewPreview): string {
  const { orderDeliveryId, deliveryNo, status, pieces, byRules, to, doubt } = preview;
  const packed = pieces === null ? 'pieces not known' : plural(pieces, 'piece');
  const told = to === undefined ? 'the service is not told' : `the service is told "${to}"`;
  const unsure = doubt === undefined ? '' : ` (${doubt})`;
  return (
    `${deliveryNo} (${orderDeliveryId}), ${status}, ${packed}, by the rules "${byRules}": ` +
    `would be ${WOULD_BE[action]}, ${told}${unsure}`
  );
}

function requestOf({ confirmed, ...stated }: Stated) {
  if (typeof confirmed !== 'string') return { ...stated, confirmed };
  return { ...stated, confirmed: [confirmed, ...confirmed.split(/[\s,]+/)] };
}

/** The name that is meant; null: nobody. */
function assignee(to: string, { actor }: Actor): string | null {
  if (to === ME) return nameOf(actor);
  return to === '' || to === NOBODY ? null : to;
}

/** Operations that tell other people something, and decide nothing. */
function notesAndNames(
  store: Store,
  clock: Clock,
): Pick<ReviewOperations, 'previewNote' | 'note' | 'previewAssign' | 'assign'> {
  const { db } = store;
  return {
    async previewNote(delivery, text, { actor }) {
      const id = await deliveryIdOf(db, delivery);
      if (text !== '') return { lines: [`a note about delivery ${id} would be kept`] };
      await ownNote(db, id, actor);
      return { lines: [`your latest note about delivery ${id} would be taken away`] };
    },
    note(delivery, text, actor) {
      return store.transaction(async (tx) => {
        const orderDeliveryId = await deliveryIdOf(tx, delivery);
        await writeNote(tx, orderDeliveryId, text, actor, clock.now());
        return { orderDeliveryId };
      });
    },
    async previewAssign(delivery, to, actor) {
      const id = await deliveryIdOf(db, delivery);
      const before = (await assignmentOf(db, id))?.name ?? 'nobody';
      const name = assignee(to, actor) ?? 'nobody';
      return { lines: [`delivery ${id} would be assigned to ${name}, it is to ${before}`] };
    },
    assign(delivery, to, actor) {
      return store.transaction(async (tx) => {
        const orderDeliveryId = await deliveryIdOf(tx, delivery);
        const assignedTo = assignee(to, actor);
        await writeAssignment(tx, orderDeliveryId, assignedTo, actor, clock.now());
        return { orderDeliveryId, assignedTo };
      });
    },
  };
}

export function createReviewOperations(deps: OperationsDeps): ReviewOperations {
  const { store, clock, rules, review } = deps;
  const { db } = store;
  return {
    views: createViewOperations(store, clock),
    async preview(action, stated, actor) {
      const { confirmed = 'later', ...request } = requestOf(stated);
      const found = await review.preview({ ...actor, ...request, action, confirmed });
      const { decisionId, contentHash } = found.seen;
      return {
        lines: [previewLine(action, found)],
        seen: { decisionId: decisionId ?? 0, contentHash },
      };
    },
    act(action, stated, actor, { decisionId, contentHash }) {
      const seen = { decisionId: decisionId === 0 ? null : decisionId, contentHash };
      return review.act({ ...actor, ...requestOf(stated), action, seen });
    },
    async find(asked, expect, chooser) {
      const { now } = chooser;
      const { rules: known } = rules().ruleSet;
      const me = nameOf(chooser.me);
      const filter = filterOf(asked, now, ownersOf(known), { ...chooser, me });
      const found = expect
        ? await selectExpected(db, filter, expect, now)
        : await selectForReview(db, filter);
      const [first] = found.deliveries;
      if (!first) {
        const hint = 'deliveries list --held shows all that are held';
        throw new RefusedError('review.none', 'no delivery fits the filter', { hint });
      }
      return {
        lines: [`${describeMatching(found)}, such as ${first.orderDeliveryId}`],
        expect: markOf(found),
        things: found.deliveries.map(({ orderDeliveryId, decisionId, contentHash }) => ({
          delivery: `id:${orderDeliveryId}`,
          decisionId: decisionId ?? 0,
          contentHash,
        })),
      };
    },
    async previewUndo(delivery, actor) {
      const id = await deliveryIdOf(db, delivery);
      const { decisionId, outcome, outboxId, action } = await undoingOf(db, id, actor);
      const before = outboxId === undefined ? '' : `, push ${outboxId} canceled`;
      const then = action === 'hold' ? 'held' : 'given back to the rules';
      const what = `"${outcome}" of decision ${decisionId} would be undone`;
      const line = `${id}: ${what}${before}: ${then}`;
      return { lines: [line], seen: { decisionId } };
    },
    async undo(delivery, actor, { decisionId }) {
      const id = await deliveryIdOf(db, delivery);
      const reason = actor.reason === '' ? 'undone' : actor.reason;
      return undoLatest({ ...deps, db }, id, { ...actor, reason }, decisionId);
    },
    ...notesAndNames(store, clock),
  };
}
