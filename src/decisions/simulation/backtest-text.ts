/**
 * A backtest report as text: first the changed outcomes, then the agreement with people, the use of
 * the rules, and the rejects.
 */
import { decimalOf, formatAmount } from '../../lib/money.ts';
import { explain } from '../../rules/explain.ts';
import type { Amounts, Backtest, WouldBeReject } from './backtest.ts';
import { momentsText, notKnownHint, notKnownText } from './not-known.ts';
import { isSilent } from './rule-use.ts';

const HASH_CHARS = 16;
const MOVES_SHOWN_MAX = 10;

function count(number: number, one: string, many = `${one}s`): string {
  return `${number} ${number === 1 ? one : many}`;
}

function amountsText(amounts: Amounts): string {
  return Object.entries(amounts)
    .sort(([a], [b]) => (a < b ? -1 : 1))
    .map(([currency, sum]) => `${sum === null ? '?' : formatAmount(sum, currency)} ${currency}`)
    .join(' + ');
}

/** Pads the columns of rows so that they align; the last column is not padded. */
function columns(rows: readonly (readonly string[])[]): readonly string[] {
  const widths = (rows[0] ?? []).map((_, at) =>
    Math.max(...rows.map((row) => row[at]?.length ?? 0)),
  );
  return rows.map((row) =>
    `   ${row.map((cell, at) => cell.padEnd(widths[at] ?? 0)).join('  ')}`.trimEnd(),
  );
}

function changeLines({ changes }: Backtest): readonly string[] {
  if (changes.length === 0) return ['   none'];
  return columns(
    changes.map(({ from, to, deliveries, amounts, examples }) => [
      `${from} -> ${to}`,
      count(deliveries, 'delivery', 'deliveries'),
      amountsText(amounts),
      `e.g. ${examples.join(' ')}`,
    ]),
  );
}

function useLines({ uses }: Backtest): readonly string[] {
  const fired = uses.filter((use) => !isSilent(use));
  return columns(
    fired.map(({ id, action, mode, fired: times, unknown, notGathered }) => [
      id,
      `${action}, ${mode}`,
      count(times, 'delivery', 'deliveries'),
      unknown > 0 ? `could not be evaluated on ${unknown}` : '',
      notGathered > 0 ? `not known on ${notGathered}` : '',
    ]),
  );
}

/** Lines about deliveries that are not known, and about moments that were never looked at. */
function notKnownLines({ notKnown, deliveries, found }: Backtest): readonly string[] {
  const [text, moments] = [notKnownText(notKnown, deliveries), momentsText(found)];
  const examples = `e.g. delivery ${notKnown.examples.join(' ')}`;
  return [
    ...(text === undefined
      ? []
      : [
          text,
          `   they are in none of the counts below, ${examples}`,
          `   ${notKnownHint(notKnown)}`,
        ]),
    ...(moments === undefined ? [] : [moments]),
  ];
}

/** Lines about limits that alone prevented accepts, and what other limits would let pass. */
function moveLines({ moves }: Backtest): readonly string[] {
  if (moves.length === 0) return ['   none'];
  return moves
    .slice(0, MOVES_SHOWN_MAX)
    .flatMap(({ id, line, clause, steps }) => [
      `   ${id}  line ${line} ${clause}`,
      ...columns(
        steps.map(({ text, pass: { deliveries, amounts, examples } }) => [
          `  ${text}`,
          count(deliveries, 'delivery', 'deliveries'),
          amountsText(amounts),
          `e.g. ${examples.join(' ')}`,
        ]),
      ),
    ]);
}

function rejectLines({ evaluation, outcome, isNew, decisionId }: WouldBeReject): readonly string[] {
  const head = `${isNew ? 'new: ' : ''}${outcome.reason} (facts of decision ${decisionId})`;
  const lines = explain(evaluation).split('\n');
  return ['', `   ${head}`, ...lines.map((line) => `   ${line}`)];
}

function decimals(amounts: Amounts): Amounts {
  const all = Object.entries(amounts);
  return Object.fromEntries(all.map(([unit, sum]) => [unit, sum === null ? null : decimalOf(sum)]));
}

/** The report for programs: unchanged, but with amounts as decimals. */
export function backtestJson(report: Backtest): Backtest {
  const stakes = (all: Backtest['changes']) =>
    all.map((one) => ({ ...one, amounts: decimals(one.amounts) }));
  const moves = report.moves.map((move) => ({
    ...move,
    steps: move.steps.map((step) => {
      return { ...step, pass: { ...step.pass, amounts: decimals(step.pass.amounts) } };
    }),
  }));
  const changed = report.changed.map(({ amount, ...one }) => {
    return { ...one, amount: amount === null ? null : decimalOf(amount) };
  });
  return {
    ...report,
    changes: stakes(report.changes),
    unchanged: stakes(report.unchanged),
    changed,
    moves,
    rejectAmounts: decimals(report.rejectAmounts),
  };
}

export function formatBacktest(report: Backtest): string {
  const { rules, against, since, until, deliveries, decisions, rejects } = report;
  const before = against === null ? 'the journal' : against.slice(0, HASH_CHARS);
  const period = [since, until].map((at) => new Date(at).toISOString()).join(' to ');
  const together = report.together.map((ids) => ids.join(' + ')).join(', ');
  const silent = report.uses.filter(isSilent).map(({ id }) => id);
  const all = `${count(deliveries, 'delivery', 'deliveries')}, ${count(decisions, 'decision')}`;
  const total = report.rejectCount;
  const more = total > rejects.length ? `, the first ${rejects.length} in full` : '';
  return [
    `rules ${before} -> ${rules.slice(0, HASH_CHARS)}   ${all}, ${period}`,
    ...notKnownLines(report),
    'changed decisions',
    ...changeLines(report),
    'what the rules say / what became of it',
    ...columns(report.agreement.map((row) => [row.outcome, row.actual, String(row.deliveries)])),
    'rules that matched',
    ...useLines(report),
    `never matched: ${silent.join(', ') || 'none'}`,
    `always matched together: ${together || 'none'}`,
    'another limit would let pass',
    ...moveLines(report),
    `would be rejected: ${total}, new ${report.newRejects}${more}`,
    ...(total > 0 ? [`at stake: ${amountsText(report.rejectAmounts) || 'not known'}`] : []),
    ...rejects.flatMap(rejectLines),
  ].join('\n');
}
