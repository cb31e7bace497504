/** Checks that the sweeps can look at all open orders in time. */
import type { Config } from '../../config/schema.ts';
import type { Installation } from '../../ops/installation.ts';
import { bookDemand, describeBook, limitOf, overdueLooks } from '../../ops/order-book.ts';
import { absent } from '../../store/answering.ts';
import { bad, type Finding, fine, odd } from './finding.ts';

/** Part of the requests from which on sweeps leave too little for everything else. */
const SWEEPS_SHARE_MAX = 0.5;

/** Tells whether the account's limit can carry the book of open orders. */
export function checkOpenOrders(
  { book, pace, service }: Pick<Installation, 'book' | 'pace' | 'service'>,
  config: Pick<Config, 'service' | 'streams'>,
  now: number,
): Finding[] {
  if (book === null || config.streams.off.includes('orders')) return [];
  const limit = limitOf(config, pace, now);
  const demand = bookDemand(book, config);
  const text = describeBook(book, limit);
  const advice =
    'name the days of the delivery windows (season_windows in settings.yaml), raise ' +
    'streams.orders.freshness or calmFreshness, or have the service allow more requests';
  const needs = `${text}; looks in time need ${demand}/s`;
  if (demand > limit) return [bad('open orders', `the limit cannot carry them: ${needs}`, advice)];
  if (demand > limit * SWEEPS_SHARE_MAX) return [odd('open orders', needs, advice)];
  const late = overdueLooks(book, config);
  if (late !== undefined) {
    const text = [late, absent(service, 'V1')].filter((one) => one !== undefined).join(': ');
    return [odd('open orders', text, 'selvedge sync show orders says why')];
  }
  return [fine('open orders', text)];
}
