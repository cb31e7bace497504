/**
 * `selvedge rules matches`: shows what a reject rule would have rejected, for a person to look at.
 */
import { Command } from 'commander';
import { type Match, seenCount, unseenMatches } from '../../../decisions/reject/matches.ts';
import { lookAtMatch } from '../../../decisions/reject/surface.ts';
import { RefusedError } from '../../../lib/errors.ts';
import { explain } from '../../../rules/explain.ts';
import { wholeNumber } from '../../arguments.ts';
import { type CliContext, examples } from '../../command.ts';
import type { Output } from '../../output.ts';
import { firstRows, withMirror } from '../../reading.ts';
import { performAct } from '../../surface-call.ts';
import { rulesDirectory } from '../directory.ts';
import { namedRuleSet } from '../rule-sets.ts';

interface Options {
  readonly rules?: string;
  readonly seen?: boolean;
  readonly limit: number;
  readonly json?: boolean;
}

const LIMIT_MAX = 500;

function print(output: Output, rule: string, matches: readonly Match[]): void {
  for (const { decisionId, orderDeliveryId, at, evaluation } of matches) {
    const time = new Date(at).toISOString();
    output.line(`decision ${decisionId} about delivery ${orderDeliveryId}, ${time}`);
    const rules = evaluation.rules.filter(({ id }) => id === rule);
    output.line(explain({ ...evaluation, rules }));
    output.line();
  }
}

/**
 * Shows the matches of a rule one by one and asks about each. Returns those that a person found
 * right; undefined without a terminal.
 */
async function lookAtEach(
  context: CliContext,
  rule: string,
  matches: readonly Match[],
): Promise<readonly Match[] | undefined> {
  const seen: Match[] = [];
  for (const match of matches) {
    print(context.output, rule, [match]);
    const typed = await context.ask('Is it right to reject this one? [y/N, q to stop] ');
    if (typed === undefined) return undefined;
    const answer = typed.trim().toLowerCase();
    if (answer === 'q') break;
    if (answer === 'y' || answer === 'yes') seen.push(match);
  }
  return seen;
}

async function tellSeen(
  context: CliContext,
  command: Command,
  rule: string,
  matches: readonly Match[],
): Promise<void> {
  if (matches.length === 0) return;
  const given = { rule, decisionId: matches.map(({ decisionId }) => decisionId) };
  const wanted = { given, reason: '', dryRun: false };
  const answer = await performAct(command, context, lookAtMatch, wanted);
  const { seen } = lookAtMatch.output.parse(answer);
  context.output.note(`you have looked at these ${matches.length}: ${seen} in all`);
}

/**
 * Shows at a terminal the matches that a person must see before arming the rule; the daemon refuses
 * to arm it without them.
 */
export async function lookBeforeArming(
  context: CliContext,
  command: Command,
  rule: string,
): Promise<void> {
  const directory = rulesDirectory(command, context, undefined);
  const matches = await withMirror(command, context, async (db) => {
    const { rules, settings } = await namedRuleSet(db, directory);
    const named = rules.find(({ id }) => id === rule);
    if (!named) return [];
    const needed = settings.safeguards.reject.matches_seen - (await seenCount(db, named.hash));
    return needed > 0 ? unseenMatches(db, named.hash, needed) : [];
  });
  if (matches.length === 0) return;
  const question = `${matches.length} matches must be looked at first. Show them? [Y/n] `;
  const typed = await context.ask(question);
  if (typed === undefined || /^n/i.test(typed.trim())) return;
  const seen = await lookAtEach(context, rule, matches);
  await tellSeen(context, command, rule, seen ?? []);
}

async function run(
  context: CliContext,
  rule: string,
  options: Options,
  command: Command,
): Promise<void> {
  const directory = rulesDirectory(command, context, options.rules);
  const { limit } = options;
  const { found, seen } = await withMirror(command, context, async (db) => {
    const { rules } = await namedRuleSet(db, directory);
    const named = rules.find(({ id }) => id === rule);
    if (!named) throw new RefusedError('rules.unknown', `there is no rule ${rule}`);
    const unseen = await unseenMatches(db, named.hash, limit + 1);
    return { found: unseen, seen: await seenCount(db, named.hash) };
  });
  const matches = firstRows(context.output, found, limit);
  const asksEach = options.seen === true && options.json !== true;
  const looked = asksEach ? await lookAtEach(context, rule, matches) : undefined;
  if (options.json === true) context.output.json({ seen, matches });
  else {
    // Without a terminal, the first match was printed before the question found nobody.
    if (looked === undefined) print(context.output, rule, asksEach ? matches.slice(1) : matches);
    const count = found.length > limit ? `more than ${limit}` : String(found.length);
    context.output.line(`${count} that nobody has looked at yet, ${seen} were looked at`);
  }
  if (options.seen === true) await tellSeen(context, command, rule, looked ?? matches);
}

export function rulesMatches(context: CliContext): Command {
  return new Command('matches')
    .summary('show what a rule in shadow mode matched')
    .description(
      'The latest match of each delivery by exactly the present text of the rule that nobody\n' +
        'has looked at yet. With --seen you say that you have: arming asks for it. At a\n' +
        'terminal it shows one after the other, with what the rule saw, and asks about each.',
    )
    .argument('<rule>', 'the id of a rule')
    .option('--rules <dir>', 'the directory of the rule (default: the configured one)')
    .option('--seen', 'write down that you have looked at those that are shown')
    .option('--limit <n>', 'how many at the most', wholeNumber(1, LIMIT_MAX), 20)
    .option('--json', 'as JSON')
    .addHelpText('after', examples([['rules matches reject-closed-season --seen', 'one by one']]))
    .action((rule: string, options: Options, command: Command) =>
      run(context, rule, options, command),
    );
}
