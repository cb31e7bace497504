/** `selvedge standby status`: who holds the lease, and how far each standby is. */
import { Command } from 'commander';
import { requireStandby, serversOf } from '../../daemon/standby/waiting.ts';
import { systemClock } from '../../lib/clock.ts';
import { SelvedgeError } from '../../lib/errors.ts';
import { formatDuration } from '../../lib/units.ts';
import { type Overview, readOverview } from '../../standby/overview.ts';
import { gradeReplication } from '../../standby/replication.ts';
import { readStandbyStatus, type StandbyStatus } from '../../standby/status-file.ts';
import { type CliContext, examples } from '../command.ts';
import { configOf } from '../configuration.ts';
import type { Output } from '../output.ts';

/** A process that runs tells it every five seconds. */
const SILENT_MS_MAX = 20_000;

function printHere(
  output: Output,
  here: StandbyStatus | undefined,
  now: number,
  isAway: boolean,
): void {
  if (here === undefined) {
    output.line('here       nothing has run here with a standby');
    return;
  }
  const ago = formatDuration(Math.max(0, now - here.at));
  const isSilent = now - here.at > SILENT_MS_MAX;
  const silent = isSilent ? 'NOTHING RUNS, it was ' : '';
  output.line(`here       ${silent}${here.role}, ${here.state} (told ${ago} ago)`);
  if (isSilent) return;
  if (here.role === 'holder') output.line(`waiting    ${here.waiting} entries are not kept yet`);
  // The command ends with the error that it met itself.
  if (!here.error || isAway) return;
  output.line(`           ${here.error.message}`);
  if (here.error.hint) output.line(`           ${here.error.hint}`);
}

const REPLICATION: Readonly<Record<ReturnType<typeof gradeReplication>, string>> = {
  off: 'NO: what was kept last may be lost with the server',
  confirmed: 'yes',
  unknown: 'not known (grant pg_read_all_stats)',
  nobody: 'NOBODY IS THERE to confirm: each commit waits (synchronous_standby_names)',
};

function printThere(output: Output, { lease, endsInMs, machines, replication }: Overview): void {
  if (lease === undefined) output.line('holder     nobody has held the lease yet');
  else {
    const ends = endsInMs ?? 0;
    const runs = ends >= 0 ? `runs ${formatDuration(ends)} more` : 'HAS RUN OUT';
    output.line(`holder     ${lease.holder}, taking ${lease.token}, ${runs}`);
    if (lease.handedOver) output.line('           HANDED OVER: a machine that waits takes it');
    const confirms = REPLICATION[gradeReplication(replication)];
    output.line(`replica    synchronous: ${confirms} (timeline ${lease.timeline})`);
  }
  const others = machines.filter(({ machine }) => machine !== lease?.holder);
  output.line();
  output.table(
    ['STANDBY', 'SEEN', 'VERSION', 'BACKUP', 'TO PLAY'],
    others.map((one) => [
      one.machine,
      `${formatDuration(one.seenMsAgo)} ago`,
      one.version,
      one.backupMsAgo === null ? 'NONE' : `${formatDuration(Math.max(0, one.backupMsAgo))} ago`,
      one.behind === null ? '-' : String(one.behind),
    ]),
  );
}

export function standbyStatus(context: CliContext): Command {
  return new Command('status')
    .summary('show who holds the lease, and how far each standby is')
    .description('What this machine knows, then what PostgreSQL has.')
    .option('--json', 'as JSON')
    .addHelpText('after', examples([['standby status', 'would the other machine take over?']]))
    .action(async ({ json }: { readonly json?: boolean }, command: Command) => {
      const { config } = configOf(command, context);
      const { account } = requireStandby(config);
      const here = readStandbyStatus(config.dataDir);
      let there: Overview | undefined;
      let error: SelvedgeError | undefined;
      try {
        const session = await serversOf(config, systemClock()).open();
        there = await readOverview(session, account).finally(() => session.end());
      } catch (thrown) {
        // Without PostgreSQL this machine's own knowledge is still told.
        if (!(thrown instanceof SelvedgeError)) throw thrown;
        error = thrown;
      }
      const { output } = context;
      if (json === true) output.json({ account, here: here ?? null, there: there ?? null });
      else {
        output.line(`account    ${account}`);
        printHere(output, here, systemClock().now(), error !== undefined);
        if (there) printThere(output, there);
      }
      if (error) throw error;
    });
}
