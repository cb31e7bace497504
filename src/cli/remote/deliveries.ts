/** Reads a delivery over a URL, and acts on it. */
import { z } from 'zod';
import type { DeliveryView } from '../../console/read/delivery.ts';
import type { ReviewAction, ReviewAnswer } from '../../decisions/review/review.ts';
import { RefusedError, SelvedgeError } from '../../lib/errors.ts';
import type { Counterfactual } from '../../rules/analysis/counterfactuals.ts';
import type { RemoteConsole } from './console.ts';
import { shaped } from './shapes.ts';

/**
 * A delivery as the console shows it, with the changes that would have let it pass, by decision.
 */
export interface RemoteDelivery extends DeliveryView {
  readonly counterfactuals: Readonly<Record<string, readonly Counterfactual[]>>;
}

const outcome = z.looseObject({ kind: z.string(), code: z.string(), rules: z.array(z.string()) });
const remoteDelivery = shaped<RemoteDelivery>(
  z.looseObject({
    card: z.looseObject({
      orderDeliveryId: z.int(),
      order: z.looseObject({ orderId: z.int() }),
      customer: z.looseObject({}),
      lines: z.array(z.looseObject({})),
      holds: z.array(z.looseObject({ rule: z.string(), since: z.number() })),
      rejects: z.array(z.looseObject({ rule: z.string(), dueAt: z.number() })),
      decisions: z.array(
        z.looseObject({
          decisionId: z.int(),
          at: z.number(),
          evaluation: z.looseObject({
            live: outcome,
            shadow: outcome,
            rules: z.array(z.looseObject({ id: z.string(), clauses: z.array(z.looseObject({})) })),
          }),
        }),
      ),
    }),
    latestDecisionId: z.int().nullable(),
    contentHash: z.string(),
    counterfactuals: z.record(z.string(), z.array(z.looseObject({}))),
  }),
);

/** Reads a delivery by its id or number. */
export function readRemoteDelivery(
  remote: RemoteConsole,
  delivery: string,
): Promise<RemoteDelivery> {
  return remote.get(`/deliveries/${encodeURIComponent(delivery)}.json`, remoteDelivery);
}

const reviewed = z.object({
  orderDeliveryId: z.int(),
  deliveryNo: z.string(),
  decisionId: z.int(),
  outboxId: z.int().nullable(),
  doubt: z.string().optional(),
});

/** Options of an act on deliveries, as the command line has them. */
export interface RemoteAct {
  readonly reason: string;
  readonly why?: string | undefined;
  readonly toRules?: boolean | undefined;
  readonly ifRejectWaits?: boolean | undefined;
}

function wordsOf({ reason, why, toRules = false, ifRejectWaits }: RemoteAct): RemoteAct {
  return { reason, why, toRules, ifRejectWaits };
}

async function actOnOne(
  remote: RemoteConsole,
  action: ReviewAction,
  delivery: string,
  act: RemoteAct,
  confirmed: readonly string[],
): Promise<ReviewAnswer> {
  const view = await readRemoteDelivery(remote, delivery);
  const { orderDeliveryId, deliveryNo } = view.card;
  const typed = confirmed.find((number) => number === deliveryNo);
  const { doubt, ...done } = await remote.post(
    `/deliveries/${orderDeliveryId}/${action}`,
    {
      ...wordsOf(act),
      decisionId: view.latestDecisionId ?? 0,
      contentHash: view.contentHash,
      confirmed: typed,
    },
    reviewed,
  );
  return { delivery, ok: true, ...done, ...(doubt !== undefined && { doubt }) };
}

/** Whether a refusal concerns one delivery only, so that the others are still tried. */
function isOfOne(code: string): boolean {
  return !code.startsWith('remote.') && !['console.no_session', 'console.role'].includes(code);
}

/** Acts on deliveries one after the other, with an answer for each. */
export async function actOverUrl(
  remote: RemoteConsole,
  action: ReviewAction,
  deliveries: readonly string[],
  act: RemoteAct,
  confirmed: readonly string[],
): Promise<readonly ReviewAnswer[]> {
  const answers: ReviewAnswer[] = [];
  for (const delivery of deliveries) {
    try {
      answers.push(await actOnOne(remote, action, delivery, act, confirmed));
    } catch (thrown) {
      if (!(thrown instanceof SelvedgeError)) throw thrown;
      // Later errors become answers, because throwing would hide what was already done.
      if (answers.length === 0 && !isOfOne(thrown.code)) throw thrown;
      const { code, message, hint } = thrown;
      answers.push({ delivery, ok: false, code, message, hint });
    }
  }
  return answers;
}

/** Undoes the latest decision about a delivery; the console allows it if this token made it. */
export async function undoOverUrl<T>(
  remote: RemoteConsole,
  delivery: string,
  answer: z.ZodType<T>,
): Promise<T> {
  const { card, latestDecisionId } = await readRemoteDelivery(remote, delivery);
  if (latestDecisionId === null) {
    throw new RefusedError('console.undo', `nothing was decided about ${delivery}`, {
      hint: 'deliveries explain shows its decisions',
    });
  }
  const body = { decisionId: latestDecisionId };
  return remote.post(`/deliveries/${card.orderDeliveryId}/undo`, body, answer);
}

export async function noteOverUrl(
  remote: RemoteConsole,
  delivery: string,
  text: string,
): Promise<void> {
  const { card } = await readRemoteDelivery(remote, delivery);
  await remote.post(`/deliveries/${card.orderDeliveryId}/note`, { text }, z.looseObject({}));
}
