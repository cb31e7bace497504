import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { tripBreaker } from '../../../src/decisions/reject/breaker.ts';
import { loadRuleSet } from '../../../src/decisions/rule-files.ts';
import type { CliHouse } from '../../cli/house.ts';
import type { Examples } from '../examples.ts';

/** Matches no delivery of the house, and is ready to be armed but for a backtest. */
const READY = 'reject-never';
/** Matches all deliveries of the house, and only watches. */
const WATCHING = 'reject-watching';

const RULES = `rules:
  - id: ${READY}
    title: More than there is
    action: reject
    mode: live
    when: [ delivery.quantity > 1000000 ]
    tests:
      - { name: many, given: { delivery: { quantity: 1000001 } }, expect: reject }
      - { name: few, given: { delivery: { quantity: 1 } }, expect: none }
  - id: ${WATCHING}
    title: Everything
    action: reject
    mode: shadow
    when: [ delivery.quantity > 0 ]
`;
const SETTINGS = 'version: 1\nmode: live\nsafeguards: { reject: { matches_seen: 0 } }\n';

/** Puts the rules of these examples in force, and gives the hash of one. */
async function hashOf({ rulesFolder, call }: CliHouse, rule: string): Promise<string> {
  writeFileSync(join(rulesFolder, 'examples.yaml'), RULES);
  writeFileSync(join(rulesFolder, 'settings.yaml'), SETTINGS);
  await call('rules', 'reload', '--yes');
  const { rules } = loadRuleSet(rulesFolder).ruleSet;
  return rules.find(({ id }) => id === rule)?.hash ?? '';
}

async function keepBacktest({ daemon }: CliHouse, hash: string): Promise<void> {
  await daemon.store.db
    .insertInto('backtest_report')
    .values({
      actor: 'tester',
      at: 1,
      since: 0,
      until: 1,
      deliveries: 1,
      rule_set_hash: hash,
      rules: JSON.stringify({ [READY]: hash }),
      report: JSON.stringify({ notKnown: { deliveries: 0 } }),
    })
    .execute();
}

const MATCH = 'match-of-the-example';

/** Puts a decision into the journal in which the rule with this hash matched. */
async function matchOf({ daemon }: CliHouse, hash: string): Promise<number> {
  const { db } = daemon.store;
  const earlier = db.selectFrom('decision').select('decision_id').where('hash', '=', MATCH);
  const found = await earlier.executeTakeFirst();
  if (found) return found.decision_id;
  const { decision_id: decisionId } = await db
    .insertInto('decision')
    .values({
      order_delivery_id: 1,
      order_id: 1,
      at: 1,
      trigger: 'change',
      actor: 'daemon',
      rule_set_hash: 'of-the-example',
      facts_digest: '',
      mode: 'live',
      outcome: 'hold',
      reason: '',
      rules: '[]',
      shadow: '[]',
      said: 'hold',
      matched: JSON.stringify([hash]),
      lapsed: '[]',
      evaluation: Buffer.from(''),
      previous_hash: '',
      hash: MATCH,
    })
    .returning('decision_id')
    .executeTakeFirstOrThrow();
  return decisionId;
}

async function readyRule(house: CliHouse) {
  await keepBacktest(house, await hashOf(house, READY));
  return { rule: READY };
}

const NOWHERE = { given: { rule: 'nowhere' }, code: 'rules.no_reject_rule' };

export const ruleExamples: Examples = {
  'rules.reload': {
    async given(house) {
      await hashOf(house, READY);
      return {};
    },
  },
  'rules.arm': {
    given: async (house) => ({ ...(await readyRule(house)), days: 30 }),
    nothing: NOWHERE,
  },
  'rules.disarm': {
    async given(house) {
      const { rule } = await readyRule(house);
      await house.call('rules', 'arm', rule, '--reason', 'for the next door');
      return { rule };
    },
    nothing: NOWHERE,
    again: 'rules.not_armed',
  },
  'rules.seen': {
    given: async (house) => ({
      rule: WATCHING,
      decisionId: await matchOf(house, await hashOf(house, WATCHING)),
    }),
    nothing: { given: { rule: 'nowhere', decisionId: 1 }, code: 'rules.no_reject_rule' },
  },
  'rules.resume': {
    async given({ daemon }) {
      const tripped = { at: 1, safeguard: 'max_per_day', detail: 'for the next door' };
      await daemon.store.transaction((tx) => tripBreaker(tx, tripped));
      return {};
    },
    again: 'rules.breaker_whole',
  },
};
