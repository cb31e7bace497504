/**
 * Proves under which names the account reads the season and the delivery of a new order, before its
 * first pre-order leaves: an account that knows them by other names takes it for a plain order,
 * which ships months early. A name that nothing has must be refused, so orders of an article that
 * does not exist are sent with and without such names: if the refusal changes with them, they are
 * read. Before that, an order without lines shows that the account refuses what is wrong at all.
 * Where nothing is proved, pre-orders wait until a person sets `service.dialect.v1.preOrderNames`.
 */
import type { V1Client } from '../../client/v1/client.ts';
import {
  type FreightSpelling,
  type NewOrder,
  orderBody,
  PRE_ORDER_NAMES,
  type PreOrderNames,
} from '../../client/v1/order-body.ts';
import type { Clock } from '../../lib/clock.ts';
import { RefusedError, RetryLaterError } from '../../lib/errors.ts';
import { isJsonObject, tryParseJson } from '../../lib/json.ts';
import { endIncidents, openIncident } from '../../store/incidents.ts';
import { readState, writeStateAt } from '../../store/state.ts';
import type { Db, Store, Tx } from '../../store/store.ts';
import { seasonsShown } from '../evidence/seasons.ts';
import type { SendCall } from '../item.ts';
import { messageOf } from '../service.ts';

const KEY = 'outbox.preorder_names';
const UNPROVED = { kind: 'preorders_unproved', entity: 'service', key: 'preOrderNames' } as const;
const HINT =
  'read in the manual of the account how it calls them, then set ' +
  'service.dialect.v1.preOrderNames: SeasonName or seasonName';

/** Milliseconds for which a check that proved nothing is not made again. */
const AGAIN_MS = 3_600_000;

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

/** Gives the names for a pre-order; throws RetryLaterError while nothing proves them. */
export type ProvedNames = (order: NewOrder, call: Call) => Promise<PreOrderNames>;

const CODE = 'outbox.preorder_names';

function unproved(why: string, code = CODE): RetryLaterError {
  const text = `pre-orders wait: nothing proves how the account reads their names: ${why}`;
  return new RetryLaterError(code, text, { hint: HINT });
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
    if (error instanceof RetryLaterError) throw error;
    if (!(error instanceof RefusedError)) throw unproved(messageOf(error), 'outbox.names_check');
    return error.lines.length > 0 ? error.lines : [error.message];
  }
  throw unproved(`it took an order that cannot be: cancel order ${orderId} there`);
}

/** Whether a refusal says something of season or delivery that it does not say without them. */
function tellsOf(lines: readonly string[], without: readonly string[]): boolean {
  return lines.some(
    (line) => !without.includes(line) && !line.includes(ARTICLE) && /season|deliver/i.test(line),
  );
}

async function prove(deps: PreOrderNamesDeps, order: NewOrder, call: Call): Promise<PreOrderNames> {
  const { freightSpelling } = deps;
  await refusalOf(deps, { comment: NOBODY }, call);
  const line = { barcode: ARTICLE, quantity: 1, priceUnits: 0 };
  const plain = { ...order, reference: NOBODY, comment: NOBODY, seasonName: undefined };
  const without = orderBody({ ...plain, lines: [line] }, freightSpelling);
  const before = await refusalOf(deps, without, call);
  const ahead = { ...plain, seasonName: NOBODY, lines: [{ ...line, deliveryName: NOBODY }] };
  for (const names of PRE_ORDER_NAMES) {
    const lines = await refusalOf(deps, orderBody(ahead, freightSpelling, names), call);
    if (tellsOf(lines, before)) return names;
  }
  throw unproved(`it refuses no season that does not exist, as ${PRE_ORDER_NAMES.join(' or ')}`);
}

/**
 * Names that are proved already: by a check or, before there was one, by a pre-order that the
 * account has shown, or that people have noted.
 */
async function provedBefore(db: Db, account: string): Promise<PreOrderNames | undefined> {
  const known = tryParseJson((await readState(db, KEY)) ?? '');
  if (!isJsonObject(known))
    return (await seasonsShown(db)) === 'unknown' ? undefined : 'SeasonName';
  const names = known.account === account ? known.names : undefined;
  return PRE_ORDER_NAMES.find((one) => one === names);
}

async function keep(tx: Tx, account: string, names: PreOrderNames, now: number): Promise<void> {
  await writeStateAt(tx, KEY, JSON.stringify({ account, names }), now);
  await endIncidents(tx, UNPROVED, [UNPROVED.key], now);
}

export function createPreOrderNames(deps: PreOrderNamesDeps): ProvedNames {
  const { store, clock, account } = deps;
  let checking: Promise<PreOrderNames> | undefined;
  let failed: { readonly error: RetryLaterError; readonly until: number } | undefined;

  const check: ProvedNames = async (order, call) => {
    if (failed && clock.monotonic() < failed.until) throw failed.error;
    try {
      const names = await prove(deps, order, call);
      await store.transaction((tx) => keep(tx, account, names, clock.now()));
      return names;
    } catch (error) {
      // A check that was cut off proves nothing either way, and is made again soon.
      if (!(error instanceof RetryLaterError) || error.code !== CODE) throw error;
      failed = { error, until: clock.monotonic() + AGAIN_MS };
      const detail = { why: error.message, hint: HINT };
      await openIncident(store.db, { ...UNPROVED, detail }, clock.now());
      throw error;
    }
  };
  return async (order, call) => {
    if (deps.names !== 'learned') {
      await endIncidents(store.db, UNPROVED, [UNPROVED.key], clock.now());
      return deps.names;
    }
    const known = await provedBefore(store.db, account);
    if (known) return known;
    checking ??= check(order, call).finally(() => {
      checking = undefined;
    });
    return checking;
  };
}
