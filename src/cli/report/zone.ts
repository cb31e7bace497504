/** Zone of times that people read in reports. */
import type { Config } from '../../config/schema.ts';
import { loadRuleSet } from '../../decisions/rule-files.ts';
import { SelvedgeError } from '../../lib/errors.ts';

/** Zone of the console, else of the rules, else UTC. */
export function timeZoneOf({ console: { timeZone }, rules }: Config): string {
  if (timeZone !== null) return timeZone;
  try {
    return loadRuleSet(rules.directory).ruleSet.settings.timezone;
  } catch (thrown) {
    // Rules that are wrong are no reason to have no report.
    if (thrown instanceof SelvedgeError) return 'UTC';
    throw thrown;
  }
}
