/** `selvedge status`: how the installation is. */
import { Command } from 'commander';
import { systemClock } from '../../lib/clock.ts';
import { formatDuration } from '../../lib/units.ts';
import { freshnessOf, readStatus, type Status, type StreamStatus } from '../../ops/status.ts';
import { type CliContext, examples } from '../command.ts';
import type { Output } from '../output.ts';
import { withMirror } from '../reading.ts';

function counts(record: Readonly<Record<string, number>>): string {
  const parts = Object.entries(record).map(([name, count]) => `${count} ${name}`);
  return parts.length === 0 ? 'none' : parts.join(', ');
}

function ago(ms: number | null): string {
  return ms === null ? 'never' : `${formatDuration(Math.max(0, ms))} ago`;
}

/** A run that was put off after a failure is open, and nothing goes on. */
function runningState({ dueInMs }: StreamStatus): string {
  return dueInMs > 0 ? 'retrying' : 'running';
}

function streamRow(stream: StreamStatus): readonly string[] {
  const doing = stream.paused ? 'paused' : !stream.running ? 'waiting' : runningState(stream);
  const state = stream.stale ? `${doing}, STALE` : doing;
  const due = stream.dueInMs <= 0 ? 'now' : `in ${formatDuration(stream.dueInMs)}`;
  const rows = stream.rows === null ? '-' : String(stream.rows);
  return [stream.stream, state, ago(stream.ageMs), rows, due, stream.lastError ?? ''];
}

function relayLine({ relay }: Status): string {
  if (relay === null) return 'not measured yet';
  const { state, announced, changes, late, lost, sweepMs, lateMsP95 } = relay;
  const parts = [`${state}: ${announced} of ${changes} changes told by events`];
  if (late + lost > 0) parts.push(`${late} late, ${lost} lost`);
  if (lateMsP95 !== null) parts.push(`p95 ${formatDuration(lateMsP95)}`);
  if (sweepMs !== null) parts.push(`a sweep every ${formatDuration(sweepMs)}`);
  return parts.join(', ');
}

function printStatus(output: Output, status: Status): void {
  const { daemon, events } = status;
  output.line(`daemon      ${daemon.running ? `running (${daemon.holder})` : 'not running'}`);
  output.line(`schema      ${status.schema}`);
  if (status.decisionsStop !== null) {
    const { actor, reason, at } = status.decisionsStop;
    output.line(`decisions   STOPPED by ${actor} since ${new Date(at).toISOString()}: ${reason}`);
  }
  output.line(`deliveries  ${counts(status.deliveries)}`);
  output.line(`pending     ${counts(status.pending)}`);
  output.line(`outbox      ${counts(status.outbox)}`);
  output.line(`events      ${events.count}, the last ${ago(events.lastAgeMs)}`);
  output.line(`relay       ${relayLine(status)}`);
  output.line(`to read     ${status.refreshWaiting} orders`);
  output.line(`quarantine  ${status.quarantined} rows`);
  output.line(`incidents   ${status.openIncidents} open`);
  output.line();
  output.table(
    ['STREAM', 'STATE', 'COMPLETE', 'ROWS', 'DUE', 'LAST ERROR'],
    status.streams.map(streamRow),
  );
}

export function status(context: CliContext): Command {
  return new Command('status')
    .summary('show how the installation is')
    .description(
      'Streams and their age, deliveries, pushes, events and what needs a person. Reads the\n' +
        'database only: works while the daemon runs and while it does not.',
    )
    .option('--json', 'as JSON')
    .addHelpText(
      'after',
      examples([
        ['status', 'for people'],
        ['status --json', 'for programs'],
      ]),
    )
    .action(async (options: { json?: boolean }, command: Command) => {
      const now = systemClock().now();
      const found = await withMirror(command, context, (db, _store, config) =>
        readStatus(db, now, freshnessOf(config)),
      );
      if (options.json === true) context.output.json(found);
      else printStatus(context.output, found);
    });
}
