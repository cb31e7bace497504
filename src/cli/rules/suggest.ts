/** `selvedge rules suggest`: proposes rules from what people decided; writes drafts if asked. */

import { mkdirSync, readdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import type { Command } from 'commander';
import { z } from 'zod';
import { ruleSetInForce } from '../../decisions/simulation/rule-sets.ts';
import { UsageError } from '../../lib/errors.ts';
import { isoDay } from '../../lib/local-time.ts';
import { plural } from '../../lib/strings.ts';
import { parseYaml } from '../../lib/yaml.ts';
import { LISTS_FILE } from '../../rules/load.ts';
import { agreedText, errorText, learnedText, suggestions } from '../../suggest/lists.ts';
import { freeId } from '../../suggest/text/rule.ts';
import { type Beside, besideSchema } from '../../surface/suggestion.ts';
import type { CliContext } from '../command.ts';
import type { Output } from '../output.ts';
import { withMirror } from '../reading.ts';
import { remoteConsoleOf, requireHere } from '../remote/console.ts';
import { listCommand, printRows, readRows } from '../surface-lists.ts';

type Row = z.output<typeof suggestions.row>;

interface Options {
  readonly since?: string;
  readonly owner?: string;
  readonly limit: number;
  readonly json?: boolean;
  readonly csv?: boolean;
  readonly write?: string;
}

/** Counterexamples that a terminal shows; JSON has more. */
const COUNTEREXAMPLES_SHOWN = 5;

function amounts(of: Row['checked']['agreed']): string {
  const sums = Object.entries(of.amounts).map(([unit, sum]) => `${sum ?? '?'} ${unit}`);
  return sums.length === 0 ? '' : `, worth ${sums.join(' + ')}`;
}

function changesText({ backtest }: Row): string {
  const changes = backtest.map(({ deliveries, from, to }) => `${deliveries} from ${from} to ${to}`);
  return changes.join(', ') || 'nothing';
}

function printProposal(output: Output, row: Row, at: number): void {
  const { kind, id, checked, learned, errorAllowed, people, days, customers } = row;
  const what = kind === 'unless' ? `exception of ${id}` : `${kind} rule ${id}`;
  output.line(output.style('bold', `${at}. ${what}`));
  output.line(row.text.trimEnd());
  const part = ({ since, until }: Row['checked']) => `${isoDay(since)} to ${isoDay(until)}`;
  output.line(`   learned on ${part(learned)}: ${agreedText(learned)}${amounts(learned.agreed)}`);
  output.line(`   checked on ${part(checked)}: ${agreedText(checked)}${amounts(checked.agreed)}`);
  output.line(
    `   may be wrong in ${errorText(row)} at the most: ${checked.otherwise} of ${checked.acts} ` +
      `acts were otherwise (${errorText({ errorMax: errorAllowed })} is allowed)`,
  );
  output.line(`   rests on ${people} people, ${days} days, ${customers} customers`);
  output.line(`   a backtest with it changes: ${changesText(row)}`);
  for (const one of row.counterexamples.slice(0, COUNTEREXAMPLES_SHOWN)) {
    const named = one.deliveryNo || `id:${one.orderDeliveryId}`;
    output.line(`   otherwise: selvedge deliveries explain ${named} --history (${one.decided})`);
  }
  if (row.lookAgainOn !== null) output.line(`   look again on ${row.lookAgainOn}`);
  output.line();
}

function printBeside(output: Output, beside: Beside): void {
  for (const { conditions, ways } of beside.twoWays) {
    const where = conditions.join(', ') || 'everything';
    const shares = ways.map(({ roles, people, acts, accepted }) => {
      return `${people} of ${roles.join(', ')} accepted ${accepted} of ${acts}`;
    });
    output.line(`two ways of deciding: ${where}`);
    output.line(`   ${shares.join('; ')}: agree first, then ask again`);
  }
  for (const { kind, rule, conditions, why } of beside.refused) {
    const what = rule === null ? kind : `exception of ${rule}`;
    output.line(`not proposed (${what}): ${conditions.join(', ')}`);
    output.line(`   ${why}`);
  }
  for (const { rule, held, alone, accepted, rejected, kept } of beside.overruled) {
    const people = `people accepted ${accepted}, rejected ${rejected}, held on to ${kept}`;
    output.line(`${rule} held ${held}, ${alone} of them alone: ${people}`);
  }
  if (beside.overruled.length > 0) {
    output.line(
      'another limit may do: selvedge rules backtest --since 30d shows what each would let pass',
    );
  }
  if (beside.notGathered.length > 0) {
    output.line(`not asked, for not all decisions gathered it: ${beside.notGathered.join(', ')}`);
  }
}

/** Texts of the rules in force, which the drafts are laid beside. */
async function filesInForce(command: Command, context: CliContext) {
  const { files } = await withMirror(command, context, (db) => ruleSetInForce(db));
  return files.filter(({ path }) => path !== LISTS_FILE);
}

function requireEmpty(folder: string): void {
  mkdirSync(folder, { recursive: true });
  if (readdirSync(folder).length === 0) return;
  throw new UsageError('rules.not_empty', `${folder} is not empty, so nothing was written there`, {
    hint: 'name a new folder; the rules in force are never changed',
  });
}

async function write(
  command: Command,
  context: CliContext,
  folder: string,
  rows: readonly Row[],
): Promise<void> {
  const inForce = await filesInForce(command, context);
  const paths = new Set(inForce.map(({ path }) => path));
  const drafts = rows.map(({ draft: text }) => {
    const rule = parseYaml(text).document.getIn(['rules', 0, 'id']);
    const id = freeId(`suggested-${rule}`, { has: (one) => paths.has(`${one}.yaml`) });
    const path = `${id}.yaml`;
    paths.add(path);
    return { path, text };
  });
  for (const { path, text } of [...inForce, ...drafts]) {
    writeFileSync(join(folder, path), text, { flag: 'wx' });
  }
  context.output.note(
    `${folder} has the rules in force and ${plural(drafts.length, 'draft')} in shadow; next: ` +
      `selvedge rules backtest --since 30d --shadow-as-live --rules ${folder}`,
  );
}

async function run(context: CliContext, command: Command): Promise<boolean> {
  const { since, owner, limit, json, csv, write: folder } = command.opts<Options>();
  if (folder !== undefined) {
    requireHere(remoteConsoleOf(command, context), '--write');
    requireEmpty(folder);
  }
  const given = { ...(since !== undefined && { since }), ...(owner !== undefined && { owner }) };
  const found = await readRows(command, context, suggestions, { ...given, limit });
  const rows = z.array(suggestions.row).parse(found.rows);
  if (folder !== undefined) await write(command, context, folder, rows);
  if (json === true || csv === true) {
    printRows(command, context.output, suggestions, found);
    return true;
  }
  const beside = besideSchema.parse(found.beside);
  const { output } = context;
  output.line(`${isoDay(beside.since)} to ${isoDay(beside.until)}: ${learnedText(beside)}`);
  output.line();
  for (const [at, row] of rows.entries()) printProposal(output, row, at + 1);
  if (rows.length === 0) output.line(suggestions.empty);
  printBeside(output, beside);
  return true;
}

export function rulesSuggest(context: CliContext): Command {
  return listCommand(suggestions, context, (command) => run(context, command)).option(
    '--write <dir>',
    'write the rules in force with the proposals in shadow into a new folder',
  );
}
