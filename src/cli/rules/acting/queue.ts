/** `selvedge rules queue`: shows what reject rules are about to do. */
import { Command } from 'commander';
import { type RejectOverview, rejectOverview } from '../../../decisions/review/overview.ts';
import { systemClock } from '../../../lib/clock.ts';
import { formatDuration } from '../../../lib/units.ts';
import { type CliContext, examples } from '../../command.ts';
import type { Output } from '../../output.ts';
import { withMirror } from '../../reading.ts';

function butFor(inForce: boolean | null): string {
  if (inForce === null)
    return '; this version cannot read the rules in force: selvedge rules check';
  return inForce ? '' : '; it has another text now and rejects nothing';
}

function print(output: Output, overview: RejectOverview): void {
  const { breaker, armed, disarmed, waiting, today } = overview;
  if (breaker !== null) {
    const at = new Date(breaker.at).toISOString();
    output.line(output.style('red', `THE BREAKER TRIPPED at ${at}: ${breaker.safeguard}`));
    output.line(`  ${breaker.detail}`);
    output.line('  no rule rejects until: "selvedge resume rejects --reason …"');
  }
  for (const { ruleId, actor, expiresAt, inForce } of armed) {
    const until = new Date(expiresAt).toISOString().slice(0, 10);
    output.line(`armed: ${ruleId}, by ${actor}, until ${until}${butFor(inForce)}`);
  }
  for (const { ruleId, at, reason } of disarmed) {
    const since = new Date(at ?? 0).toISOString();
    output.line(`disarmed: ${ruleId}, since ${since}: ${reason}`);
  }
  if (armed.length === 0) output.line('no reject rule is armed');
  output.line(`rejected in the last 24 hours: ${today}`);
  if (waiting.length === 0) {
    output.line('nothing waits to be rejected');
    return;
  }
  const now = systemClock().now();
  output.line();
  output.table(
    ['ID', 'NUMBER', 'WILL BE REJECTED', 'IN', 'RULE', 'SAFEGUARD', 'REASON'],
    waiting.map((row) => [
      String(row.orderDeliveryId),
      row.deliveryNo ?? '',
      new Date(row.dueAt).toISOString(),
      formatDuration(Math.max(0, row.dueAt - now)),
      row.ruleId,
      row.safeguard ?? '-',
      row.detail ?? row.reason,
    ]),
  );
  output.line('selvedge deliveries hold <delivery> --if-reject-waits --reason "…" stops one');
}

export function rulesQueue(context: CliContext): Command {
  return new Command('queue')
    .summary('show what reject rules will reject, and when')
    .description('Armed rules, the breaker, and every delivery that waits out its grace.')
    .option('--json', 'as JSON')
    .addHelpText('after', examples([['rules queue', 'each morning']]))
    .action(async (options: { json?: boolean }, command: Command) => {
      const now = systemClock().now();
      const overview = await withMirror(command, context, (db) => rejectOverview(db, now));
      if (options.json === true) context.output.json(overview);
      else print(context.output, overview);
    });
}
