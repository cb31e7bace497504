/** `selvedge rules check`: shows every mistake of a rule set at once. */
import { Command } from 'commander';
import { notArmedText } from '../../decisions/reject/surface.ts';
import { readRuleFiles, unreadRuleFiles } from '../../decisions/rule-files.ts';
import { neverOccurred } from '../../decisions/simulation/never-occurred.ts';
import { heldUnarmed } from '../../decisions/simulation/not-armed.ts';
import { systemClock } from '../../lib/clock.ts';
import { EXIT } from '../../lib/errors.ts';
import { findPast } from '../../rules/analysis/findings.ts';
import { loadRules } from '../../rules/load.ts';
import type { RuleSet } from '../../rules/rule.ts';
import { formatProblem, type Problem } from '../../rules/text/problem.ts';
import { type CliContext, examples } from '../command.ts';
import { withMirror } from '../reading.ts';
import { noteUnread, rulesDirectory } from './directory.ts';

function counted(count: number, what: string): string {
  return `${count} ${what}${count === 1 ? '' : 's'}`;
}

function asJson({ source: _source, ...problem }: Problem): Readonly<Record<string, unknown>> {
  return problem;
}

/** Warns of rules whose time is over: they are as if off, and nobody would notice. */
function past({ rules }: RuleSet): readonly Problem[] {
  return findPast(rules, systemClock().now()).map(({ rule, message, hint }) => {
    const place = { file: rule.file, line: rule.line, column: 1, source: '', length: 1 };
    return { severity: 'warning', ...place, ruleId: rule.id, message, hint };
  });
}

/** Notes what live reject rules do that may not reject: what they match is held, or left. */
function unarmedNotes({ rules }: RuleSet): readonly Problem[] {
  return rules.flatMap(({ id, action, mode, otherwise, file, line }): readonly Problem[] => {
    if (action !== 'reject' || mode !== 'live') return [];
    const place = { file, line, column: 1, source: '', length: 1 };
    const message =
      otherwise === 'nothing'
        ? 'while it is not armed it only watches (otherwise: nothing): other rules may accept it'
        : 'while it is not armed it holds what it matches (otherwise: hold)';
    return [{ severity: 'note', ...place, ruleId: id, message }];
  });
}

/** Warnings as errors, for who writes rules; at a start they stay warnings. */
function asErrors(problems: readonly Problem[]): readonly Problem[] {
  return problems.map((problem) =>
    problem.severity === 'warning' ? { ...problem, severity: 'error' } : problem,
  );
}

interface Options {
  readonly json?: boolean;
  readonly strict?: boolean;
  readonly mirror?: boolean;
}

async function check(
  context: CliContext,
  directory: string,
  { json, mirror, strict }: Options,
  command: Command,
): Promise<void> {
  const { output } = context;
  const files = readRuleFiles(directory);
  const unread = unreadRuleFiles(directory);
  const loaded = loadRules(files);
  const ruleSet = 'ruleSet' in loaded ? loaded.ruleSet : undefined;
  const unknown =
    ruleSet && mirror === true
      ? await withMirror(command, context, (db) => neverOccurred(db, ruleSet))
      : [];
  const held =
    ruleSet && mirror === true
      ? await withMirror(command, context, (_, store) =>
          heldUnarmed(store, ruleSet, systemClock().now()),
        )
      : undefined;
  const mistakes = 'problems' in loaded ? loaded.problems : [];
  const found = ruleSet
    ? [...past(ruleSet), ...ruleSet.warnings, ...unarmedNotes(ruleSet), ...unknown]
    : mistakes;
  const problems = strict === true ? asErrors(found) : found;
  const isWrong = problems.some(({ severity }) => severity === 'error');
  if (isWrong) context.setExitCode(EXIT.config.code);
  if (json === true) {
    const hash = ruleSet?.hash ?? null;
    const rules = ruleSet?.rules.map(({ id, action, mode }) => ({ id, action, mode })) ?? [];
    const ok = !isWrong;
    const told = { directory, ok, hash, rules, problems: problems.map(asJson), unread };
    output.json({ ...told, ...(held ? { notArmed: held } : {}) });
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
  if (ruleSet === undefined || isWrong) output.note(counts);
  else {
    const { rules, hash } = ruleSet;
    const set = `rule set ${hash.slice(0, 16)}`;
    output.line(`${directory}: ${counted(rules.length, 'rule')} can be used, ${counts}, ${set}`);
  }
  const waiting = held && notArmedText(held);
  if (waiting !== undefined) output.line(waiting);
  noteUnread(output, unread);
  if (files.length === 0) output.note(`${directory} has no file that ends in .yaml`);
}

export function rulesCheck(context: CliContext): Command {
  return new Command('check')
    .summary('find every mistake in the rules')
    .description(
      'Reads the rules and their settings and lists every mistake with file, line and column.\n' +
        'Needs no database, and with a directory no configuration. Exits with 78 on an error.\n' +
        'With --strict a warning is one: the daemon uses such rules, but not as they are meant.\n' +
        '--mirror also warns of texts in conditions, lists and tables that no mirrored row ever\n' +
        'had, names the nearest that one had, and counts the waiting deliveries that reject\n' +
        'rules hold because they are not armed.',
    )
    .argument('[dir]', 'the directory of the rules (default: the configured one)')
    .option('--mirror', 'also compare texts with what the mirror has')
    .option('--strict', 'warnings are errors')
    .option('--json', 'the list of problems as JSON')
    .addHelpText(
      'after',
      examples([
        ['rules check', 'the rules that the service uses'],
        ['rules check my-rules --strict', 'rules that are being written'],
        ['rules check --mirror', 'also with what orders and customers have'],
      ]),
    )
    .action((dir: string | undefined, options: Options, command: Command) =>
      check(context, rulesDirectory(command, context, dir), options, command),
    );
}
