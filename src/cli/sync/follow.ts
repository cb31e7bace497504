/** Shows the progress of a run: a bar on a terminal, a line every so many pages elsewhere. */
import type { Command } from 'commander';
import { systemClock } from '../../lib/clock.ts';
import { RetryLaterError } from '../../lib/errors.ts';
import { formatDuration } from '../../lib/units.ts';
import type { Db } from '../../store/store.ts';
import { type RunOverview, type RunProgress, readProgress } from '../../sync/overview.ts';
import type { CliContext } from '../command.ts';
import type { Output } from '../output.ts';
import { withMirror } from '../reading.ts';

const LOOK_MS = 250;
const BAR_CHARS = 24;

function bar(share: number): string {
  const done = Math.min(1, share);
  const full = Math.round(done * BAR_CHARS);
  const empty = BAR_CHARS - full;
  return `${'█'.repeat(full)}${'░'.repeat(empty)} ${Math.floor(done * 100)} %`;
}

function progressLine({ run, rowsBefore }: RunProgress, now: number): string {
  const share = rowsBefore ? `${bar(run.rows / rowsBefore)}  ` : '';
  const retries = run.retries > 0 ? `, ${run.retries} retries` : '';
  const took = formatDuration(Math.max(0, now - run.startedAt));
  return `${run.stream}  ${share}${run.rows} rows in ${run.pages} pages${retries}, ${took}`;
}

/** Makes a function that tells what is new since it was last called. */
function createTeller(output: Output, everyPages: number) {
  let toldPages = 0;
  let toldError: string | null = null;
  return (progress: RunProgress, now: number): void => {
    const { run, lastError } = progress;
    if (output.hasProgress) output.progress(progressLine(progress, now));
    else if (run.pages >= toldPages + everyPages) {
      toldPages = run.pages - (run.pages % everyPages);
      output.note(progressLine(progress, now));
    }
    if (run.outcome !== 'running' || lastError === toldError) return;
    toldError = lastError;
    if (lastError !== null) output.note(`${run.stream}: goes on later: ${lastError}`);
  };
}

async function follow(
  db: Db,
  output: Output,
  stream: string,
  everyPages: number,
): Promise<RunOverview> {
  const clock = systemClock();
  const tell = createTeller(output, everyPages);
  try {
    for (;;) {
      const now = clock.now();
      const { progress, isAlive } = await readProgress(db, stream, now);
      if (progress) tell(progress, now);
      if (progress && progress.run.outcome !== 'running') return progress.run;
      if (!isAlive) {
        throw new RetryLaterError('sync.daemon_gone', 'the daemon has stopped meanwhile', {
          hint: `the run goes on when it starts again; see: selvedge sync show ${stream}`,
        });
      }
      await clock.sleep(LOOK_MS);
    }
  } finally {
    output.progress('');
  }
}

/** Waits for the end of the run that was asked for, and shows its progress meanwhile. */
export function followRun(
  context: CliContext,
  command: Command,
  stream: string,
  everyPages: number,
): Promise<RunOverview> {
  return withMirror(command, context, (db) => follow(db, context.output, stream, everyPages));
}
