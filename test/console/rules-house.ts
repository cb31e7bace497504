/** A house whose rules hold everything, with a reject rule that is not armed yet. */
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { z } from 'zod';
import { until } from '../support/house.ts';
import type { AtEnd } from '../support/store.ts';
import { type Caller, type ConsoleHouse, startConsole } from './support.ts';

export const REJECT_RULE = `  - id: reject-many
    title: Too many pieces
    action: reject
    mode: live
    owner: sales
    when:
      - delivery.quantity > 0
      - order.country != "AQ"
    reject: { grace: 24h }
    tests:
      - { name: one piece, given: { delivery: { quantity: 1 } }, expect: reject }
      - { name: none, given: { delivery: { quantity: 0 } }, expect: none }
      - { name: ice, given: { delivery: { quantity: 1 }, order: { country: AQ } }, expect: none }
`;

export const HOLD_RULE = `  - id: hold-all
    title: Somebody looks at each delivery
    action: hold
    mode: live
    owner: sales
    when:
      - delivery.quantity > 0
`;

/** The same under another name: nothing is missing but the backtest. */
export const READY = 'reject-ready';
export const READY_RULE = REJECT_RULE.replace('reject-many', READY);

/** Settings are beside the rules, and in force from a reload on. */
export function writeSettings({ config }: ConsoleHouse, matches = 2): void {
  const settings = `version: 1
mode: live
safeguards:
  reject: { matches_seen: ${matches} }
`;
  writeFileSync(join(config.rules.directory, 'settings.yaml'), settings);
}

export function startRulesHouse(atEnd: AtEnd): Promise<ConsoleHouse> {
  return startConsole({ held: 3, rules: `rules:\n${HOLD_RULE}${REJECT_RULE}`, atEnd });
}

/** Has the rules in force tried, or others, and gives the id once that is over. */
export async function trialOf(who: Caller, body: object = {}): Promise<string> {
  const { json } = await who.json('/rules/trial', body);
  const { trial } = z.object({ trial: z.string() }).parse(json);
  return until('the end of a trial', async () => {
    const found = (await who.get(`/rules/trial/${trial}.json`)).json;
    const { state } = z.looseObject({ state: z.string() }).parse(found);
    return state === 'running' ? undefined : trial;
  });
}
