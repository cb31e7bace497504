/**
 * `selvedge sync run|release|accept-…|retry-quarantine`: what a person may do to the pulls.
 */
import { Command } from 'commander';
import { z } from 'zod';
import { offlineOperations } from '../../daemon/sync.ts';
import { remark, wholeNumber } from '../arguments.ts';
import { type CliContext, examples } from '../command.ts';
import { throughDaemon } from '../daemon-call.ts';
import { followRun } from './follow.ts';

interface Options {
  readonly reason: string;
  readonly full?: boolean;
  readonly json?: boolean;
}

interface RunOptions extends Options {
  readonly follow: boolean;
  readonly every: number;
}

function command(name: string, summary: string): Command {
  return new Command(name)
    .summary(summary)
    .option('--reason <text>', 'why; goes into the audit', remark, '')
    .option('--json', 'the answer as JSON');
}

const streamAnswer = z.object({ stream: z.string() });
/** Without a daemon there is nobody whose run could be waited for. */
const runAnswer = streamAnswer.extend({ daemon: z.boolean().default(true) });

function tell(context: CliContext, options: Options, answer: unknown, text: string): void {
  if (options.json === true) context.output.json(answer);
  else context.output.line(text);
}

export function syncRun(context: CliContext): Command {
  return command('run', 'pull a stream now')
    .description(
      'Has the daemon pull the stream and waits for the end, which is the exit code: 0 when the\n' +
        'run is complete. With --full every row is compared again.',
    )
    .argument('<stream>', 'the name of the stream')
    .option('--full', 'compare every row, whatever the digests say')
    .option('--no-follow', 'do not wait for the end')
    .option(
      '--every <pages>',
      'without a terminal: a line after so many pages',
      wholeNumber(1),
      100,
    )
    .addHelpText(
      'after',
      examples([
        ['sync run stock --full', 'trust nothing'],
        ['sync run stock --no-follow', 'and go on with something else'],
      ]),
    )
    .action(async (stream: string, options: RunOptions, self: Command) => {
      const full = options.full === true;
      const answer = await throughDaemon(self, context, {
        path: '/api/sync/run',
        body: { stream, full },
        ...{ answer: runAnswer, reason: options.reason },
        async alone(parts, asker) {
          await offlineOperations(parts).runNow(stream, full, asker);
          return { stream, daemon: false };
        },
      });
      if (!answer.daemon || !options.follow) {
        const when = answer.daemon ? 'now' : 'when the daemon starts';
        tell(context, options, answer, `${stream} is due ${when}`);
        return;
      }
      const run = await followRun(context, self, stream, options.every);
      const why = run.reason === null ? '' : `: ${run.reason}`;
      const figures = `${run.rows} rows, ${run.changed} changed, ${run.deleted} deleted`;
      tell(context, options, run, `run ${run.runId} is ${run.outcome}, ${figures}${why}`);
      if (run.outcome !== 'complete') context.setExitCode(1);
    });
}

export function syncRelease(context: CliContext): Command {
  return command('release', 'let a suspicious run delete what it held back')
    .description(
      'Look at the service first: this deletes (softly) what the run did not see. Of a partial\n' +
        'run of which only the count is off, it also takes that for right ("sync accept-count").',
    )
    .argument('<run>', 'the number of the run', wholeNumber())
    .addHelpText('after', examples([['sync release 41 --reason "season is over"', 'after a look']]))
    .action(async (runId: number, options: Options, self: Command) => {
      const answer = await throughDaemon(self, context, {
        path: '/api/sync/release',
        body: { runId },
        answer: z.object({ stream: z.string(), runId: z.int(), rowsDeleted: z.int() }),
        reason: options.reason,
        alone: (parts, asker) => offlineOperations(parts).release(runId, asker),
      });
      const { stream, rowsDeleted } = answer;
      tell(context, options, answer, `${stream}: ${rowsDeleted} rows deleted, run ${runId} counts`);
    });
}

export function syncAcceptChange(context: CliContext): Command {
  return command('accept-change', 'let rules go by a run that changed most of its rows at once')
    .description(
      'Such a run is told as the incident mass_change, and rules that read its stream wait.\n' +
        'Look at the service first: what the run read is in the mirror already. A run that\n' +
        'finds the rows as they were ends the incident by itself.',
    )
    .argument('<run>', 'the number of the run', wholeNumber())
    .addHelpText(
      'after',
      examples([['sync accept-change 41 --reason "new price list"', 'after a look']]),
    )
    .action(async (runId: number, options: Options, self: Command) => {
      const answer = await throughDaemon(self, context, {
        path: '/api/sync/accept-change',
        body: { runId },
        answer: z.object({ stream: z.string(), runIds: z.array(z.int()) }),
        reason: options.reason,
        alone: (parts, asker) => offlineOperations(parts).acceptChange(runId, asker),
      });
      const { stream, runIds } = answer;
      const text = `${stream}: rules go by what run ${runIds.join(', ')} changed`;
      tell(context, options, answer, text);
    });
}

export function syncAcceptCount(context: CliContext): Command {
  return command('accept-count', 'take it that the count of a stream is always off')
    .description(
      'Some accounts count what is hidden as well, or list rows more than once. From now on a\n' +
        'run whose count is off by just as much is complete, and deletes what is gone. Another\n' +
        'difference is told again.',
    )
    .argument('<stream|run>', 'a stream, by its latest run, or the number of a run')
    .addHelpText(
      'after',
      examples([['sync accept-count stock --reason "hidden ones"', 'by its latest run']]),
    )
    .action(async (which: string, options: Options, self: Command) => {
      const answer = await throughDaemon(self, context, {
        path: '/api/sync/accept-count',
        body: { which },
        answer: z.object({ stream: z.string(), runId: z.int(), accepted: z.string() }),
        reason: options.reason,
        alone: (parts, asker) => offlineOperations(parts).acceptCount(which, asker),
      });
      const { stream, runId, accepted } = answer;
      const text = `${stream}: ${accepted}, as in run ${runId}; that is right from now on`;
      tell(context, options, answer, `${text}, and the next run is due`);
    });
}

export function syncRetryQuarantine(context: CliContext): Command {
  return command('retry-quarantine', 'try quarantined rows again')
    .description('Rows that can be understood now leave the quarantine and are read anew.')
    .action(async (options: Options, self: Command) => {
      const answer = await throughDaemon(self, context, {
        path: '/api/sync/retry-quarantine',
        body: {},
        answer: z.object({ understood: z.int(), left: z.int() }),
        reason: options.reason,
        alone: (parts, asker) => offlineOperations(parts).retryQuarantine(asker),
      });
      const { understood, left } = answer;
      tell(context, options, answer, `${understood} rows are read anew, ${left} stay`);
    });
}
