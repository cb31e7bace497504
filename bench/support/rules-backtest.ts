/**
 * Backtests of the journal that bench/rules.ts has written: 20 rules against the journal, and
 * against 10 rules. Its request is the database and the number of its deliveries.
 */
import { readFileSync } from 'node:fs';
import { backtest } from '../../src/decisions/simulation/backtest.ts';
import { systemClock } from '../../src/lib/clock.ts';
import { openStore } from '../../src/store/store.ts';
import { loadExamples } from './example-rules.ts';
import { type Figure, lower } from './figures.ts';

export interface BacktestLine {
  readonly text: string;
  readonly figure?: Figure;
}

function say(line: BacktestLine): void {
  process.stdout.write(`${JSON.stringify(line)}\n`);
}

interface Request {
  readonly path: string;
  readonly deliveries: number;
}

const { path, deliveries }: Request = JSON.parse(readFileSync(0, 'utf8'));
const { store } = await openStore({ path, busyTimeoutMs: 5_000 }, systemClock());
const rules = loadExamples(20);
say({ text: `backtest of ${deliveries} deliveries x 20 rules, from the database:` });
for (const against of [undefined, loadExamples(10)]) {
  const [from, cpu] = [performance.now(), process.cpuUsage()];
  const period = { since: 0, until: deliveries + 1 };
  const report = await backtest(store.db, period, { rules, against });
  const seconds = ((performance.now() - from) / 1_000).toFixed(1);
  const { user, system } = process.cpuUsage(cpu);
  const own = `of the processor's own time ${((user + system) / 1_000_000).toFixed(1)} s`;
  const kinds = report.agreement.map(({ outcome, deliveries: of }) => `${outcome} ${of}`);
  const other = against ? '10 rules' : 'the journal';
  const figure = lower(`backtest against ${other}, CPU s`, (user + system) / 1e6);
  say({ text: `  against ${other}: ${seconds} s, ${own}`, figure });
  say({ text: `  ${kinds.join(', ')}; ${report.changes.length} kinds of change` });
}
const mostMb = process.resourceUsage().maxRSS / 1_024;
const most = lower('most memory of the backtests, MB', mostMb);
say({ text: `most memory: ${Math.round(mostMb)} MB`, figure: most });
await store.close();
