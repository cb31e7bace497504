/** `selvedge rules explain <delivery>`: what the rules say of a delivery now, and why. */
import { Command } from 'commander';
import { pauseOfAccepts } from '../../decisions/accept/pace.ts';
import { type DecisionRecord, decisionsOf } from '../../decisions/desk.ts';
import { lapsedRules, readHolds } from '../../decisions/holds/holds.ts';
import { armedRuleIds } from '../../decisions/reject/arming.ts';
import { leftAlone, presentSubject } from '../../decisions/simulation/present.ts';
import { systemClock } from '../../lib/clock.ts';
import { visible } from '../../lib/strings.ts';
import { evaluate } from '../../rules/evaluate.ts';
import { explain } from '../../rules/explain.ts';
import type { Facts } from '../../rules/facts/plain.ts';
import { type CliContext, examples } from '../command.ts';
import { configOf } from '../configuration.ts';
import { withMirror } from '../reading.ts';
import { namedRuleSet } from './rule-sets.ts';

interface ExplainOptions {
  readonly rules?: string;
  readonly json?: boolean;
}

type Delivery = Facts['delivery'];

/** The outcome that leads to a state. */
const OUTCOMES: Readonly<Record<string, string>> = { accepted: 'accept', rejected: 'reject' };

/** States of a push that may have set the state of its delivery. */
const MAY_HAVE_SET = ['sending', 'sent', 'in_doubt', 'confirmed'];

/** What brought the delivery where it is: a decision that was sent, or made at the service. */
function endedBy({ status }: Delivery, decisions: readonly DecisionRecord[]) {
  return decisions.find(
    ({ outcome, push, actor }) =>
      outcome === OUTCOMES[status ?? ''] &&
      (actor === 'external' || MAY_HAVE_SET.includes(push?.state ?? '')),
  );
}

/** Which rules are asked about what is no longer pending. */
function askedNow({ status }: Delivery, by: DecisionRecord | undefined): string {
  if (status !== 'accepted') return 'no rule is asked about it now';
  if (by?.actor !== 'daemon') return 'no rule takes it back';
  return 'only hold rules with "applies_to: [pending, accepted]" are asked about it now';
}

/** Why most rules say nothing about a delivery that is no longer pending. */
function statusLines(delivery: Delivery, by: DecisionRecord | undefined): string[] {
  const { id, number, status } = delivery;
  if (status === 'pending') return [];
  const asked = askedNow(delivery, by);
  if (!by) return [`${number} is ${status}, by no decision in the journal; ${asked}`];
  const { decisionId, at, actor, evaluation, reason } = by;
  const rules = actor === 'daemon' ? ` (${evaluation.live.rules.join(' ')})` : '';
  return [
    visible(`${number} is ${status}: decision ${decisionId} by ${actor}${rules}, ${reason}`),
    `  decided ${new Date(at).toISOString()}; selvedge deliveries explain ${id}`,
    `  ${asked}`,
  ];
}

async function explainNow(
  context: CliContext,
  asked: string,
  options: ExplainOptions,
  command: Command,
): Promise<void> {
  const { directory, mode } = configOf(command, context).config.rules;
  const now = systemClock().now();
  const { evaluation, delivery, by, inWay } = await withMirror(
    command,
    context,
    async (db, store) => {
      const ruleSet = await namedRuleSet(db, options.rules ?? directory);
      const subject = await presentSubject(store, asked, ruleSet, now);
      const { facts } = subject;
      const { delivery } = facts;
      const { armed, lapsed, left, pause } = await store.snapshot(async (tx) => ({
        armed: await armedRuleIds(tx, ruleSet, now),
        lapsed: lapsedRules(await readHolds(tx, delivery.id), now),
        left: await leftAlone(tx, subject),
        pause: await pauseOfAccepts(tx, ruleSet.settings, now),
      }));
      const most = mode === 'shadow' ? 'shadow' : 'live';
      const evaluation = evaluate(ruleSet, facts, { mode: most, armed, lapsed });
      const by = endedBy(delivery, await decisionsOf(db, delivery.id));
      const inWay = left ?? (evaluation.live.kind === 'accept' ? pause : undefined);
      return { evaluation, delivery, by, inWay: delivery.status === 'pending' ? inWay : undefined };
    },
  );
  const { output } = context;
  if (options.json === true) {
    const { status } = delivery;
    const decisionId = by?.decisionId ?? null;
    output.json({ ...evaluation, status, decisionId, inWay: inWay ?? null });
    return;
  }
  if (inWay !== undefined) output.line(`${delivery.number} is pending: ${inWay}`);
  for (const line of statusLines(delivery, by)) output.line(line);
  output.line(explain(evaluation));
}

export function rulesExplain(context: CliContext): Command {
  return new Command('explain')
    .summary('show what the rules say of a delivery now, and why')
    .description(
      'Asks the rules about the present facts of the delivery, decides nothing and writes\n' +
        'nothing. What was decided before is shown by "deliveries explain"; of a\n' +
        'delivery that is no longer pending, this tells which decision ended that, and of one\n' +
        'that is, what keeps the rules from it: people have decided, or accepting pauses.',
    )
    .argument('<delivery>', 'the id or the number of the delivery')
    .option('--rules <dir|hash>', 'other rules than the configured ones')
    .option('--json', 'as JSON')
    .addHelpText(
      'after',
      examples([
        ['rules explain 500012', 'under the rules of the service'],
        ['rules explain 500012 --rules my-rules', 'under rules that are being written'],
      ]),
    )
    .action((delivery: string, options: ExplainOptions, command: Command) =>
      explainNow(context, delivery, options, command),
    );
}
