/** `selvedge rules test`: runs the tests that stand beside the rules. */
import { Command } from 'commander';
import { loadRuleSet, unreadRuleFiles } from '../../decisions/rule-files.ts';
import { EXIT } from '../../lib/errors.ts';
import { formatTestReport, runRuleTests } from '../../rules/testing.ts';
import { type CliContext, examples } from '../command.ts';
import { noteUnread, rulesDirectory } from './directory.ts';

export function rulesTest(context: CliContext): Command {
  return new Command('test')
    .summary('run the tests of the rules')
    .description(
      'Runs the tests of every rule and the scenarios of the whole set, and names conditions\n' +
        'that no test shows to matter. Exits with 1 when a test fails, or when a reject rule\n' +
        'has a condition that no test needs. --strict also wants tests of every live rule that\n' +
        'try each of its limits one step to both sides: a piece, a hundredth, a minute.',
    )
    .argument('[dir]', 'the directory of the rules (default: the configured one)')
    .option('--strict', 'fail where a live rule has no tests, or a limit no test is close to')
    .option('--json', 'the report as JSON')
    .addHelpText('after', examples([['rules test my-rules', 'rules that are being written']]))
    .action(
      (
        dir: string | undefined,
        options: { strict?: boolean; json?: boolean },
        command: Command,
      ) => {
        const directory = rulesDirectory(command, context, dir);
        const { ruleSet } = loadRuleSet(directory);
        noteUnread(context.output, unreadRuleFiles(directory));
        const report = runRuleTests(ruleSet, options.strict);
        if (!report.ok) context.setExitCode(EXIT.failure.code);
        if (options.json === true) context.output.json(report);
        else context.output.line(formatTestReport(report));
      },
    );
}
