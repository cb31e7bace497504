/** The rules in force for pages: owners and titles of rules, their tests, the time zone. */

import { type OwnersOfRules, ownersOf } from '../decisions/review/filter.ts';
import type { LoadedRuleSet } from '../decisions/rule-files.ts';
import { RULES_IN_FORCE } from '../decisions/rule-keeper.ts';
import { ruleSetInForce } from '../decisions/simulation/rule-sets.ts';
import { ConfigError, RefusedError } from '../lib/errors.ts';
import { runRuleTests, type TestReport } from '../rules/testing.ts';
import { readState } from '../store/state.ts';
import type { Db } from '../store/store.ts';

export interface RulesShown {
  readonly hash: string | undefined;
  readonly owners: OwnersOfRules;
  readonly titles: ReadonlyMap<string, string>;
  readonly timeZone: string;
  /** Rule set in force; undefined: none yet, or unreadable for this version. */
  readonly inForce: LoadedRuleSet | undefined;
  /** Error because of which the rule set cannot be read; undefined: none. */
  readonly unreadable: string | undefined;
  /** Runs the tests of the rules on the first call, and remembers the report. */
  readonly tests: () => TestReport | undefined;
}

export type ReadRules = () => Promise<RulesShown>;

const NOTHING = {
  owners: new Map(),
  titles: new Map(),
  timeZone: 'UTC',
  inForce: undefined,
  unreadable: undefined,
  tests: () => undefined,
};

function testsOnce({ ruleSet }: LoadedRuleSet): () => TestReport {
  let report: TestReport | undefined;
  return () => {
    report ??= runRuleTests(ruleSet);
    return report;
  };
}

/**
 * Rule set in force; undefined: none yet.
 * @throws RefusedError `rules.unreadable`
 */
export async function inForceOf(rulesShown: ReadRules): Promise<LoadedRuleSet | undefined> {
  const { inForce, unreadable } = await rulesShown();
  if (unreadable === undefined) return inForce;
  throw new RefusedError('rules.unreadable', unreadable, { hint: 'selvedge rules check' });
}

/** Creates the reader of the rules in force, which reads each rule set once. */
export function createRulesShown(db: Db): ReadRules {
  let known: RulesShown = { hash: undefined, ...NOTHING };
  return async () => {
    const hash = await readState(db, RULES_IN_FORCE);
    if (hash === undefined || hash === known.hash) return known;
    try {
      const inForce = await ruleSetInForce(db);
      const { rules, settings } = inForce.ruleSet;
      known = {
        hash,
        owners: ownersOf(rules),
        titles: new Map(rules.map(({ id, title }) => [id, title ?? id])),
        timeZone: settings.timezone,
        inForce,
        unreadable: undefined,
        tests: testsOnce(inForce),
      };
    } catch (thrown) {
      // Rules that another version of the program stored may be unreadable; pages then show ids in
      // place of titles.
      if (!(thrown instanceof ConfigError)) throw thrown;
      known = { hash, ...NOTHING, unreadable: thrown.message };
    }
    return known;
  };
}
