/**
 * `selvedge rules matches`: shows what a reject rule would have rejected, for a person to look at.
 */
import type { Command } from 'commander';
import { z } from 'zod';
import { lookedSchema, matches } from '../../../decisions/reject/lists.ts';
import { lookAtMatch } from '../../../decisions/reject/surface.ts';
import type { RuleSet } from '../../../rules/rule.ts';
import type { Db } from '../../../store/store.ts';
import type { Given } from '../../../surface/given.ts';
import type { CliContext } from '../../command.ts';
import type { Output } from '../../output.ts';
import { remoteConsoleOf, requireHere } from '../../remote/console.ts';
import { performAct } from '../../surface-call.ts';
import { listCommand, printRows, readRows } from '../../surface-lists.ts';
import { rulesDirectory } from '../directory.ts';
import { namedRuleSet } from '../rule-sets.ts';

type Match = z.output<typeof matches.row>;

interface Options {
  readonly rules?: string;
  readonly seen?: boolean;
  readonly limit: number;
  readonly json?: boolean;
  readonly csv?: boolean;
}

/** Most matches that arming may ask somebody to look at. */
const LOOKED_MAX = 500;

/** Matches of the text in force, or of that in other rules. */
async function readMatches(
  command: Command,
  context: CliContext,
  given: Given,
  rulesOf?: (db: Db) => Promise<RuleSet>,
) {
  const found = await readRows(command, context, matches, given, rulesOf);
  const rows = z.array(matches.row).parse(found.rows);
  return { ...lookedSchema.parse(found.beside), rows, found };
}

function print(output: Output, found: readonly Match[]): void {
  for (const { decisionId, orderDeliveryId, at, explained } of found) {
    const time = new Date(at).toISOString();
    output.line(`decision ${decisionId} about delivery ${orderDeliveryId}, ${time}`);
    output.line(explained);
    output.line();
  }
}

/**
 * Shows the matches of a rule one by one and asks about each. Returns those that a person found
 * right; undefined without a terminal.
 */
async function lookAtEach(
  context: CliContext,
  found: readonly Match[],
): Promise<readonly Match[] | undefined> {
  const seen: Match[] = [];
  for (const match of found) {
    print(context.output, [match]);
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
  looked: readonly Match[],
): Promise<void> {
  if (looked.length === 0) return;
  const given = { rule, decisionId: looked.map(({ decisionId }) => decisionId) };
  const wanted = { given, reason: '', dryRun: false };
  const answer = await performAct(command, context, lookAtMatch, wanted);
  const { seen } = lookAtMatch.output.parse(answer);
  context.output.note(`you have looked at these ${looked.length}: ${seen} in all`);
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
  const looked = await readMatches(command, context, { rule, limit: LOOKED_MAX });
  const found = looked.rows.slice(0, Math.max(0, looked.needed - looked.seen));
  if (found.length === 0) return;
  const question = `${found.length} matches must be looked at first. Show them? [Y/n] `;
  const typed = await context.ask(question);
  if (typed === undefined || /^n/i.test(typed.trim())) return;
  const seen = await lookAtEach(context, found);
  await tellSeen(context, command, rule, seen ?? []);
}

async function run(context: CliContext, command: Command): Promise<boolean> {
  const { json, csv, seen: isSeen, rules, limit } = command.opts<Options>();
  const [rule = ''] = command.args;
  if (rules !== undefined) requireHere(remoteConsoleOf(command, context), '--rules');
  const { rows, seen, found } = await readMatches(command, context, { rule, limit }, (db) =>
    namedRuleSet(db, rulesDirectory(command, context, rules)),
  );
  const asksEach = isSeen === true && json !== true && csv !== true;
  const looked = asksEach ? await lookAtEach(context, rows) : undefined;
  if (json === true || csv === true) printRows(command, context.output, matches, found);
  else {
    if (found.hasMore) context.output.note(`there are more than ${limit} rows; --limit shows more`);
    // Without a terminal, the first match was printed before the question found nobody.
    if (looked === undefined) print(context.output, asksEach ? rows.slice(1) : rows);
    const count = found.hasMore ? `more than ${limit}` : String(rows.length);
    context.output.line(`${count} that nobody has looked at yet, ${seen} were looked at`);
  }
  if (isSeen === true) await tellSeen(context, command, rule, looked ?? rows);
  return true;
}

export function rulesMatches(context: CliContext): Command {
  return listCommand(matches, context, (command) => run(context, command))
    .option('--rules <dir>', 'the directory of the rule (default: the configured one)')
    .option('--seen', 'write down that you have looked at those that are shown');
}
