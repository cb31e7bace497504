/** `selvedge plane status`: how the copy of this account is, and what else the plane holds. */
import { Command } from 'commander';
import type { Config } from '../../config/schema.ts';
import { withPlane } from '../../daemon/plane.ts';
import { systemClock } from '../../lib/clock.ts';
import { SelvedgeError } from '../../lib/errors.ts';
import { formatDuration } from '../../lib/units.ts';
import {
  describeCopy,
  type PlaneCopy,
  planeAccount,
  planeSettingsOf,
  readPlaneCopy,
} from '../../ops/plane-copy.ts';
import { requireSchema } from '../../plane/schema.ts';
import { type AccountStatus, planeStatus } from '../../plane/status.ts';
import { type LedgerFeedState, ledgerFeedState } from '../../store/ledger-feed.ts';
import { type CliContext, examples } from '../command.ts';
import { configOf } from '../configuration.ts';
import type { Output } from '../output.ts';
import { withMirror } from '../reading.ts';

interface Found {
  readonly account: string;
  readonly schema: string;
  readonly feed: LedgerFeedState;
  /** The copy as its process tells on this machine. */
  readonly copy: PlaneCopy | null;
  /** The accounts as PostgreSQL tells; null: it could not be asked. */
  readonly accounts: readonly AccountStatus[] | null;
}

const FEED = {
  whole: 'as it should be',
  absent: 'there is none: selvedge plane init',
  broken: 'is not whole: selvedge plane init',
} as const;

function ago(ms: number): string {
  return `${formatDuration(Math.max(0, ms))} ago`;
}

function print(
  output: Output,
  { account, schema, feed, copy, accounts }: Found,
  now: number,
): void {
  output.line(`account     ${account} (schema ${schema})`);
  output.line(`feed        ${FEED[feed]}`);
  if (copy) output.line(`copy        ${copy.isLate ? 'LATE: ' : ''}${describeCopy(copy)}`);
  if (!accounts) return;
  output.line();
  output.table(
    ['ACCOUNT', 'LAG', 'WRITTEN', 'ROWS', 'FEED', 'LEDGERS'],
    accounts.map((one) => [
      one.account,
      one.lagMs === undefined ? '-' : formatDuration(one.lagMs),
      ago(now - one.writtenAt),
      ...[one.rows ?? '-', one.seq, one.ledgerSeq].map(String),
    ]),
  );
}

async function read(config: Config, feed: LedgerFeedState, now: number) {
  const found = {
    account: planeAccount(config),
    schema: config.plane.schema,
    feed,
    copy: readPlaneCopy(planeSettingsOf(config), now),
  };
  try {
    const accounts = await withPlane(config, async ({ client }) => {
      await requireSchema(client);
      return planeStatus(client, now);
    });
    return { found: { ...found, accounts }, error: undefined };
  } catch (error) {
    // Without PostgreSQL this machine's own knowledge is still told.
    if (!(error instanceof SelvedgeError)) throw error;
    return { found: { ...found, accounts: null }, error };
  }
}

export function planeStatusCommand(context: CliContext): Command {
  return new Command('status')
    .summary('show how far the copy in PostgreSQL is')
    .description('What this machine knows, then the accounts that the plane holds.')
    .option('--json', 'as JSON')
    .addHelpText('after', examples([['plane status', 'does the copy follow?']]))
    .action(async ({ json }: { readonly json?: boolean }, command: Command) => {
      const { config } = configOf(command, context);
      const now = systemClock().now();
      const feed = await withMirror(command, context, ledgerFeedState);
      const { found, error } = await read(config, feed, now);
      if (json === true) context.output.json(found);
      else print(context.output, found, now);
      if (error) throw error;
    });
}
