/**
 * `selvedge deliveries explain <delivery>`: explains why a delivery was decided as it was, or what
 * the rules say of it now.
 */
import { Command } from 'commander';
import {
  type DecisionRecord,
  decisionsOf,
  deliveryIdOf,
} from '../../decisions/review/deliveries.ts';
import { whyUndecided } from '../../decisions/review/undecided.ts';
import { type ExplainedNow, explainNow } from '../../decisions/simulation/explain-now.ts';
import { pastCounterfactuals } from '../../decisions/simulation/replay.ts';
import { systemClock } from '../../lib/clock.ts';
import { SelvedgeError } from '../../lib/errors.ts';
import { visible } from '../../lib/strings.ts';
import { freshnessOf } from '../../ops/status.ts';
import { type Counterfactual, counterfactualText } from '../../rules/analysis/counterfactuals.ts';
import type { Evaluation } from '../../rules/evaluate.ts';
import { explain, explainFolded } from '../../rules/explain.ts';
import type { Db } from '../../store/store.ts';
import { type CliContext, examples } from '../command.ts';
import { configOf } from '../configuration.ts';
import type { Output } from '../output.ts';
import { withMirror } from '../reading.ts';
import { type RemoteConsole, remoteConsoleOf, requireHere } from '../remote/console.ts';
import { readRemoteDelivery } from '../remote/deliveries.ts';
import { namedRuleSet } from '../rules/rule-sets.ts';

interface Options {
  readonly all?: boolean;
  readonly history?: boolean;
  readonly now?: boolean;
  readonly rules?: string;
  readonly json?: boolean;
}

/** A decision, with the changes that would have let its delivery pass. */
interface Explained extends DecisionRecord {
  readonly counterfactuals: readonly Counterfactual[];
}

function printCounterfactuals(output: Output, found: readonly Counterfactual[]): void {
  for (const one of found) output.line(visible(counterfactualText(one)));
}

function explained(evaluation: Evaluation, { all }: Options): string {
  return all === true ? explain(evaluation) : explainFolded(evaluation);
}

function printDecision(output: Output, decision: Explained, options: Options): void {
  const { decisionId, trigger, actor, mode, push, counterfactuals } = decision;
  const at = new Date(decision.at).toISOString();
  output.line(`decision ${decisionId}  ${at}  by ${actor}, because: ${trigger}, mode ${mode}`);
  output.line(`rule set ${decision.ruleSetHash.slice(0, 16)}`);
  if (push !== null) output.line(`push     ${push.state}${push.error ? ` (${push.error})` : ''}`);
  if (decision.reason !== decision.evaluation.live.reason) {
    output.line(`outcome  ${decision.outcome}: ${decision.reason}`);
  }
  output.line(explained(decision.evaluation, options));
  printCounterfactuals(output, counterfactuals);
}

/**
 * Finds decisions by id first, because a delivery that the service no longer has is known by that
 * alone.
 */
async function decisionsAbout(db: Db, delivery: string): Promise<DecisionRecord[]> {
  const byId = /^\d{1,15}$/.test(delivery) ? await decisionsOf(db, Number(delivery)) : [];
  return byId.length > 0 ? byId : decisionsOf(db, await deliveryIdOf(db, delivery));
}

/** Explains why most rules say nothing about a delivery that is no longer pending. */
function statusLines({ delivery, by, asked }: ExplainedNow): string[] {
  const { id, number, status } = delivery;
  if (asked === undefined) return [];
  if (!by) return [`${number} is ${status}, by no decision in the journal; ${asked}`];
  const { decisionId, at, actor, evaluation, reason } = by;
  const rules = actor === 'daemon' ? ` (${evaluation.live.rules.join(' ')})` : '';
  return [
    visible(`${number} is ${status}: decision ${decisionId} by ${actor}${rules}, ${reason}`),
    `  decided ${new Date(at).toISOString()}; selvedge deliveries explain ${id}`,
    `  ${asked}`,
  ];
}

async function showNow(
  context: CliContext,
  named: string,
  options: Options,
  command: Command,
): Promise<void> {
  const { config } = configOf(command, context);
  const { directory, mode } = config.rules;
  const now = systemClock().now();
  const most = mode === 'shadow' ? 'shadow' : 'live';
  const found = await withMirror(command, context, async (db, store) => {
    const ruleSet = await namedRuleSet(db, options.rules ?? directory);
    return explainNow(store, named, { ruleSet, most, freshness: freshnessOf(config) }, now);
  });
  const { evaluation, delivery, by, inWay, counterfactuals } = found;
  const { output } = context;
  if (options.json === true) {
    const { status } = delivery;
    const decisionId = by?.decisionId ?? null;
    output.json({ ...evaluation, status, decisionId, inWay: inWay ?? null, counterfactuals });
    return;
  }
  if (inWay !== undefined) output.line(`${delivery.number} is pending: ${inWay}`);
  for (const line of statusLines(found)) output.line(line);
  output.line(explained(evaluation, options));
  printCounterfactuals(output, counterfactuals);
}

function whyNone(command: Command, context: CliContext, named: string): Promise<string> {
  const now = systemClock().now();
  return withMirror(command, context, async (db) =>
    whyUndecided(db, await deliveryIdOf(db, named), now),
  );
}

function explainPast({ output }: CliContext, shown: readonly Explained[], options: Options): void {
  if (options.json === true) {
    output.json(shown);
    return;
  }
  for (const [index, decision] of shown.entries()) {
    if (index > 0) output.line();
    printDecision(output, decision, options);
  }
}

/** Chooses the decisions to show: the latest, or all with `--history`. */
function shownOf<T>(all: readonly T[], { history }: Options): readonly T[] {
  return history === true ? all : all.slice(0, 1);
}

async function pastHere(db: Db, delivery: string, options: Options): Promise<Explained[]> {
  const shown = shownOf(await decisionsAbout(db, delivery), options);
  const ids = shown.map(({ decisionId }) => decisionId);
  const counterfactuals = await pastCounterfactuals(db, ids);
  return shown.map((one) => {
    return { ...one, counterfactuals: counterfactuals.get(one.decisionId) ?? [] };
  });
}

async function pastOverUrl(remote: RemoteConsole, delivery: string): Promise<Explained[]> {
  const { card, counterfactuals } = await readRemoteDelivery(remote, delivery);
  return card.decisions.map((one) => {
    return { ...one, counterfactuals: counterfactuals[one.decisionId] ?? [] };
  });
}

export function deliveriesExplain(context: CliContext): Command {
  return new Command('explain')
    .summary('show why a delivery was decided as it was, or would be now')
    .description(
      'The latest decision with the rules that decided and the values they saw; of the others\n' +
        'what matched or missed by one condition, and the rest with --all. Earlier decisions\n' +
        'with --history. --now or --rules asks the rules about the present facts: that\n' +
        'decides nothing and writes nothing, and tells what keeps the rules from the delivery:\n' +
        'it is not pending any more, people have decided, or a safeguard holds it. Where one\n' +
        'condition alone stands in the way, it names the limit that would let it pass.',
    )
    .argument('<delivery>', 'id or number (selvedge deliveries list)')
    .option('--all', 'every rule with every condition')
    .option('--history', 'every decision, the latest first')
    .option('--now', 'what the rules say of it now')
    .option('--rules <dir|hash>', 'the same with other rules than the configured ones')
    .option('--json', 'as JSON')
    .addHelpText(
      'after',
      examples([
        ['deliveries explain 500012', 'why it was held'],
        ['deliveries explain 500012 --now', 'what the rules say of it now'],
        ['deliveries explain 500012 --rules my-rules', 'under rules that are being written'],
      ]),
    )
    .action(async (delivery: string, options: Options, command: Command) => {
      const remote = remoteConsoleOf(command, context);
      if (options.now === true || options.rules !== undefined) {
        requireHere(remote, options.now === true ? '--now' : '--rules');
        await showNow(context, delivery, options, command);
        return;
      }
      const found = remote
        ? await pastOverUrl(remote, delivery)
        : await withMirror(command, context, (db) => pastHere(db, delivery, options));
      if (found.length === 0) {
        const message = `there is no decision about delivery ${delivery}`;
        const hint = remote ? undefined : await whyNone(command, context, delivery);
        throw new SelvedgeError('deliveries.undecided', message, { hint });
      }
      explainPast(context, shownOf(found, options), options);
    });
}
