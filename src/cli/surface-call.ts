/**
 * Performs declared acts for commands: at a console over a URL, by the running daemon, or in the
 * database itself where no daemon runs and the act allows it.
 */
import type { Command } from 'commander';
import { z } from 'zod';
import { actPath } from '../console/surface/addresses.ts';
import { systemClock } from '../lib/clock.ts';
import { type ActHead, previewSchema } from '../surface/acts.ts';
import { fromWire } from '../surface/forms.ts';
import type { Given } from '../surface/given.ts';
import { perform } from '../surface/perform.ts';
import type { CliContext } from './command.ts';
import { askRunningDaemon, viaDaemonOrOffline } from './daemon-call.ts';
import { remoteConsoleOf } from './remote/console.ts';

export interface Wanted {
  readonly given: Given;
  readonly reason: string;
  readonly dryRun: boolean;
}

/** Preview of an act, or its answer, as the act declares it. */
export async function performAct(
  command: Command,
  context: CliContext,
  of: ActHead,
  { given, reason, dryRun }: Wanted,
): Promise<unknown> {
  const answer: z.ZodType = dryRun ? previewSchema : of.output;
  const remote = remoteConsoleOf(command, context);
  if (remote) {
    const [first = ''] = of.path.includes('{id}') ? of.args : [];
    const members = Object.entries(given).filter(([name]) => name !== first);
    const body = { ...Object.fromEntries(members), reason, dryRun };
    return remote.post(
      actPath(of, given),
      body,
      z.preprocess((value) => fromWire(answer, value), answer),
    );
  }
  const call = { path: `/api/acts/${of.name}`, answer };
  if (of.offline !== true) {
    return askRunningDaemon(command, context, { ...call, body: { given, reason, dryRun } });
  }
  return viaDaemonOrOffline(command, context, {
    ...call,
    reason,
    body: { given, dryRun },
    async offline(parts, asker) {
      const { offlineActs } = await import('../daemon/commands/offline-acts.ts');
      const who = { role: null, actor: () => asker };
      const acts = await offlineActs(parts, of.name);
      return perform(acts, { act: of.name, given, reason, dryRun }, who, systemClock().now());
    },
  });
}

export async function previewAct(
  command: Command,
  context: CliContext,
  of: ActHead,
  given: Given,
): Promise<z.output<typeof previewSchema>> {
  const wanted = { given, reason: '', dryRun: true };
  return previewSchema.parse(await performAct(command, context, of, wanted));
}
