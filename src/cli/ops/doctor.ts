/** `selvedge doctor`: checks everything that the installation depends on. */
import { Command } from 'commander';
import { loadConfig } from '../../config/load.ts';
import { showProblem } from '../../config/problems.ts';
import { examine } from '../../daemon/doctor/doctor.ts';
import { bad, type Finding } from '../../daemon/doctor/finding.ts';
import type { Ask } from '../../daemon/doctor/network.ts';
import { systemClock } from '../../lib/clock.ts';
import { EXIT } from '../../lib/errors.ts';
import { type CliContext, examples } from '../command.ts';
import { configFileOf } from '../configuration.ts';
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

/**
 * Checks the configuration with every secret that this user should be able to read, then the rest.
 */
async function* findingsOf(
  command: Command,
  context: CliContext,
  offline: boolean,
): AsyncGenerator<Finding, void, undefined> {
  const { env, scrubber } = context;
  const file = configFileOf(command, context);
  const loaded = loadConfig({ file, env, scrubber, absent: 'credentials' });
  if ('problems' in loaded) {
    for (const problem of loaded.problems) {
      yield bad('configuration', showProblem(problem), 'selvedge config check');
    }
    return;
  }
  const ask: Ask = (call, signal) => callService(context, command, call, 'doctor', signal);
  const clock = systemClock();
  const network = offline ? undefined : { ask, clock };
  yield* examine({ loaded, now: clock.now(), network });
}

export function doctor(context: CliContext): Command {
  return new Command('doctor')
    .summary('check configuration, database, rules, network and account')
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
      const found: Finding[] = [];
      for await (const finding of findingsOf(command, context, options.offline === true)) {
        found.push(finding);
        if (!isJson) print(output, finding);
      }
      const failed = found.filter(({ grade }) => grade === 'failed').length;
      if (isJson) output.json({ ok: failed === 0, checks: found });
      else output.line(failed === 0 ? 'nothing has failed' : `${failed} checks have failed`);
      if (failed > 0) context.setExitCode(EXIT.failure.code);
    });
}
