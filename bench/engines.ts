/**
 * Rules alone, beside three engines that others use for this: json-rules-engine, zen-engine and the
 * CEL of bufbuild, installed for the benchmark in a temporary folder. All get the same 50 rules, by
 * the means that their manuals name, and the same deliveries as plain objects; all give the outcome
 * and the values behind each rule. Of the lines that decide a rule the others give the number, ours
 * names three of them as well. What ours says is what each of the others says, or it ends.
 *
 * `node bench/engines.ts [ms of CPU a round]`; medians of the rounds, in which all take turns.
 */
import { execFileSync } from 'node:child_process';
import { mkdtempSync, rmSync } from 'node:fs';
import { createRequire } from 'node:module';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { evaluate } from '../src/rules/evaluate.ts';
import type { Facts } from '../src/rules/facts/plain.ts';
import { factsOfTest } from '../src/rules/facts/typical.ts';
import { loadRules } from '../src/rules/load.ts';
import { conditionsOf, type EngineRule } from './support/engine-rules.ts';
import {
  bufbuildEngine,
  type Engine,
  jsonRulesEngine,
  type Row,
  zenEngine,
} from './support/engines.ts';
import { higher, tell } from './support/figures.ts';
import { median, report, table } from './support/results.ts';

const ROUND_MS = Number(process.argv[2] ?? 1_500);
const ROUNDS = 5;
const RULES = 50;
const LINES = 40;
const DELIVERIES = 200;
const PACKAGES = ['json-rules-engine@7.3.1', '@gorules/zen-engine@0.54.0', '@bufbuild/cel@0.6.1'];

const rules = conditionsOf(RULES);

function ownRules(all: readonly EngineRule[]) {
  const texts = all.map(({ id, action, when }) => {
    const conditions = when.map(({ own }) => `      - '${own}'\n`).join('');
    const head = `  - id: ${id}\n    title: R\n    action: ${action}\n    mode: live\n`;
    return `${head}    when:\n${conditions}`;
  });
  const loaded = loadRules([
    { path: 'settings.yaml', text: 'version: 1\n' },
    { path: 'rules.yaml', text: `rules:\n${texts.join('')}` },
  ]);
  if ('problems' in loaded) throw new Error(JSON.stringify(loaded.problems[0]));
  return loaded.ruleSet;
}

/** Deliveries that differ in country, size, price and stock, as a real queue does. */
function factsOf(id: number): Facts {
  return factsOfTest({
    delivery: {
      id,
      lines: Array.from({ length: LINES }, (_, index) => ({
        barcode: `57${String(id * LINES + index).padStart(11, '0')}`,
        quantity: 1 + ((id + index) % 6),
        price: 20 + ((id * 7 + index) % 900),
        order_price: 20 + ((id * 7 + index) % (id % 9 === 0 ? 890 : 900)),
        stock_free: id % 2 === 0 ? 90 : (id + index) % 50,
      })),
    },
    order: { country: ['DK', 'SE', 'DE', 'NO'][id % 4], preorder: id % 5 === 0 },
    customer: { blocked: id % 17 === 0 },
  });
}

const UNITS = 10_000;

/** The delivery with amounts and percentages as numbers, which the others calculate with. */
function rowOf({ delivery, order, customer }: Facts): Row {
  const amount = (units: number | null | undefined): number => (units ?? 0) / UNITS;
  return {
    delivery: {
      quantity: delivery.quantity ?? 0,
      amount: amount(delivery.amount),
      lines: delivery.lines.map((line) => ({
        barcode: line.barcode ?? '',
        quantity: line.quantity ?? 0,
        missing: line.missing ?? 0,
        price_diff_pct: Number(line.price_diff_pct ?? 0),
      })),
    },
    order: {
      country: order.country ?? '',
      currency: order.currency ?? '',
      preorder: order.preorder ?? false,
      freight_type: order.freight_type ?? '',
      quantity: order.quantity ?? 0,
      delivered_quantity: order.delivered_quantity ?? 0,
    },
    customer: {
      blocked: customer?.blocked ?? false,
      overdue_days: customer?.credit?.overdue_days ?? 0,
      headroom: amount(customer?.credit?.headroom),
    },
  };
}

const facts = Array.from({ length: DELIVERIES }, (_, id) => factsOf(id));
const rows = facts.map(rowOf);

const ruleSet = ownRules(rules);
const own: Engine = {
  name: 'here',
  judge: (at) => {
    const one = facts[at];
    if (!one) throw new Error(`there is no delivery ${at}`);
    const { live, rules: results } = evaluate(ruleSet, one);
    const matched = results.filter(({ value }) => value === true).map(({ id }) => id);
    return { outcome: live.kind, matched, values: results };
  },
};

/** Ends the run where an engine says something else than ours. */
async function compareAll(engines: readonly Engine[]): Promise<void> {
  for (let at = 0; at < rows.length; at += 1) {
    const { outcome, matched } = await own.judge(at);
    for (const { name, judge } of engines) {
      const other = await judge(at);
      const same = [outcome, ...matched].join() === [other.outcome, ...other.matched].join();
      if (!same) {
        const theirs = `${other.outcome} ${other.matched.join()}`;
        throw new Error(
          `${name} says of delivery ${at} ${theirs}, not ${outcome} ${matched.join()}`,
        );
      }
    }
  }
}

/** Deliveries for each second of CPU. */
async function rateOf({ judge }: Engine): Promise<number> {
  const before = process.cpuUsage();
  let [count, spent] = [0, 0];
  while (spent < ROUND_MS * 1_000) {
    for (let more = 0; more < 20; more += 1) {
      const answer = judge(count % rows.length);
      if (answer instanceof Promise) await answer;
      count += 1;
    }
    const { user, system } = process.cpuUsage(before);
    spent = user + system;
  }
  return (count / spent) * 1e6;
}

const folder = mkdtempSync(join(tmpdir(), 'selvedge-engines-'));
try {
  const flags = ['--no-audit', '--no-fund', '--ignore-scripts', '--no-save', '--silent'];
  execFileSync('npm', ['install', '--prefix', folder, ...flags, ...PACKAGES], { stdio: 'inherit' });
  const load = createRequire(join(folder, 'index.js'));
  const others = [
    jsonRulesEngine(load('json-rules-engine'), rules, rows),
    zenEngine(load('@gorules/zen-engine'), rules, rows),
    bufbuildEngine(load('@bufbuild/cel'), rules, rows),
  ];
  await compareAll(others);
  const engines = [own, ...others];
  const rates = new Map<string, number[]>(engines.map(({ name }) => [name, []]));
  for (let round = 0; round <= ROUNDS; round += 1) {
    for (const engine of engines) {
      const rate = await rateOf(engine);
      if (round > 0) rates.get(engine.name)?.push(rate);
    }
  }
  const ours = median(rates.get(own.name) ?? []);
  const lines = engines.map(({ name }) => {
    const rate = median(rates.get(name) ?? []);
    tell(higher(`${name}, deliveries a CPU s`, rate));
    return [name, rate.toFixed(0), (ours / rate).toFixed(1)];
  });
  const text =
    `${RULES} rules on ${DELIVERIES} deliveries of ${LINES} lines, outcome and values of each ` +
    `rule. Medians of ${ROUNDS} rounds by turns.\n\n`;
  report(
    'Rules beside other engines',
    text + table(['', 'deliveries a CPU s', 'here ÷ this'], lines),
  );
} finally {
  rmSync(folder, { recursive: true, force: true });
}
