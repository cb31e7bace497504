/** A house whose rules hold everything, with a reject rule that is not armed yet. */
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import type { AtEnd } from '../support/store.ts';
import { type ConsoleHouse, startConsole } from './support.ts';

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
      - { name: elsewhere, given: { delivery: { quantity: 1 }, order: { country: AQ } }, expect: none }
`;

export const HOLD_RULE = `  - id: hold-all
    title: Somebody looks at each delivery
    action: hold
    mode: live
    owner: sales
    when:
      - delivery.quantity > 0
`;

const SETTINGS = `version: 1
mode: live
safeguards:
  reject: { matches_seen: 2 }
`;

/** Settings are beside the rules, and in force from a reload on. */
export function writeSettings({ config }: ConsoleHouse): void {
  writeFileSync(join(config.rules.directory, 'settings.yaml'), SETTINGS);
}

export function startRulesHouse(atEnd: AtEnd): Promise<ConsoleHouse> {
  return startConsole({ held: 3, rules: `rules:\n${HOLD_RULE}${REJECT_RULE}`, atEnd });
}
