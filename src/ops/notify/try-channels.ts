/** Sends a test message through each channel, and returns the results to the person who waits. */
import { toError } from '../../lib/errors.ts';
import type { Scrubber } from '../../lib/secret.ts';
import { type Actor, writeAudit } from '../../store/audit.ts';
import type { Store } from '../../store/store.ts';
import { placeOf, type SendDeps, send } from './channel.ts';
import type { Channel } from './digest.ts';
import { testMessage } from './message.ts';

export interface TriedChannel {
  readonly channel: string;
  readonly to: string;
  /** Error of the try; null: the message was taken. */
  readonly error: string | null;
  /** Remark on a message that was taken, such as a refused address; null: none. */
  readonly note: string | null;
}

export interface TryDeps extends SendDeps {
  readonly store: Store;
  readonly instance: string;
  readonly scrub: Scrubber['scrub'];
}

/** Channels with their places; empty for one whose secret cannot be read. */
export function placesOf(
  channels: readonly Channel[],
): readonly Omit<TriedChannel, 'error' | 'note'>[] {
  return channels.map(({ name: channel, to }) => {
    try {
      return { channel, to: placeOf(to) };
    } catch {
      return { channel, to: '' };
    }
  });
}

async function tryChannel(deps: TryDeps, channel: Channel): Promise<TriedChannel> {
  const { clock, instance, scrub } = deps;
  const { name, to } = channel;
  const at = clock.now();
  const message = testMessage(name, deps);
  const sending = { id: `${instance}_test_${name}_${at}`, at, instance, message, isTest: true };
  try {
    const place = placeOf(to);
    const tried = await send(deps, channel, sending).then(
      (note) => ({ error: null, note: note ?? null }),
      (thrown: unknown) => ({ error: scrub(toError(thrown).message), note: null }),
    );
    return { channel: name, to: place, ...tried };
  } catch (thrown) {
    // The channel's secret cannot be read, so that not even its target is known.
    return { channel: name, to: '', error: scrub(toError(thrown).message), note: null };
  }
}

export async function tryChannels(
  deps: TryDeps,
  channels: readonly Channel[],
  who: Actor,
): Promise<readonly TriedChannel[]> {
  const tried = await Promise.all(channels.map((channel) => tryChannel(deps, channel)));
  const act = { action: 'notify.test', subject: 'channels', detail: { tried } };
  await writeAudit(deps.store.db, { ...who, ...act }, deps.clock.now());
  return tried;
}
