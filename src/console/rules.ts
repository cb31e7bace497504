/** The rules in force, for pages: who owns which rule, what it is called, and the time zone. */

import { RULES_IN_FORCE } from '../decisions/rule-keeper.ts';
import { storedRuleSet } from '../decisions/simulation/rule-sets.ts';
import { ConfigError } from '../lib/errors.ts';
import { readState } from '../store/state.ts';
import type { Db } from '../store/store.ts';
import type { OwnersOfRules } from './filter.ts';

export interface RulesShown {
  readonly hash: string | undefined;
  readonly owners: OwnersOfRules;
  readonly titles: ReadonlyMap<string, string>;
  readonly timeZone: string;
}

export type ReadRules = () => Promise<RulesShown>;

const NOTHING = { owners: new Map(), titles: new Map(), timeZone: 'UTC' };

/** Reads them once for each rule set. */
export function createRulesShown(db: Db): ReadRules {
  let known: RulesShown = { hash: undefined, ...NOTHING };
  return async () => {
    const hash = await readState(db, RULES_IN_FORCE);
    if (hash === undefined || hash === known.hash) return known;
    try {
      const { rules, settings } = await storedRuleSet(db, hash);
      const owned = rules.flatMap(({ id, owner }) => (owner === undefined ? [] : [{ id, owner }]));
      const byOwner = Map.groupBy(owned, ({ owner }) => owner);
      known = {
        hash,
        owners: new Map([...byOwner].map(([owner, of]) => [owner, of.map(({ id }) => id)])),
        titles: new Map(rules.map(({ id, title }) => [id, title ?? id])),
        timeZone: settings.timezone,
      };
    } catch (thrown) {
      // Rules of another version: the pages do without their names.
      if (!(thrown instanceof ConfigError)) throw thrown;
      known = { hash, ...NOTHING };
    }
    return known;
  };
}
