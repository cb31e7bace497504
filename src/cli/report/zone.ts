/** Finds the time zone of times that people read in reports. */
import type { Config } from '../../config/schema.ts';
import { loadRuleSet } from '../../decisions/rule-files.ts';
import { SelvedgeError } from '../../lib/errors.ts';

/** Time zone of the console, else of the rules, else UTC. */
export function timeZoneOf({ console: { timeZone }, rules }: Config): string {
  if (timeZone !== null) return timeZone;
  try {
    return loadRuleSet(rules.directory).ruleSet.settings.timezone;
  } catch (thrown) {
    // Invalid rules do not prevent a report.
    if (thrown instanceof SelvedgeError) return 'UTC';
    throw thrown;
  }
}
