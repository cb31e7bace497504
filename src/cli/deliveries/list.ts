/** `selvedge deliveries list`: lists packed deliveries and what was decided about each. */
import { Command, Option } from 'commander';
import { LIST_MAX } from '../../console/read/list.ts';
import { describeMatching } from '../../decisions/review/bulk.ts';
import type { Shown } from '../../decisions/review/filter.ts';
import { type ReviewRow, SORTS, type Sort } from '../../decisions/review/listing.ts';
import { systemClock } from '../../lib/clock.ts';
import { formatDecimal } from '../../lib/money.ts';
import { formatDuration } from '../../lib/units.ts';
import { wholeNumber } from '../arguments.ts';
import { type CliContext, examples } from '../command.ts';
import { withMirror } from '../reading.ts';
import { remoteConsoleOf } from '../remote/console.ts';
import {
  addFilterOptions,
  type FoundDeliveries,
  filterQuery,
  findHere,
  findOverUrl,
} from './filter.ts';

const STATUSES = ['pending', 'accepted', 'rejected', 'canceled'] as const;
const FLAGS = ['held', 'undecided', 'refused', ...STATUSES] as const;

interface ListOptions extends Partial<Record<(typeof FLAGS)[number], boolean>> {
  readonly status?: (typeof STATUSES)[number];
  readonly sort?: Sort;
  readonly descending?: boolean;
  readonly after?: string;
  readonly limit: number;
  readonly json?: boolean;
}

/** Creates an option that chooses which deliveries are listed, and excludes the other choices. */
function choice(name: (typeof FLAGS)[number], what: string): Option {
  return new Option(`--${name}`, what).conflicts(FLAGS.filter((other) => other !== name));
}

function shownBy(options: ListOptions): Shown {
  return FLAGS.find((name) => options[name] === true) ?? options.status ?? 'all';
}

/** Order of the list: the newest delivery first; of held ones, those that have waited longest. */
function orderOf({ sort, descending }: ListOptions, shown: Shown) {
  if (sort !== undefined) return { sort, descending: descending === true ? '1' : '0' };
  return shown === 'held'
    ? { sort: 'waiting', descending: descending === true ? '1' : '0' }
    : { sort: 'number', descending: '1' };
}

/**
 * A column of the list; left out if `isSpare` says that all rows have the same in it, or nothing.
 */
interface Column {
  readonly title: string;
  readonly text: (row: ReviewRow, now: number) => string;
  readonly isSpare?: (rows: readonly ReviewRow[]) => boolean;
}

const COLUMNS: readonly Column[] = [
  { title: 'ID', text: ({ orderDeliveryId }) => String(orderDeliveryId) },
  { title: 'NUMBER', text: ({ deliveryNo }) => deliveryNo ?? '' },
  { title: 'CUSTOMER', text: ({ customer, accountNo }) => customer ?? accountNo ?? '?' },
  { title: 'IN', text: ({ country }) => country ?? '?' },
  { title: 'PCS', text: ({ pieces }) => (pieces === null ? '?' : String(pieces)) },
  { title: 'VALUE', text: valueText },
  { title: 'STATE', text: stateText, isSpare: (rows) => rows.every(isHeld) },
  { title: 'AGE', text: ({ packedAt }, now) => formatDuration(Math.max(0, now - packedAt)) },
  {
    title: 'UNTIL',
    text: untilText,
    isSpare: (rows) => rows.every(({ deadline, overdue }) => deadline === null && !overdue),
  },
  { title: 'BY', text: byText },
  { title: 'REASON', text: reasonText },
];

function isHeld({ status, outcome, push }: ReviewRow): boolean {
  return status === 'pending' && outcome === 'hold' && push === null;
}

/**
 * Describes a delivery's state: its status, or the decision while it is pending, and a push that is
 * not confirmed yet.
 */
function stateText({ status, outcome, push }: ReviewRow): string {
  const state = status === 'pending' ? (outcome ?? status) : status;
  return push === null || push === 'confirmed' ? state : `${state}, ${push}`;
}

function byText({ rules, decidedBy }: ReviewRow): string {
  if (rules.length > 0) return rules.join(' ');
  return decidedBy === null || decidedBy === 'daemon' ? '-' : decidedBy;
}

function valueText({ value, currency }: ReviewRow): string {
  if (value === null) return '?';
  return `${formatDecimal(value, currency)} ${currency ?? ''}`.trim();
}

function untilText({ deadline, overdue }: ReviewRow, now: number): string {
  if (overdue) return 'OVERDUE';
  return deadline === null ? '-' : formatDuration(Math.max(0, deadline - now));
}

function reasonText({ reason, refusal, note }: ReviewRow): string {
  const text = refusal === null ? (reason ?? '') : `${refusal} (${reason})`;
  return note === null ? text : `${text} [note: ${note}]`;
}

function tell({ output }: CliContext, found: FoundDeliveries, options: ListOptions): void {
  const { page, matching } = found;
  const { next, rows } = page;
  if (next !== null) {
    const more =
      rows.length < options.limit
        ? 'only the newest deliveries were looked through'
        : `there are more than ${options.limit} rows; --limit shows more`;
    output.note(`${more}, --after ${next} goes on`);
  }
  const described =
    matching === undefined || matching.count === 0 ? undefined : describeMatching(matching);
  if (options.json === true) {
    output.json(rows);
    if (described !== undefined) output.note(described);
    return;
  }
  const now = systemClock().now();
  const columns = COLUMNS.filter(({ isSpare }) => rows.length === 0 || isSpare?.(rows) !== true);
  output.table(
    columns.map(({ title }) => title),
    rows.map((row) => columns.map(({ text }) => text(row, now))),
  );
  if (described !== undefined) output.line(described);
}

export function deliveriesList(context: CliContext): Command {
  const command = new Command('list')
    .summary('list deliveries with their latest decision')
    .description(
      'The newest first; with --held those that have waited longest. Filters are those of the\n' +
        'console. The last line is about all that fit, also beyond --limit; its mark is for\n' +
        '"deliveries accept --all-matching" and its like.',
    )
    .addOption(choice('held', 'only pending ones that are held'))
    .addOption(choice('undecided', 'only pending ones that are not held'))
    .addOption(choice('pending', 'only pending ones'))
    .addOption(choice('accepted', 'only accepted ones'))
    .addOption(choice('rejected', 'only rejected ones'))
    .addOption(choice('canceled', 'only canceled ones'))
    .addOption(choice('refused', 'only those whose decision the service did not take'))
    .addOption(
      new Option('--status <status>', 'only this status').choices(STATUSES).conflicts([...FLAGS]),
    );
  return addFilterOptions(command)
    .addOption(new Option('--sort <by>', 'in this order').choices(SORTS))
    .option('--descending', 'the greatest, longest or last first')
    .option('--after <place>', 'go on behind the rows before; printed where there are more')
    .option('--limit <n>', 'how many at the most', wholeNumber(1, LIST_MAX), 50)
    .option('--json', 'as JSON')
    .addHelpText(
      'after',
      examples([
        ['deliveries list --held', 'what waits for a person'],
        ['deliveries list --held --rule hold-large --country DK --sort value', 'a part of it'],
        ['deliveries list --status accepted --json', 'for programs'],
      ]),
    )
    .action(async (options: ListOptions, self: Command) => {
      const shown = shownBy(options);
      const { after, limit } = options;
      const query = {
        ...filterQuery(self, shown),
        ...orderOf(options, shown),
        ...(after !== undefined && { after }),
        limit: String(limit),
      };
      const remote = remoteConsoleOf(self, context);
      const found = remote
        ? await findOverUrl(remote, query)
        : await withMirror(self, context, (db) => findHere(db, query));
      tell(context, found, options);
    });
}
