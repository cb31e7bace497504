/**
 * Proves under which names the account reads the season and the delivery of a new order, before its
 * first pre-order leaves: an account that knows them by other names takes it for a plain order,
 * which ships months early. A name that nothing has must be refused, so orders of an article that
 * does not exist are sent with and without such names: if the refusal changes with one spelling of
 * the members alone, that is read. Before, an order without lines shows that the account refuses
 * what is wrong at all. Where nothing is proved, pre-orders wait until a person sets
 * `service.dialect.v1.preOrderNames`; an account that took such an order, or may have taken it, is
 * never sent another.
 */
import { z } from 'zod';
import type { V1Client } from '../../client/v1/client.ts';
import {
  type FreightSpelling,
  type NewOrder,
  orderBody,
  PRE_ORDER_NAMES,
  type PreOrderNames,
} from '../../client/v1/order-body.ts';
import type { Clock } from '../../lib/clock.ts';
import {
  InDoubtError,
  isStoreUnusable,
  LoginAgainError,
  RefusedError,
  RetryLaterError,
} from '../../lib/errors.ts';
import { tryParseJson } from '../../lib/json.ts';
import { endIncidents, updateIncident } from '../../store/incidents.ts';
import { readStateSince, writeStateAt } from '../../store/state.ts';
import type { Store } from '../../store/store.ts';
import type { SendCall } from '../item.ts';
import { messageOf } from '../service.ts';

const KEY = 'outbox.preorder_names';
const UNPROVED = { kind: 'preorders_unproved', entity: 'service', key: 'preOrderNames' } as const;
const HINT =
  'read in the manual of the account how it calls them, then set ' +
  'service.dialect.v1.preOrderNames: SeasonName or seasonName; if it has none, cancel the ' +
  'pre-orders here, for it would take them for plain orders';

/** Milliseconds for which a check that proved nothing is not made again. */
const AGAIN_MS = 3_600_000;
const RETRY_MS = 600_000;

// Names that nothing has, and an article; none of them has the word of another member in it.
const ARTICLE = 'selvedge-no-article';
const NOBODY = 'selvedge-none';

export interface PreOrderNamesDeps {
  readonly store: Store;
  readonly clock: Clock;
  readonly v1: Pick<V1Client, 'createOrder'>;
  readonly freightSpelling: FreightSpelling;
  readonly names: PreOrderNames | 'learned';
  /** Address of the account, for which alone a proof holds. */
  readonly account: string;
}

type Call = Pick<SendCall, 'signal' | 'beforeSend'>;

export interface ProvedNames {
  /** Throws RetryLaterError while pre-orders wait; asks nothing of the account. */
  unlessWaiting(): Promise<void>;
  /** Gives the names for a pre-order; throws RetryLaterError while nothing proves them. */
  of(order: NewOrder, call: Call): Promise<PreOrderNames>;
}

/**
 * Finding about the account: its names, or why none. `isOver`: it is not asked again; `isAssumed`:
 * it broke when it was asked.
 */
const schema = z.object({
  account: z.string(),
  names: z.enum(PRE_ORDER_NAMES).optional(),
  isAssumed: z.boolean().optional(),
  why: z.string().optional(),
  isOver: z.boolean().optional(),
});

const CODE = 'outbox.preorder_names';

class UnprovedError extends RetryLaterError {
  readonly why: string;
  readonly isOver: boolean;
  /** HTTP status of a check whose outcome is not known. */
  readonly status: number | undefined;

  constructor(why: string, isOver: boolean, status?: number) {
    const text = `pre-orders wait: nothing proves how the account reads their names: ${why}`;
    super(CODE, text, { hint: HINT, retryAfterMs: RETRY_MS });
    this.why = why;
    this.isOver = isOver;
    this.status = status;
  }
}

/** Lines of the refusal of an order that must be refused; throws when it is not. */
async function refusalOf(
  { v1 }: PreOrderNamesDeps,
  body: object,
  call: Call,
): Promise<readonly string[]> {
  let orderId: number;
  try {
    const { value } = await v1.createOrder(body, { priority: 'push', ...call });
    ({ orderId } = value);
  } catch (error) {
    const isUnsent = error instanceof RetryLaterError || error instanceof LoginAgainError;
    if (isUnsent || isStoreUnusable(error)) throw error;
    if (error instanceof RefusedError)
      return error.lines.length > 0 ? error.lines : [error.message];
    // The pre-order itself was not sent, so its own outcome is not in doubt.
    if (call.signal.aborted) throw new RetryLaterError(CODE, 'the check of the names was cut off');
    const why = `whether it took an order that cannot be is unknown (${messageOf(error)})`;
    const advice = `${why}: look there for one with "${NOBODY}", and cancel it`;
    const status = error instanceof InDoubtError ? error.status : undefined;
    throw new UnprovedError(advice, true, status);
  }
  throw new UnprovedError(`it took an order that cannot be: cancel order ${orderId} there`, true);
}

/** Whether a refusal says something of season or delivery that it does not say without them. */
function tellsOf(lines: readonly string[], without: readonly string[]): boolean {
  return lines.some(
    (line) => !without.includes(line) && !line.includes(ARTICLE) && /season|deliver/i.test(line),
  );
}

/** An order that must be refused, with the members of another, but nothing of its customer. */
function orderOfNothing({ shippingAddress: own, freight }: NewOrder): NewOrder {
  const nobody = { firstName: NOBODY, lastName: NOBODY, address: NOBODY, city: NOBODY };
  const reached = { phone: '0000000', email: `${NOBODY}@example.invalid` };
  const place = own && { zip: own.zip, countryCode: own.countryCode };
  return {
    reference: NOBODY,
    comment: NOBODY,
    freight,
    lines: [{ barcode: ARTICLE, quantity: 1, priceUnits: 0 }],
    shippingAddress: place && { ...nobody, ...reached, ...place },
  };
}

/** Whether the account breaks on an order without lines, instead of refusing it. */
async function breaks(deps: PreOrderNamesDeps, call: Call): Promise<boolean> {
  for (const _ of ['now', 'again']) {
    try {
      await refusalOf(deps, { comment: NOBODY }, call);
      return false;
    } catch (error) {
      if (!(error instanceof UnprovedError) || error.status !== 500) throw error;
    }
  }
  return true;
}

interface Found {
  readonly names: PreOrderNames;
  readonly isAssumed?: boolean;
}

async function prove(deps: PreOrderNamesDeps, order: NewOrder, call: Call): Promise<Found> {
  const { freightSpelling } = deps;
  // No check tells anything there: the names are those of the contract, and an order that is then
  // shown without its season is told, and its deliveries are held. An account that had only broken
  // down is asked again.
  if (await breaks(deps, call)) return { names: 'SeasonName', isAssumed: true };
  const plain = orderOfNothing(order);
  const before = await refusalOf(deps, orderBody(plain, freightSpelling), call);
  const lines = plain.lines.map((line) => ({ ...line, deliveryName: NOBODY }));
  const ahead = { ...plain, seasonName: NOBODY, lines };
  const telling: PreOrderNames[] = [];
  for (const names of PRE_ORDER_NAMES) {
    const refusal = await refusalOf(deps, orderBody(ahead, freightSpelling, names), call);
    if (tellsOf(refusal, before)) telling.push(names);
  }
  const [names, other] = telling;
  // A strict account refuses the name that it does not know as well.
  if (other) throw new UnprovedError(`it refuses ${telling.join(' and ')} alike`, false);
  if (names) return { names };
  const both = PRE_ORDER_NAMES.join(' or ');
  throw new UnprovedError(`it refuses no season that does not exist, as ${both}`, false);
}

async function findingOf({ store, account }: PreOrderNamesDeps) {
  const { value = '', at = 0 } = (await readStateSince(store.db, KEY)) ?? {};
  const { data } = schema.safeParse(tryParseJson(value));
  return data?.account === account ? { ...data, at } : undefined;
}

/** Names that are proved already; throws while the account is not to be asked. */
async function namesBefore(deps: PreOrderNamesDeps): Promise<PreOrderNames | undefined> {
  const { names, isAssumed, why, isOver = false, at = 0 } = (await findingOf(deps)) ?? {};
  const isRecent = deps.clock.now() - at < AGAIN_MS;
  if (why !== undefined && (isOver || isRecent)) throw new UnprovedError(why, isOver);
  return isAssumed && !isRecent ? undefined : names;
}

async function keep(deps: PreOrderNamesDeps, found: Found): Promise<PreOrderNames> {
  const { store, clock, account } = deps;
  await store.transaction(async (tx) => {
    await writeStateAt(tx, KEY, JSON.stringify({ account, ...found }), clock.now());
    await endIncidents(tx, UNPROVED, [UNPROVED.key], clock.now());
  });
  return found.names;
}

async function keepUnproved(deps: PreOrderNamesDeps, error: UnprovedError): Promise<void> {
  const { store, clock, account } = deps;
  const { why, isOver, message } = error;
  await store.transaction(async (tx) => {
    await writeStateAt(tx, KEY, JSON.stringify({ account, why, isOver }), clock.now());
    const detail = { why: message, hint: HINT };
    await updateIncident(tx, { ...UNPROVED, detail }, clock.now());
  });
}

export function createPreOrderNames(deps: PreOrderNamesDeps): ProvedNames {
  const { names: set } = deps;
  let checking: Promise<PreOrderNames> | undefined;

  const check = async (order: NewOrder, call: Call): Promise<PreOrderNames> => {
    try {
      return await keep(deps, await prove(deps, order, call));
    } catch (error) {
      if (error instanceof UnprovedError) await keepUnproved(deps, error);
      throw error;
    }
  };
  return {
    async unlessWaiting() {
      if (set === 'learned') await namesBefore(deps);
    },
    async of(order, call) {
      // A setting that was used is kept: it holds for the account when it is gone.
      if (set !== 'learned') {
        const { names, isAssumed } = (await findingOf(deps)) ?? {};
        return names === set && !isAssumed ? set : keep(deps, { names: set });
      }
      const known = await namesBefore(deps);
      if (known) return known;
      checking ??= check(order, call).finally(() => {
        checking = undefined;
      });
      return checking;
    },
  };
}
