/** Lists names for completion that only the installation knows. */
import type { Command } from 'commander';
import { pulledStreams } from '../../config/streams.ts';
import { createRulesShown } from '../../console/rules.ts';
import { deliveries } from '../../decisions/review/lists.ts';
import { pushes } from '../../outbox/lists.ts';
import { readReports } from '../../report/report-file.ts';
import type { CliContext } from '../command.ts';
import { configOf } from '../configuration.ts';
import { withMirror } from '../reading.ts';
import { type RemoteConsole, remoteConsoleOf } from '../remote/console.ts';
import { readRemoteOverview } from '../remote/status.ts';
import { readRows } from '../surface-lists.ts';

export const OFFERS = ['streams', 'reports', 'rules', 'deliveries', 'outbox'] as const;
export type Offer = (typeof OFFERS)[number];

/** Maximum of names offered: more than that nobody reads at a prompt. */
const NAMES_MAX = 100;
const WAITING = { shown: 'waiting', limit: String(NAMES_MAX) } as const;

async function overUrl(remote: RemoteConsole, offer: Offer): Promise<readonly string[]> {
  if (offer !== 'streams') return [];
  const { status } = await readRemoteOverview(remote);
  return status.streams.map(({ stream }) => stream);
}

/** Lists names of one kind: streams, reports, rules in force, waiting deliveries, open pushes. */
export async function namesFor(
  offer: Offer,
  command: Command,
  context: CliContext,
): Promise<readonly string[]> {
  if (offer === 'outbox') {
    const { rows } = await readRows(command, context, pushes, { open: true, limit: NAMES_MAX });
    return rows.map(({ outboxId }) => String(outboxId));
  }
  if (offer === 'deliveries') {
    const { rows } = await readRows(command, context, deliveries, WAITING);
    return rows.map(({ orderDeliveryId }) => String(orderDeliveryId));
  }
  const remote = remoteConsoleOf(command, context);
  if (remote) return overUrl(remote, offer);
  if (offer === 'streams') return Object.keys(pulledStreams(configOf(command, context).config));
  if (offer === 'reports') {
    const { directory } = configOf(command, context).config.reports;
    return readReports(directory).reports.map(({ name }) => name);
  }
  return withMirror(command, context, async (db) => [
    ...(await createRulesShown(db)()).titles.keys(),
  ]);
}
