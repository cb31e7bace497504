/** `selvedge sync list` and `sync show`: show streams and their runs. */
import { Command } from 'commander';
import { streamsNotAtLevel } from '../../config/level.ts';
import { pulledStreams } from '../../config/streams.ts';
import { systemClock } from '../../lib/clock.ts';
import { RefusedError } from '../../lib/errors.ts';
import { visible } from '../../lib/strings.ts';
import { formatDuration } from '../../lib/units.ts';
import { describeDrift, driftOfStream, type EntityDrift } from '../../sync/drift.ts';
import { unknownStream } from '../../sync/operations.ts';
import { findRuns, listStreams, type RunOverview, readRun } from '../../sync/overview.ts';
import { type AcceptedCounts, acceptedCounts, describeDifferences } from '../../sync/run/counts.ts';
import { wholeNumber } from '../arguments.ts';
import { type CliContext, examples } from '../command.ts';
import type { Output } from '../output.ts';
import { withMirror } from '../reading.ts';

interface Options {
  readonly limit: number;
  readonly json?: boolean;
}

/** Maximum of runs shown: more than anybody reads. Programs ask the database. */
const LIMIT_MAX = 10_000;

function ago(now: number, at: number | null): string {
  return at === null ? 'never' : `${formatDuration(Math.max(0, now - at))} ago`;
}

/** Shows how old a stream's data may get, and whether it is older. */
function target(freshnessMs: number | null, stale: boolean): string {
  if (freshnessMs === null) return '-';
  return stale ? `${formatDuration(freshnessMs)} STALE` : formatDuration(freshnessMs);
}

export function syncList(context: CliContext): Command {
  return new Command('list')
    .summary('show all streams')
    .description('When each stream was last complete, when it runs next, and what is wrong.')
    .option('--json', 'as JSON, with schedules and their next times')
    .addHelpText('after', examples([['sync list', 'for people']]))
    .action(async (options: Pick<Options, 'json'>, command: Command) => {
      const now = systemClock().now();
      const streams = await withMirror(command, context, (db, _store, config) =>
        listStreams(db, pulledStreams(config), now, streamsNotAtLevel(config), config.dataDir),
      );
      if (options.json === true) {
        context.output.json(streams);
        return;
      }
      const next = (stream: (typeof streams)[number]): string => {
        const { schedule, notAtLevel, paused, dueAt } = stream;
        if (notAtLevel !== null) return `not at level ${notAtLevel}`;
        if (schedule === null) return 'off';
        if (paused) return 'paused';
        return dueAt <= now ? 'now' : `in ${formatDuration(dueAt - now)}`;
      };
      context.output.table(
        ['STREAM', 'COMPLETE', 'TARGET', 'ROWS', 'LAST RUN', 'NEXT', 'LAST ERROR'],
        streams.map((one) => [
          one.stream,
          ago(now, one.completeAt),
          target(one.freshnessMs, one.stale),
          one.completeRows === null ? '-' : String(one.completeRows),
          one.lastOutcome === null ? '-' : `${one.lastRunId} ${one.lastOutcome}`,
          next(one),
          one.lastError ?? '',
        ]),
      );
    });
}

function printRuns(output: Output, runs: readonly RunOverview[]): void {
  const now = systemClock().now();
  output.table(
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
}

function driftLines(drift: EntityDrift): string[] {
  return describeDrift(drift).map((text) => `drift        ${visible(text)}`);
}

function shown(name: string, value: string | number | null): string {
  if (typeof value !== 'number') return value ?? '-';
  if (name.endsWith('At')) return new Date(value).toISOString();
  if (name === 'quarantined' && value > 0) return `${value}, see "selvedge report run quarantine"`;
  return name.endsWith('Ms') ? formatDuration(value) : String(value);
}

function acceptedLine({ off, by, reason, at }: AcceptedCounts): string {
  const who = `${by}, ${new Date(at).toISOString()}${reason === '' ? '' : `: ${reason}`}`;
  return `accepted     ${describeDifferences(off)} (${who})`;
}

async function showRun(
  context: CliContext,
  command: Command,
  runId: number,
  json: boolean,
): Promise<void> {
  const { run, drift, said } = await withMirror(command, context, async (db) => {
    const found = await readRun(db, runId);
    if (!found) throw new RefusedError('sync.unknown_run', `there is no run ${runId}`);
    const said = (await acceptedCounts(db, found.stream)) ?? null;
    return { run: found, said, drift: await driftOfStream(db, found.stream) };
  });
  const { output } = context;
  if (json) {
    output.json({ ...run, acceptedCounts: said, drift });
    return;
  }
  for (const [name, value] of Object.entries(run)) {
    output.line(`${name.padEnd(12)} ${shown(name, value)}`);
  }
  if (said) output.line(acceptedLine(said));
  for (const line of drift.flatMap(driftLines)) output.line(line);
}

export function syncShow(context: CliContext): Command {
  return new Command('show')
    .summary('show the latest runs of a stream, or one run in full')
    .description(
      'A run shows why it is suspicious or partial, and what its stream sends that the\n' +
        'contract does not know. Without an argument: the latest runs of all streams.',
    )
    .argument('[stream|run]', 'a stream, or the number of a run')
    .option('--limit <n>', 'how many runs at the most', wholeNumber(1, LIMIT_MAX), 20)
    .option('--json', 'as JSON')
    .addHelpText(
      'after',
      examples([
        ['sync show stock', 'the latest runs of the stock'],
        ['sync show 41', 'why it is suspicious'],
      ]),
    )
    .action(async (which: string | undefined, options: Options, command: Command) => {
      const json = options.json === true;
      if (which !== undefined && /^\d+$/.test(which)) {
        await showRun(context, command, Number(which), json);
        return;
      }
      const runs = await withMirror(command, context, (db, _store, { streams }) => {
        // Streams that are switched off are included, because they may have run before.
        const names = Object.keys(streams);
        if (which !== undefined && !names.includes(which)) throw unknownStream(which, names);
        return findRuns(db, { stream: which, limit: options.limit });
      });
      if (json) context.output.json(runs);
      else printRuns(context.output, runs);
    });
}
