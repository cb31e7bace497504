/**
 * Costs of a second machine for the first, and how soon it goes on in its place; needs Debian's
 * PostgreSQL, of which it starts a primary with a synchronous replica.
 *
 * `node bench/standby.ts [--only sides|permits|take-over|size]... [--rounds 3] [--deliveries 60]
 *   [--seconds 10] [--idle 60] [--permits 500] [--variants 1000000] [--rows 500000]`
 *
 * - `sides`: accepts, events and idling, with a standby and without, by turns (medians)
 * - `permits`: asked for one after the other
 * - `take-over`: of a holder that is killed, until the other machine decides
 * - `size`: a take-over of a large mirror with a long day behind its backup
 */
import { mkdtempSync, rmSync } from 'node:fs';
import { loadavg, tmpdir } from 'node:os';
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import { initStandby } from '../test/standby/support.ts';
import { type Postgres, postgresPrograms, startPostgres } from '../test/support/postgres.ts';
import { higher, lower, tell } from './support/figures.ts';
import { cell, median, report, table } from './support/results.ts';
import { measurePermits } from './support/standby-permits.ts';
import { measureSide, type SideFigures } from './support/standby-sides.ts';
import { measureSize } from './support/standby-size.ts';
import { measureTakeOver } from './support/standby-take-over.ts';

const { values } = parseArgs({
  options: {
    only: { type: 'string', multiple: true, default: ['sides', 'permits', 'take-over', 'size'] },
    rounds: { type: 'string', default: '3' },
    deliveries: { type: 'string', default: '60' },
    seconds: { type: 'string', default: '10' },
    idle: { type: 'string', default: '60' },
    permits: { type: 'string', default: '500' },
    variants: { type: 'string', default: '1000000' },
    rows: { type: 'string', default: '500000' },
  },
});
if (postgresPrograms() === undefined) {
  console.log('no PostgreSQL is installed: nothing measured');
  process.exit();
}
const ROUNDS = Number(values.rounds);
const LEASE_SECONDS = 15;
const GOAL = {
  permitP50Ms: 3,
  permitP99Ms: 25,
  eventP99Ms: 150,
  accepts: 0.8,
  cpu: 1.2,
  takeOverSeconds: LEASE_SECONDS + 10,
  /** A machine that waits takes a lease that rests for longer, and the unit has no more memory. */
  unrenewedSeconds: LEASE_SECONDS,
  peakMiB: 512,
};

const lines: string[][] = [];

/** Takes a figure into the table; NaN as a goal: it is told, and has none. */
function note(name: string, value: number, goal: number, better: 'lower' | 'higher'): void {
  const isHeld = !(better === 'lower' ? value > goal : value < goal);
  lines.push([name, cell(value, 2), cell(goal, 1), isHeld ? '' : 'missed']);
  tell((better === 'lower' ? lower : higher)(name, value));
  if (!isHeld) process.exitCode = 1;
}

function shareOf(values: readonly number[], share: number): number {
  const sorted = values.toSorted((a, b) => a - b);
  return sorted[Math.floor((sorted.length - 1) * share)] ?? Number.NaN;
}

let databases = 0;

async function newDatabase(postgres: Postgres): Promise<string> {
  databases += 1;
  const name = `bench${databases}`;
  postgres.sql(`create database ${name}`);
  const url = postgres.url(name);
  await initStandby(url);
  return url;
}

type Side = 'without' | 'with';

async function measureSides(postgres: Postgres): Promise<void> {
  const load = {
    deliveries: Number(values.deliveries),
    seconds: Number(values.seconds),
    eventsPerSecond: 500,
    idleSeconds: Number(values.idle),
  };
  const measured: Record<Side, SideFigures[]> = { without: [], with: [] };
  for (let round = 1; round <= ROUNDS; round += 1) {
    // Whoever goes first may have a quieter or a colder machine.
    const order: readonly Side[] = round % 2 === 1 ? ['without', 'with'] : ['with', 'without'];
    for (const side of order) {
      const database = side === 'with' ? () => newDatabase(postgres) : undefined;
      const figures = await measureSide(load, database);
      measured[side].push(figures);
      const [oneMinute = 0] = loadavg();
      console.log(`round ${round}, ${side}, load ${oneMinute.toFixed(1)}`, figures);
    }
  }
  const of = (side: Side, name: keyof SideFigures): number =>
    median(measured[side].map((figures) => figures[name]));
  const ratio = (name: keyof SideFigures): number => of('with', name) / of('without', name);
  const both = (name: keyof SideFigures): string =>
    `${cell(of('without', name), 2)} → ${cell(of('with', name), 2)}`;
  const named = (what: string, name: keyof SideFigures): string => `${what} (${both(name)})`;
  note(
    named('accepts/s, ×', 'acceptsPerSecond'),
    ratio('acceptsPerSecond'),
    GOAL.accepts,
    'higher',
  );
  note(named('CPU of an accept, ms, ×', 'acceptCpuMs'), ratio('acceptCpuMs'), GOAL.cpu, 'lower');
  note(named('CPU of an event, ms, ×', 'eventCpuMs'), ratio('eventCpuMs'), Number.NaN, 'lower');
  note(named('CPU while idle, % of a core, ×', 'idleShare'), ratio('idleShare'), GOAL.cpu, 'lower');
  const p50 = named('event at 500/s, p50 ms', 'eventP50Ms');
  note(p50, of('with', 'eventP50Ms'), Number.NaN, 'lower');
  const p99 = named('event at 500/s, p99 ms', 'eventP99Ms');
  note(p99, of('with', 'eventP99Ms'), GOAL.eventP99Ms, 'lower');
  note('events not acknowledged', of('with', 'eventsFailed'), 0, 'lower');
}

async function measureAllPermits(postgres: Postgres): Promise<void> {
  const p50: number[] = [];
  const p99: number[] = [];
  for (let round = 1; round <= ROUNDS; round += 1) {
    const folder = mkdtempSync(join(tmpdir(), 'selvedge-bench-'));
    const url = await newDatabase(postgres);
    const took = await measurePermits(join(folder, 'mirror.db'), url, Number(values.permits));
    rmSync(folder, { recursive: true, force: true });
    p50.push(shareOf(took, 0.5));
    p99.push(shareOf(took, 0.99));
  }
  console.log('permits, p50 and p99 of each round', p50, p99);
  note('permit, p50 ms', median(p50), GOAL.permitP50Ms, 'lower');
  note('permit, p99 ms', median(p99), GOAL.permitP99Ms, 'lower');
}

async function measureTakeOvers(postgres: Postgres): Promise<void> {
  const url = await newDatabase(postgres);
  const took = await measureTakeOver(url, { deliveries: Number(values.deliveries) });
  const { leaseSeconds, restoreSeconds, startSeconds, pullSeconds, decideSeconds } = took;
  const decides = leaseSeconds + startSeconds + decideSeconds;
  note('killed until it decides, s', decides, GOAL.takeOverSeconds, 'lower');
  note('- until the lease is taken, s', leaseSeconds, Number.NaN, 'lower');
  note('- start of the daemon, s', startSeconds, Number.NaN, 'lower');
  note('- first accept at the service, s', decideSeconds, Number.NaN, 'lower');
  note('besides: backup and record, s', restoreSeconds, Number.NaN, 'lower');
  note('besides: full pulls, s', pullSeconds, Number.NaN, 'lower');
}

async function measureLargeTakeOver(postgres: Postgres): Promise<void> {
  const variants = Number(values.variants);
  const size = { variants, orders: variants / 5, rows: Number(values.rows) };
  const large = await measureSize(await newDatabase(postgres), size);
  const { mirrorMiB, rows, sentPerSecond, takeOverSeconds, unrenewedSeconds, peakMiB } = large;
  const of = `of ${mirrorMiB.toFixed(0)} MiB with ${rows} rows`;
  note(`take-over ${of}: backup and record, s`, takeOverSeconds, Number.NaN, 'lower');
  note('- longest rest of the lease, s', unrenewedSeconds, GOAL.unrenewedSeconds, 'lower');
  note('- memory, MiB', peakMiB, GOAL.peakMiB, 'lower');
  note('rows of a backlog that the holder sends, 1/s', sentPerSecond, Number.NaN, 'higher');
}

const primary = await startPostgres({ settings: { max_wal_size: '4GB' } });
const replica = await startPostgres({ of: primary });
primary.sql("alter system set synchronous_standby_names = 'walreceiver'");
primary.sql('select pg_reload_conf()');
if (values.only.includes('sides')) await measureSides(primary);
if (values.only.includes('permits')) await measureAllPermits(primary);
if (values.only.includes('take-over')) await measureTakeOvers(primary);
if (values.only.includes('size')) await measureLargeTakeOver(primary);
const [oneMinute = 0] = loadavg();
const intro = [
  `Medians of ${ROUNDS} alternating rounds without a standby and with one: a primary and a`,
  `synchronous replica on this machine, which also count against what the daemon has left; lease`,
  `${LEASE_SECONDS} s. The load of the machine was ${oneMinute.toFixed(1)} at the end.`,
].join(' ');
report('Standby', `${intro}\n\n${table(['', 'measured', 'goal', ''], lines)}`);
await replica.remove();
await primary.remove();
