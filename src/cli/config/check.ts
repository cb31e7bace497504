/** `selvedge config check`: every mistake of the configuration at once. */
import { Command } from 'commander';
import { loadConfig } from '../../config/load.ts';
import { showPlace, showProblem } from '../../config/problems.ts';
import { EXIT } from '../../lib/errors.ts';
import { type CliContext, configFileOf, examples } from '../command.ts';

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
      const loaded = loadConfig({ file, env: context.env });
      const problems = 'problems' in loaded ? loaded.problems : [];
      const { output } = context;
      if (problems.length > 0) context.setExitCode(EXIT.config.code);
      if (options.json === true) {
        const shown = problems.map(({ at, ...problem }) => ({ at: showPlace(at), ...problem }));
        output.json({ file, ok: problems.length === 0, problems: shown });
        return;
      }
      for (const problem of problems) output.line(showProblem(problem));
      if (problems.length === 0) output.line(`${file}: the configuration is right`);
      else output.note(`${problems.length} to correct`);
    });
}
