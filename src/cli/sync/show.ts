/** `selvedge sync status`, `sync runs` and `sync show`: how the pulls are doing. */
import { Command } from 'commander';
import { systemClock } from '../../lib/clock.ts';
import { RefusedError } from '../../lib/errors.ts';
import { formatDuration } from '../../lib/units.ts';
import { driftOfStream, type EntityDrift } from '../../sync/drift.ts';
import { listRuns, listStreams, readRun } from '../../sync/overview.ts';
import { type CliContext, examples } from '../command.ts';
import { withMirror } from '../reading.ts';

interface Options {
  readonly limit: string;
  readonly json?: boolean;
}

/** More than anybody reads; programs ask the database. */
const LIMIT_MAX = 10_000;

function ago(now: number, at: number | null): string {
  return at === null ? 'never' : `${formatDuration(Math.max(0, now - at))} ago`;
}

export function syncStatus(context: CliContext): Command {
  return new Command('status')
    .summary('show the streams')
    .description('When each stream was last complete, when it runs next, and what is wrong.')
    .option('--json', 'as JSON')
    .addHelpText('after', examples([['sync status', 'for people']]))
    .action(async (options: Pick<Options, 'json'>, command: Command) => {
      const streams = await withMirror(command, context, listStreams);
      if (options.json === true) {
        context.output.json(streams);
        return;
      }
      const now = systemClock().now();
      const due = (at: number): string => (at <= now ? 'now' : `in ${formatDuration(at - now)}`);
      context.output.table(
        ['STREAM', 'COMPLETE', 'ROWS', 'LAST RUN', 'NEXT', 'ERROR'],
        streams.map((one) => [
          one.stream,
          ago(now, one.completeAt),
          one.completeRows === null ? '-' : String(one.completeRows),
          one.lastOutcome === null ? '-' : `${one.lastRunId} ${one.lastOutcome}`,
          one.paused ? 'paused' : due(one.dueAt),
          one.lastError ?? '',
        ]),
      );
    });
}

export function syncRuns(context: CliContext): Command {
  return new Command('runs')
    .summary('show the latest runs')
    .argument('[stream]', 'only of this stream')
    .option('--limit <n>', 'how many at the most', '20')
    .option('--json', 'as JSON')
    .addHelpText('after', examples([['sync runs stock', 'what the last pulls of the stock did']]))
    .action(async (stream: string | undefined, options: Options, command: Command) => {
      const limit = Math.min(LIMIT_MAX, Math.max(1, Number.parseInt(options.limit, 10) || 20));
      const runs = await withMirror(command, context, (db) => listRuns(db, stream, limit));
      if (options.json === true) {
        context.output.json(runs);
        return;
      }
      const now = systemClock().now();
      context.output.table(
        ['RUN', 'STREAM', 'STARTED', 'TOOK', 'OUTCOME', 'ROWS', 'CHANGED', 'DELETED', 'REASON'],
        runs.map((run) => [
          String(run.runId),
          run.stream,
          ago(now, run.startedAt),
          run.endedAt === null ? '-' : formatDuration(run.endedAt - run.startedAt),
          run.outcome,
          String(run.rows),
          String(run.changed),
          run.held > 0 ? `${run.deleted} (${run.held} held)` : String(run.deleted),
          run.reason ?? '',
        ]),
      );
    });
}

function driftLines({ entity, unknownMembers, newValues }: EntityDrift): string[] {
  const counted = Object.entries({ ...unknownMembers, ...newValues });
  return counted.map(([what, rows]) => `drift        ${entity}.${what} (${rows} rows)`);
}

export function syncShow(context: CliContext): Command {
  return new Command('show')
    .summary('show one run, and what its stream sends that nobody knows')
    .argument('<run>', 'the number of the run')
    .option('--json', 'as JSON')
    .addHelpText('after', examples([['sync show 41', 'why it is suspicious']]))
    .action(async (wanted: string, options: Pick<Options, 'json'>, command: Command) => {
      const { run, drift } = await withMirror(command, context, async (db) => {
        const found = await readRun(db, Number(wanted));
        if (!found) throw new RefusedError('sync.unknown_run', `there is no run ${wanted}`);
        return { run: found, drift: await driftOfStream(db, found.stream) };
      });
      if (options.json === true) {
        context.output.json({ ...run, drift });
        return;
      }
      for (const [name, value] of Object.entries(run)) {
        const isTime = name.endsWith('At') && typeof value === 'number';
        const shown = isTime ? new Date(value).toISOString() : String(value ?? '-');
        context.output.line(`${name.padEnd(12)} ${shown}`);
      }
      for (const line of drift.flatMap(driftLines)) context.output.line(line);
    });
}
