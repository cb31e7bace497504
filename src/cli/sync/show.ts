/** `selvedge sync show`: shows one run in full; other runs are the declared list. */
import { Command } from 'commander';
import { RefusedError } from '../../lib/errors.ts';
import { visible } from '../../lib/strings.ts';
import { formatDuration } from '../../lib/units.ts';
import { describeDrift, driftOfStream, type EntityDrift } from '../../sync/drift.ts';
import { readRun } from '../../sync/overview.ts';
import { type AcceptedCounts, acceptedCounts, describeDifferences } from '../../sync/run/counts.ts';
import { wholeNumber } from '../arguments.ts';
import { type CliContext, examples } from '../command.ts';
import { withMirror } from '../reading.ts';

interface Options {
  readonly limit: number;
  readonly json?: boolean;
}

/** Most runs that are shown: more than anybody reads. */
const RUNS_MAX = 10_000;

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
    .option('--limit <n>', 'how many runs at the most', wholeNumber(1, RUNS_MAX), 20)
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
      // The declared list is loaded late, because one run in full needs nothing of it.
      const { runs } = await import('../../sync/lists.ts');
      const { showRows } = await import('../surface-lists.ts');
      await showRows(command, context, runs, which === undefined ? {} : { stream: which });
    });
}
