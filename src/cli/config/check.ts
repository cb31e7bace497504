/** `selvedge config check`: shows every mistake of the configuration at once. */
import { Command } from 'commander';
import { loadConfig } from '../../config/load.ts';
import { type ConfigProblem, showPlace, showProblem } from '../../config/problems.ts';
import { EXIT } from '../../lib/errors.ts';
import { type CliContext, examples } from '../command.ts';
import { configFileOf } from '../configuration.ts';

function asJson({ at, ...problem }: ConfigProblem): Readonly<Record<string, unknown>> {
  return { at: showPlace(at), ...problem };
}

export function configCheck(context: CliContext): Command {
  return new Command('check')
    .summary('find every mistake in the configuration')
    .description(
      'Reads the configuration and the secrets it names, and lists every mistake with file, ' +
        'line and column. Connects to nothing and writes nothing.',
    )
    .option('--json', 'the list of problems as JSON')
    .addHelpText(
      'after',
      examples([
        ['config check', 'the file that the service uses'],
        ['config check --config new.yaml', 'a file before it is installed'],
      ]),
    )
    .action((options: { json?: boolean }, command: Command) => {
      const file = configFileOf(command, context);
      const loaded = loadConfig({ file, env: context.env, absent: 'credentials' });
      const [problems, warnings] =
        'problems' in loaded ? [loaded.problems, []] : [[], loaded.warnings];
      const { output } = context;
      const isRight = problems.length === 0;
      if (!isRight) context.setExitCode(EXIT.config.code);
      if (options.json === true) {
        output.json({
          file,
          ok: isRight,
          problems: problems.map(asJson),
          warnings: warnings.map(asJson),
        });
        return;
      }
      for (const problem of problems) output.line(showProblem(problem));
      for (const warning of warnings) output.line(`warning: ${showProblem(warning)}`);
      if (isRight) output.line(`${file}: the configuration is right`);
      else output.note(`${problems.length} to correct`);
    });
}
