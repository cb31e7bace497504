/**
 * Costs of the rules: loading a set, one evaluation, one journaled decision, and a backtest of
 * 10,000 deliveries with 40 lines each under 20 rules (all copies of the example rules), from the
 * facts stored in a real database (support/rules-backtest.ts).
 *
 * `node bench/rules.ts [deliveries]`; medians, the first, cold run beside them where it differs.
 */
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { performance } from 'node:perf_hooks';
import type { SqliteStore } from '../src/store/store.ts';
import { higher, lower, tell } from './support/figures.ts';
import type { BacktestLine } from './support/rules-backtest.ts';

const DELIVERIES = Number(process.argv[2] ?? 10_000);
const LINES = 40;
const ROUNDS = 30;

const started = performance.now();
const { loadExamples: load } = await import('./support/example-rules.ts');
const { evaluate } = await import('../src/rules/evaluate.ts');
const { factsOfTest } = await import('../src/rules/facts/typical.ts');
const { appendDecision } = await import('../src/decisions/journal.ts');
const { openStore } = await import('../src/store/store.ts');
const { runBeside } = await import('../src/lib/process/beside.ts');
const { systemClock } = await import('../src/lib/clock.ts');
console.log(`import               ${(performance.now() - started).toFixed(0)} ms`);

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
  tell(lower(`load ${count} rules, ms`, median));
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
    tell(higher(`${count} rules, ${kind.trim()}, deliveries/s`, 1_000 / median));
  }
}

const twenty = load(20);

/** Deliveries that differ in country, size, price and stock, as a real queue does. */
function factsOf(id: number) {
  const country = ['DK', 'SE', 'DE', 'NO'][id % 4];
  return factsOfTest({
    delivery: {
      id,
      number: `D-${id}`,
      lines: Array.from({ length: LINES }, (_, index) => ({
        barcode: `57${String(id * LINES + index).padStart(11, '0')}`,
        quantity: 1 + ((id + index) % 6),
        price: 20 + ((id * 7 + index) % 900),
        order_price: 20 + ((id * 7 + index) % (id % 9 === 0 ? 890 : 900)),
        stock_free: (id + index) % 50,
      })),
    },
    order: { country, season: id % 3 === 0 ? 'AW26' : null, preorder: id % 3 === 0 },
  });
}

/** The journal as the daemon writes it: snapshots, explained evaluations, the chain. */
async function journal(store: SqliteStore): Promise<void> {
  for (let first = 1; first <= DELIVERIES; first += 500) {
    await store.transaction(async (tx) => {
      for (let id = first; id < Math.min(first + 500, DELIVERIES + 1); id += 1) {
        const facts = factsOf(id);
        const evaluation = evaluate(twenty, facts);
        const { kind, reason, rules } = evaluation.live;
        await appendDecision(tx, {
          ...{ orderDeliveryId: id, orderId: id, at: id, trigger: 'new', actor: 'daemon' },
          ...{ ruleSetHash: twenty.hash, facts, mode: 'live', outcome: kind, reason, rules },
          ...{ shadow: evaluation.shadow, evaluation },
        });
      }
    });
  }
}

const journalFolder = mkdtempSync(join(tmpdir(), 'selvedge-bench-'));
const path = join(journalFolder, 'mirror.db');
const { store } = await openStore({ path, busyTimeoutMs: 5_000 }, systemClock());
const written = performance.now();
const writing = process.cpuUsage();
await journal(store);
const perDecision = (performance.now() - written) / DELIVERIES;
console.log(`journaled with 20 rules: ${perDecision.toFixed(2)} ms a decision`);
const writer = process.cpuUsage(writing);
tell(lower('journaled decision, CPU ms', (writer.user + writer.system) / 1_000 / DELIVERIES));

await store.close();
// In a process of its own, as a trial is, so that its memory is its own.
const MIB = 1_048_576;
const ending = await runBeside(
  {
    program: new URL('support/rules-backtest.ts', import.meta.url),
    request: { path, deliveries: DELIVERIES },
    timeMaxMs: 3_600_000,
    memoryBytesMax: 2_048 * MIB,
    heapMibMax: 384,
  },
  systemClock(),
  (line) => {
    const { text, figure }: BacktestLine = JSON.parse(line);
    console.log(text);
    if (figure) tell(figure);
  },
);
if (ending !== 'ended') throw new Error(`the backtests were ${ending}`);
rmSync(journalFolder, { recursive: true });
