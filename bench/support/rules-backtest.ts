/**
 * Backtests of the journal that bench/rules.ts has written: 20 rules against the journal, and
 * against 10 rules. Arguments: the database, and the number of its deliveries.
 */
import { backtest } from '../../src/decisions/simulation/backtest.ts';
import { systemClock } from '../../src/lib/clock.ts';
import { openStore } from '../../src/store/store.ts';
import { loadExamples } from './example-rules.ts';
import { lower, tell } from './figures.ts';

const [path = '', deliveries = ''] = process.argv.slice(2);
const { store } = await openStore({ path, busyTimeoutMs: 5_000 }, systemClock());
const rules = loadExamples(20);
console.log(`backtest of ${deliveries} deliveries x 20 rules, from the database:`);
for (const against of [undefined, loadExamples(10)]) {
  const [from, cpu] = [performance.now(), process.cpuUsage()];
  const period = { since: 0, until: Number(deliveries) + 1 };
  const report = await backtest(store.db, period, { rules, against });
  const seconds = ((performance.now() - from) / 1_000).toFixed(1);
  const { user, system } = process.cpuUsage(cpu);
  const own = `of the processor's own time ${((user + system) / 1_000_000).toFixed(1)} s`;
  const kinds = report.agreement.map(({ outcome, deliveries: of }) => `${outcome} ${of}`);
  const other = against ? '10 rules' : 'the journal';
  console.log(`  against ${other}: ${seconds} s, ${own}`);
  tell(lower(`backtest against ${other}, CPU s`, (user + system) / 1e6));
  console.log(`  ${kinds.join(', ')}; ${report.changes.length} kinds of change`);
}
const mostMb = process.resourceUsage().maxRSS / 1_024;
console.log(`most memory: ${Math.round(mostMb)} MB`);
tell(lower('most memory of the backtests, MB', mostMb));
await store.close();
