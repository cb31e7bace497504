/** `selvedge doctor`: is everything that the installation stands on as it should be? */
import { Command } from 'commander';
import { loadConfig } from '../../config/load.ts';
import { showProblem } from '../../config/problems.ts';
import { examine } from '../../daemon/doctor/doctor.ts';
import { bad, type Finding } from '../../daemon/doctor/finding.ts';
import { systemClock } from '../../lib/clock.ts';
import { EXIT } from '../../lib/errors.ts';
import { type CliContext, configFileOf, configOf, examples } from '../command.ts';
import type { Output } from '../output.ts';
import { callService } from './api.ts';

const MARKS = { ok: 'ok  ', warning: 'WARN', failed: 'FAIL', skipped: '-   ' } as const;
const COLOURS = { ok: 'green', warning: 'yellow', failed: 'red', skipped: 'gray' } as const;
const NAME_CHARS = 14;

function print(output: Output, { check, grade, text, advice }: Finding): void {
  output.line(`${output.style(COLOURS[grade], MARKS[grade])} ${check.padEnd(NAME_CHARS)} ${text}`);
  if (advice !== undefined && grade !== 'skipped') {
    output.line(`     ${' '.repeat(NAME_CHARS)} → ${advice}`);
  }
}

/** The configuration itself, and every secret that this user can be expected to read. */
function configFindings(command: Command, context: CliContext): Finding[] {
  const file = configFileOf(command, context);
  const loaded = loadConfig({ file, env: context.env, absent: 'credentials' });
  if (!('problems' in loaded)) return [];
  return loaded.problems.map((problem) =>
    bad('configuration', showProblem(problem), 'selvedge config check'),
  );
}

async function collect(
  command: Command,
  context: CliContext,
  offline: boolean,
  tell: (finding: Finding) => void,
): Promise<Finding[]> {
  const found = configFindings(command, context);
  for (const finding of found) tell(finding);
  if (found.length > 0) return found;
  const findings = examine({
    loaded: configOf(command, context),
    now: systemClock().now(),
    ask: offline ? undefined : (call) => callService(context, command, call, 'doctor'),
  });
  for await (const finding of findings) {
    tell(finding);
    found.push(finding);
  }
  return found;
}

export function doctor(context: CliContext): Command {
  return new Command('doctor')
    .summary('check everything that the installation stands on')
    .description(
      'Configuration, secrets and permissions, versions, disk, databases, backups, rules,\n' +
        'schedules, listeners, clock, certificate, log-in and both APIs. Read-only; whatever is\n' +
        'not fine says what to do. Exits with 1 when something has failed. Run it as the user\n' +
        'of the service; as root it also names the programs that keep the database open.',
    )
    .option('--offline', 'leave the network alone')
    .option('--json', 'as JSON')
    .addHelpText(
      'after',
      examples([
        ['doctor', 'after the installation, and when something is wrong'],
        ['doctor --offline', 'without asking the service'],
      ]),
    )
    .action(async (options: { offline?: boolean; json?: boolean }, command: Command) => {
      const { output } = context;
      const isJson = options.json === true;
      const tell = (finding: Finding): void => (isJson ? undefined : print(output, finding));
      const found = await collect(command, context, options.offline === true, tell);
      const failed = found.filter(({ grade }) => grade === 'failed').length;
      if (isJson) output.json({ ok: failed === 0, checks: found });
      else output.line(failed === 0 ? 'nothing has failed' : `${failed} checks have failed`);
      if (failed > 0) context.setExitCode(EXIT.failure.code);
    });
}
