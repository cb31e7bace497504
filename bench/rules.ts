/**
 * What the rules cost: loading a set, one evaluation, and a backtest of 10,000 deliveries with 40
 * lines each under 20 rules (all copies of the example rules).
 *
 * `node bench/rules.ts [deliveries]`; medians, the first, cold run beside them where it differs.
 */
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { performance } from 'node:perf_hooks';

const DELIVERIES = Number(process.argv[2] ?? 10_000);
const LINES = 40;
const ROUNDS = 30;
const folder = join(import.meta.dirname, '../config/rules');

const started = performance.now();
const { loadRules } = await import('../src/rules/load.ts');
const { evaluate } = await import('../src/rules/evaluate.ts');
const { factsOfTest } = await import('../src/rules/facts/typical.ts');
console.log(`import               ${(performance.now() - started).toFixed(0)} ms`);

const settings = {
  path: 'settings.yaml',
  text: readFileSync(join(folder, 'settings.yaml'), 'utf8'),
};
const [, ...examples] = readFileSync(join(folder, 'deliveries.yaml'), 'utf8').split('\n  - id: ');

function load(count: number) {
  const rules = Array.from({ length: count }, (_, index) => {
    return `\n  - id: r${index}-${examples[index % examples.length]}`;
  });
  const loaded = loadRules([settings, { path: 'rules.yaml', text: `rules:${rules.join('')}\n` }]);
  if ('problems' in loaded) throw new Error(loaded.problems[0]?.message);
  return loaded.ruleSet;
}

function measure(rounds: number, run: () => unknown): { cold: number; median: number } {
  const times: number[] = [];
  for (let round = 0; round <= rounds; round += 1) {
    const from = performance.now();
    run();
    times.push(performance.now() - from);
  }
  const [cold = 0, ...warm] = times;
  return { cold, median: warm.toSorted((a, b) => a - b)[warm.length >> 1] ?? cold };
}

for (const count of [5, 20, 50]) {
  const { cold, median } = measure(ROUNDS, () => load(count));
  const figures = `${median.toFixed(1)} ms, cold ${cold.toFixed(1)} ms`;
  console.log(`load ${String(count).padEnd(2)} rules        ${figures}`);
}

const facts = factsOfTest({
  delivery: {
    lines: Array.from({ length: LINES }, (_, index) => ({ barcode: `57000000${index}` })),
  },
});
for (const count of [5, 20, 50]) {
  const ruleSet = load(count);
  for (const operands of [true, false]) {
    const { median } = measure(500, () => evaluate(ruleSet, facts, { operands }));
    const rate = Math.round(1_000 / median).toLocaleString('en');
    const kind = operands ? 'with values' : 'bare       ';
    console.log(`${String(count).padEnd(2)} rules, ${kind} ${rate} deliveries/s`);
  }
}

const twenty = load(20);
const { cold: backtest } = measure(0, () => {
  for (let index = 0; index < DELIVERIES; index += 1) evaluate(twenty, facts, { operands: false });
});
console.log(
  `${DELIVERIES} deliveries x ${LINES} lines x 20 rules: ${(backtest / 1_000).toFixed(1)} s`,
);
