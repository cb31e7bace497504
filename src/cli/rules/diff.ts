/** `selvedge rules diff <a> <b>`: what differs between two rule sets in effect. */
import { Command } from 'commander';
import { loadRuleSet } from '../../decisions/rule-files.ts';
import { diffRuleSets, formatRuleSetDiff } from '../../decisions/simulation/diff.ts';
import type { RuleSet } from '../../rules/rule.ts';
import { type CliContext, examples } from '../command.ts';
import { withMirror } from '../reading.ts';
import { isStored, namedRuleSet } from './rule-sets.ts';

async function both(
  command: Command,
  context: CliContext,
  names: readonly [string, string],
): Promise<readonly [RuleSet, RuleSet]> {
  const [from, to] = names;
  if (!names.some(isStored)) return [loadRuleSet(from).ruleSet, loadRuleSet(to).ruleSet];
  return withMirror(command, context, async (db) => [
    await namedRuleSet(db, from),
    await namedRuleSet(db, to),
  ]);
}

export function rulesDiff(context: CliContext): Command {
  return new Command('diff')
    .summary('show what differs between two rule sets')
    .description(
      'Rules, conditions, modes, timing, lists, tables and settings; titles, comments and tests\n' +
        'have no effect. Each side is a directory or the hash of a set that decided before.',
    )
    .argument('<before>', 'a directory, or the beginning of a hash')
    .argument('<after>', 'a directory, or the beginning of a hash')
    .option('--json', 'as JSON')
    .addHelpText(
      'after',
      examples([['rules diff 6d73ec01dc7f config/rules', 'what changed since then']]),
    )
    .action(async (from: string, to: string, options: { json?: boolean }, command: Command) => {
      const diff = diffRuleSets(...(await both(command, context, [from, to])));
      if (options.json === true) context.output.json(diff);
      else context.output.line(formatRuleSetDiff(diff));
    });
}
