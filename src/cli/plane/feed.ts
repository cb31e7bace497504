/** The feed that a copy follows, begun and ended by the daemon, or by ourselves without one. */
import type { Command } from 'commander';
import { z } from 'zod';
import { changeFeed, type FeedAction, type FeedChange } from '../../daemon/commands/plane.ts';
import type { CliContext } from '../command.ts';
import { viaDaemonOrOffline } from '../daemon-call.ts';

const state = z.enum(['absent', 'whole', 'broken']);
const answer = z.object({ before: state, now: state });

export function askForFeed(
  command: Command,
  context: CliContext,
  action: FeedAction,
): Promise<FeedChange> {
  return viaDaemonOrOffline<FeedChange>(command, context, {
    path: `/api/plane/${action}`,
    body: {},
    answer,
    reason: '',
    offline: (parts, asker) => changeFeed(parts, action, asker),
  });
}
