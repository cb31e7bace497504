/**
 * What a person has stopped while the daemon runs: everything that is sent, or one kind of it. A
 * stop takes hold at once, outlives restarts (a row in the database says so, with who and why) and
 * goes into the audit. Doubts are looked for and confirmations are read meanwhile.
 */
import { isDeepStrictEqual } from 'node:util';
import type { Clock } from '../lib/clock.ts';
import { RefusedError } from '../lib/errors.ts';
import type { Logger } from '../lib/log.ts';
import { type Asker, writeAudit } from '../store/audit.ts';
import { type OutboxStop, readOutboxStops, writeOutboxStops } from '../store/state.ts';
import type { Store } from '../store/store.ts';

export interface OutboxStops {
  /** Why nothing of this kind may be sent; undefined: it may, as far as people say. */
  brake(kind: string): string | undefined;
  /** `kind` null: everything. Throws RefusedError when it is stopped already. */
  stop(kind: string | null, asker: Asker): Promise<OutboxStop>;
  /** Gives what it ended; throws RefusedError when there is no such stop. */
  resume(kind: string | null, asker: Asker): Promise<OutboxStop>;
}

export interface OutboxStopsDeps {
  readonly store: Store;
  readonly clock: Clock;
  readonly log: Logger;
}

function nameOf(kind: string | null): string {
  return kind ?? 'everything';
}

/** Goes by what is written down: what somebody else has in mind may yet fail. */
async function write(
  { store, clock, log }: OutboxStopsDeps,
  action: 'outbox.stop' | 'outbox.resume',
  kind: string | null,
  { actor, reason }: Asker,
  change: (written: readonly OutboxStop[]) => readonly OutboxStop[],
): Promise<void> {
  const subject = kind === null ? 'outbox' : `outbox:${kind}`;
  await store.transaction(async (tx) => {
    await writeOutboxStops(tx, change(await readOutboxStops(tx)), clock);
    await writeAudit(tx, { actor, reason, action, subject }, clock.now());
  });
  log.warn({ actor, reason, kind }, action === 'outbox.stop' ? 'sending is stopped' : 'sending');
}

export async function openOutboxStops(deps: OutboxStopsDeps): Promise<OutboxStops> {
  const { store, clock } = deps;
  let stops = await readOutboxStops(store.db);
  /** Those whose end is being written down: they hold still, and may be thrown anew. */
  const ending = new Set<OutboxStop>();
  const find = (kind: string | null) => stops.find((one) => one.kind === kind);
  const findLasting = (kind: string | null) =>
    stops.find((one) => one.kind === kind && !ending.has(one));
  const forget = (stop: OutboxStop): void => {
    stops = stops.filter((one) => one !== stop);
  };
  /** One whose end could not be written down must not outlive it. */
  const inPlaceOfOthers = (all: readonly OutboxStop[], stop: OutboxStop): OutboxStop[] => [
    ...all.filter((one) => one.kind !== stop.kind),
    stop,
  ];
  return {
    brake(kind) {
      const by = find(null) ?? find(kind);
      return by && `${by.actor} stopped ${nameOf(by.kind)}: ${by.reason}`;
    },
    async stop(kind, asker) {
      const by = findLasting(kind);
      if (by) {
        const message = `${by.actor} has stopped ${nameOf(kind)} already: ${by.reason}`;
        const call = `selvedge outbox resume${kind ? ` ${kind}` : ''} --reason "…"`;
        const hint = `nothing of it is sent; to go on: ${call}`;
        throw new RefusedError('outbox.stopped', message, { hint });
      }
      const stop = { kind, at: clock.now(), actor: asker.actor, reason: asker.reason };
      // Before it is written: what is about to be sent must not slip through.
      stops = [...stops, stop];
      try {
        await write(deps, 'outbox.stop', kind, asker, (written) => inPlaceOfOthers(written, stop));
        stops = inPlaceOfOthers(stops, stop);
      } catch (error) {
        // Whoever is told that it failed may try again, and nothing else says that it holds.
        forget(stop);
        throw error;
      }
      return stop;
    },
    async resume(kind, asker) {
      const ended = findLasting(kind);
      if (!ended) {
        const others = stops.map((one) => nameOf(one.kind)).join(', ');
        throw new RefusedError('outbox.not_stopped', `${nameOf(kind)} is not stopped`, {
          hint: others === '' ? 'see: selvedge status' : `stopped: ${others}`,
        });
      }
      // Not before it is written: whoever is told that it failed must find it stopped.
      ending.add(ended);
      try {
        await write(deps, 'outbox.resume', kind, asker, (written) =>
          written.filter((one) => !isDeepStrictEqual(one, ended)),
        );
        forget(ended);
      } finally {
        ending.delete(ended);
      }
      return ended;
    },
  };
}
