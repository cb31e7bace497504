/**
 * Compares what a backtest finds out of facts that were not gathered with a run beside it that had
 * gathered them: every fact, and the outcome of random rules, at each moment that both journaled.
 */

import { type DeliveryHistory, histories } from '../../../../src/decisions/simulation/history.ts';
import { createPastFacts } from '../../../../src/decisions/simulation/past/facts.ts';
import { type Random, seededRandom } from '../../../../src/lib/random.ts';
import { evaluate, possibleKinds } from '../../../../src/rules/evaluate.ts';
import { completeFacts } from '../../../../src/rules/facts/build.ts';
import type { Facts } from '../../../../src/rules/facts/plain.ts';
import type { RuleSet } from '../../../../src/rules/rule.ts';
import { rulesOf } from '../../../rules/support.ts';
import type { DeciderFixture } from '../../support.ts';
import { liveThrough, type Pair, SETTINGS, type Span } from './month.ts';

type Decision = DeliveryHistory['decisions'][number] & { readonly facts: Facts };

interface Moment {
  readonly decision: Decision;
  /** Deliveries that were accepted at the same time, and before it. */
  readonly before: string;
}

/** How each costly fact is asked about. */
const ASKED: Readonly<Record<string, readonly string[]>> = {
  'order.similar_within': ['< days(3)', '>= hours(20)'],
  'order.repeated_within': ['< days(2)', '>= hours(30)'],
  'customer.orders_before': ['< 3', '>= 6', '== 1'],
  'customer.first_order_at': ['< clock.now - days(5)', '> clock.now - days(1)'],
  'customer.refunds_90d': ['> 0', '<= 2'],
  'customer.accepted_today': ['> 0', '<= 2', '== 1'],
  'customer.amount_today': ['> 500', '<= 1500'],
  'today.accepted': ['> 3', '<= 9'],
  'today.amount': ['> 1000', '<= 4000'],
  'today.amount_base': ['> 2000', '<= 5000'],
  'delivery.weight': ['> 4000', '<= 9000'],
};
const PLAIN = ['delivery.quantity <= 20', 'order.currency == "DKK"', 'order.accepted_before > 0'];
const BARE = ['customer.amount_today', 'today.amount'];

function conditionOf(random: Random): string {
  const [path = '', limits = []] = random.pick(Object.entries(ASKED));
  if (random.chance(0.15)) return random.pick([`has(${path})`, `!has(${path})`]);
  if (random.chance(0.2)) return random.pick(PLAIN);
  const asked = `${path} ${random.pick(limits)}`;
  if (random.chance(0.2)) return `${asked} || ${random.pick(PLAIN)}`;
  return random.chance(0.1) ? `has(${path}) && ${asked}` : asked;
}

function randomRules(random: Random, count: number): RuleSet {
  const rules = Array.from({ length: count }, (_, at) => {
    const clauses = (least: number) =>
      Array.from({ length: random.int(least, 2) }, () => conditionOf(random));
    const [when, unless] = [clauses(1), clauses(0)];
    const isBare = [...when, ...unless].some((one) => BARE.some((path) => one.includes(path)));
    if (isBare) when.push('order.currency == "DKK"');
    const list = (conditions: readonly string[]) => conditions.map((one) => `'${one}'`).join(', ');
    const action = random.pick(['accept', 'accept', 'hold', 'reject']);
    const head = `  - { id: r-${at}, title: R, action: ${action}, mode: live`;
    return `${head}, when: [ ${list(when)} ], unless: [ ${list(unless)} ] }`;
  });
  return rulesOf(`rules:\n${rules.join('\n')}\n`, SETTINGS);
}

const ALL = rulesOf(
  `rules:\n  - id: all\n    title: All\n    action: hold\n    when:\n${[
    ...Object.keys(ASKED).map((path) => `has(${path})`),
    ...['weight', 'type', 'country_of_origin'].map(
      (name) => `delivery.lines.all(line, has(line.${name}))`,
    ),
  ]
    .map((condition) => `      - ${condition}\n`)
    .join('')}`,
  SETTINGS,
);

async function momentsOf({ store }: DeciderFixture, pair: Pair) {
  const all: (Decision & { readonly id: number })[] = [];
  for await (const { orderDeliveryId: id, decisions } of histories(store.db, pair)) {
    for (const { facts, ...one } of decisions) if (facts) all.push({ ...one, facts, id });
  }
  const sorted = all.sort((a, b) => a.decisionId - b.decisionId);
  return new Map(
    sorted.map((decision): [string, Moment] => {
      const same = sorted.filter(
        (one) =>
          one.at === decision.at &&
          one.decisionId < decision.decisionId &&
          one.outcome === 'accept',
      );
      const before = same.map((one) => one.id).sort((a, b) => a - b);
      return [`${decision.id} at ${decision.at}`, { decision, before: before.join(' ') }];
    }),
  );
}

function factText(facts: Facts, path: string): string {
  const value = path
    .split('.')
    .reduce<unknown>(
      (value, name) =>
        value !== null && typeof value === 'object' ? Reflect.get(value, name) : undefined,
      completeFacts(facts),
    );
  return JSON.stringify(value ?? null);
}

function linesOf({ delivery }: Facts): string {
  return JSON.stringify(
    delivery.lines.map(({ weight, type, country_of_origin: origin }) => [weight, type, origin]),
  );
}

export interface Figures {
  /** Moments that both runs journaled. */
  readonly moments: number;
  /** Moments that one of them journaled alone, or after another one of the same time. */
  readonly onlyFull: number;
  readonly onlyBare: number;
  readonly otherOrder: number;
  readonly facts: number;
  readonly factsNotKnown: number;
  readonly factsWithValue: number;
  readonly outcomes: number;
  readonly outcomesNotKnown: number;
  readonly kinds: Readonly<Record<string, number>>;
  readonly differences: readonly string[];
}

const RULES_PER_SET = 5;

export async function compareRuns(seed: number, span: Span, rules: number): Promise<Figures> {
  const pair = await liveThrough(seed, span);
  const random = seededRandom(seed);
  const sets = Array.from({ length: rules / RULES_PER_SET }, () =>
    randomRules(random, RULES_PER_SET),
  );
  const [bare, full] = [await momentsOf(pair.bare, pair), await momentsOf(pair.full, pair)];
  const past = await createPastFacts(pair.bare.store.db, pair, ALL);
  const counts = { moments: 0, onlyBare: 0, otherOrder: 0 };
  const told = { facts: 0, factsNotKnown: 0, factsWithValue: 0, outcomes: 0, outcomesNotKnown: 0 };
  const kinds: Record<string, number> = {};
  const differences: string[] = [];
  for (const [key, { decision, before }] of bare) {
    const other = full.get(key);
    if (!other) counts.onlyBare += 1;
    else if (other.before !== before) counts.otherOrder += 1;
    if (!other || other.before !== before) continue;
    counts.moments += 1;
    const { facts, open } = await past.of(decision);
    const had = other.decision.facts;
    for (const path of Object.keys(ASKED)) {
      told.facts += 1;
      if (open.has(path)) told.factsNotKnown += 1;
      else if (factText(had, path) !== 'null') told.factsWithValue += 1;
      if (open.has(path) || factText(facts, path) === factText(had, path)) continue;
      differences.push(`${key} ${path}: ${factText(facts, path)}, was ${factText(had, path)}`);
    }
    if (!open.has('delivery.lines.weight') && linesOf(facts) !== linesOf(had)) {
      differences.push(`${key} lines: ${linesOf(facts)}, was ${linesOf(had)}`);
    }
    for (const set of sets) {
      const armed = new Set(set.rules.map(({ id }) => id));
      const options = { armed, operands: false };
      const found = evaluate(set, facts, { ...options, notGathered: open });
      const possible = possibleKinds(set, facts, found, 'live');
      const { kind } = evaluate(set, had, options).live;
      told.outcomes += 1;
      kinds[kind] = (kinds[kind] ?? 0) + 1;
      if (possible.size > 1) told.outcomesNotKnown += 1;
      if (!possible.has(kind)) differences.push(`${key}: ${[...possible]}, was ${kind}`);
    }
  }
  const onlyFull = full.size - counts.moments - counts.otherOrder;
  return { ...counts, onlyFull, ...told, kinds, differences };
}
