/** Translates the filter of a page's address into that of the review list. */
import type { ReviewFilter } from '../decisions/review/listing.ts';
import type { Session } from './access/sessions.ts';
import type { ReviewQuery } from './acts.ts';

/** Ids of rules by their owner. */
export type OwnersOfRules = ReadonlyMap<string, readonly string[]>;

const HOUR_MS = 3_600_000;

export function filterOf(
  { older, owner, ...query }: ReviewQuery,
  now: number,
  owners: OwnersOfRules,
  { seesAddresses }: Pick<Session, 'seesAddresses'>,
): ReviewFilter {
  return {
    ...query,
    isMasked: !seesAddresses,
    rules: owner === undefined ? undefined : (owners.get(owner) ?? []),
    packedBefore: older === undefined ? undefined : now - older * HOUR_MS,
  };
}
