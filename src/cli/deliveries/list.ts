/** `selvedge deliveries list`: lists packed deliveries and what was decided about each. */
import { Command, Option } from 'commander';
import { z } from 'zod';
import { describeMatching, type Matching } from '../../decisions/review/bulk.ts';
import type { Shown } from '../../decisions/review/filter.ts';
import { type ReviewRow, selectForReview } from '../../decisions/review/listing.ts';
import { deliveries, filterFor, selectionSchema } from '../../decisions/review/lists.ts';
import type { Given } from '../../surface/given.ts';
import { ROWS_MAX } from '../../surface/lists.ts';
import { type CliContext, examples } from '../command.ts';
import { remoteConsoleOf } from '../remote/console.ts';
import { placeOptions, printRows, readRows, textsOf, withReading } from '../surface-lists.ts';
import { filterOptions } from '../surface-many.ts';
import { statedBy } from '../surface-options.ts';

const STATUSES = ['pending', 'accepted', 'rejected', 'canceled'] as const;
const FLAGS = ['waiting', 'held', 'uncovered', 'undecided', 'refused', ...STATUSES] as const;

interface ListOptions extends Partial<Record<(typeof FLAGS)[number], boolean>> {
  readonly status?: (typeof STATUSES)[number];
  readonly sort?: string;
  readonly descending?: boolean;
  readonly after?: string;
  readonly limit: number;
  readonly json?: boolean;
  readonly csv?: boolean;
}

/** Creates an option that chooses which deliveries are listed, and excludes the other choices. */
function choice(name: (typeof FLAGS)[number], what: string): Option {
  return new Option(`--${name}`, what).conflicts(FLAGS.filter((other) => other !== name));
}

function shownBy(options: ListOptions): Shown {
  return FLAGS.find((name) => options[name] === true) ?? options.status ?? 'all';
}

/** Order of the list: the newest delivery first; where they wait, those that have so longest. */
function orderOf({ sort, descending }: ListOptions, shown: Shown) {
  if (sort !== undefined) return { sort, descending: descending === true ? '1' : '0' };
  return ['waiting', 'held', 'uncovered'].includes(shown)
    ? { sort: 'waiting', descending: descending === true ? '1' : '0' }
    : { sort: 'number', descending: '1' };
}

function isHeld({ status, outcome, push }: ReviewRow): boolean {
  return status === 'pending' && outcome === 'hold' && push === null;
}

/** The list without columns in which all rows have the same, or nothing. */
function withoutSpare(rows: readonly ReviewRow[]) {
  const spare = [
    rows.every(isHeld) && 'State',
    rows.every(({ deadline, overdue }) => deadline === null && !overdue) && 'Hold ends',
  ];
  const terminal = deliveries.terminal?.filter((title) => !spare.includes(title)) ?? [];
  return rows.length === 0 ? deliveries : { ...deliveries, terminal };
}

/** All that fit the filter, for an act on them. */
async function matchingOf(command: Command, context: CliContext, filter: Given): Promise<Matching> {
  const remote = remoteConsoleOf(command, context);
  if (remote) return remote.get('/review/selection.json', selectionSchema, textsOf(filter));
  return withReading(command, context, async (from) =>
    selectForReview(from.db, await filterFor(from, filter)),
  );
}

async function show(command: Command, context: CliContext, options: ListOptions): Promise<void> {
  const { output } = context;
  const { after, limit, json, csv } = options;
  const shown = shownBy(options);
  const filter = { ...statedBy({ input: deliveries.query }, command), shown };
  const place = { ...orderOf(options, shown), ...(after !== undefined && { after }), limit };
  const { next, ...found } = await readRows(command, context, deliveries, { ...filter, ...place });
  const rows = z.array(deliveries.row).parse(found.rows);
  if (next !== null) {
    const more =
      rows.length < limit
        ? 'only the newest deliveries were looked through'
        : `there are more than ${limit} rows; --limit shows more`;
    output.note(`${more}, --after ${next} goes on`);
  }
  printRows(command, output, withoutSpare(rows), { ...found, hasMore: false });
  // People act on all at once only of what is held.
  const matching = shown === 'held' ? await matchingOf(command, context, filter) : undefined;
  if (matching === undefined || matching.count === 0) return;
  const described = describeMatching(matching);
  if (json === true || csv === true) output.note(described);
  else output.line(described);
}

export function deliveriesList(context: CliContext): Command {
  const command = new Command('list').summary(deliveries.about).description(deliveries.more ?? '');
  command
    .addOption(choice('waiting', 'only pending ones that wait for a person'))
    .addOption(choice('held', 'only pending ones that are held'))
    .addOption(choice('uncovered', 'only pending ones to which no rule applies'))
    .addOption(choice('undecided', 'only pending ones that are not held'))
    .addOption(choice('pending', 'only pending ones'))
    .addOption(choice('accepted', 'only accepted ones'))
    .addOption(choice('rejected', 'only rejected ones'))
    .addOption(choice('canceled', 'only canceled ones'))
    .addOption(choice('refused', 'only those whose decision the service did not take'))
    .addOption(
      new Option('--status <status>', 'only this status').choices(STATUSES).conflicts([...FLAGS]),
    );
  for (const option of filterOptions(deliveries.query)) command.addOption(option);
  command.option('--after <place>', 'go on behind the rows before; printed where there are more');
  return placeOptions(deliveries, command, { limit: 50, most: ROWS_MAX })
    .addHelpText('after', examples(deliveries.examples))
    .action((options: ListOptions, self: Command) => show(self, context, options));
}
