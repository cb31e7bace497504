/** `selvedge rules check`: every mistake of a rule set at once. */
import { Command } from 'commander';
import { readRuleFiles, unreadRuleFiles } from '../../decisions/rule-files.ts';
import { systemClock } from '../../lib/clock.ts';
import { EXIT } from '../../lib/errors.ts';
import { findPast } from '../../rules/analysis/findings.ts';
import { loadRules } from '../../rules/load.ts';
import type { RuleSet } from '../../rules/rule.ts';
import { formatProblem, type Problem } from '../../rules/text/problem.ts';
import { type CliContext, examples } from '../command.ts';
import { noteUnread, rulesDirectory } from './directory.ts';

function counted(count: number, what: string): string {
  return `${count} ${what}${count === 1 ? '' : 's'}`;
}

function asJson({ source: _source, ...problem }: Problem): Readonly<Record<string, unknown>> {
  return problem;
}

/** Rules whose time is over are as if they were off, and nobody notices. */
function past({ rules }: RuleSet): readonly Problem[] {
  return findPast(rules, systemClock().now()).map(({ rule, message, hint }) => {
    const place = { file: rule.file, line: rule.line, column: 1, source: '', length: 1 };
    return { severity: 'warning', ...place, ruleId: rule.id, message, hint };
  });
}

function check(context: CliContext, directory: string, json: boolean): void {
  const { output } = context;
  const files = readRuleFiles(directory);
  const unread = unreadRuleFiles(directory);
  const loaded = loadRules(files);
  const ruleSet = 'ruleSet' in loaded ? loaded.ruleSet : undefined;
  const problems =
    'ruleSet' in loaded ? [...past(loaded.ruleSet), ...loaded.ruleSet.warnings] : loaded.problems;
  if (ruleSet === undefined) context.setExitCode(EXIT.config.code);
  if (json) {
    const hash = ruleSet?.hash ?? null;
    const rules = ruleSet?.rules.map(({ id, action, mode }) => ({ id, action, mode })) ?? [];
    const ok = ruleSet !== undefined;
    output.json({ directory, ok, hash, rules, problems: problems.map(asJson), unread });
    return;
  }
  for (const problem of problems) output.line(formatProblem(problem));
  const errors = problems.filter(({ severity }) => severity === 'error').length;
  const notes = problems.filter(({ severity }) => severity === 'note').length;
  const warnings = counted(problems.length - errors - notes, 'warning');
  const counts = [
    counted(errors, 'error'),
    warnings,
    ...(notes > 0 ? [counted(notes, 'note')] : []),
  ].join(', ');
  if (ruleSet === undefined) output.note(counts);
  else {
    const { rules, hash } = ruleSet;
    const set = `rule set ${hash.slice(0, 16)}`;
    output.line(`${directory}: ${counted(rules.length, 'rule')} can be used, ${counts}, ${set}`);
  }
  noteUnread(output, unread);
  if (files.length === 0) output.note(`${directory} has no file that ends in .yaml`);
}

export function rulesCheck(context: CliContext): Command {
  return new Command('check')
    .summary('find every mistake in the rules')
    .description(
      'Reads the rules and their settings and lists every mistake with file, line and column.\n' +
        'Needs no database, and with a directory no configuration. Exits with 78 on an error.',
    )
    .argument('[dir]', 'the directory of the rules (default: the configured one)')
    .option('--json', 'the list of problems as JSON')
    .addHelpText(
      'after',
      examples([
        ['rules check', 'the rules that the service uses'],
        ['rules check my-rules', 'rules that are being written'],
      ]),
    )
    .action((dir: string | undefined, options: { json?: boolean }, command: Command) =>
      check(context, rulesDirectory(command, context, dir), options.json === true),
    );
}
