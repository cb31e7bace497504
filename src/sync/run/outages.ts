/**
 * What the log says of a failure that many runs share: one line when it begins and one when it is
 * over. Everything in between is there for who looks (debug, `selvedge sync list`).
 */
import type { Logger } from '../../lib/log.ts';

export interface Outages {
  /** A run of the stream was put off, or has failed. */
  note(stream: string, reason: string, fields: object): void;
  /** A run of the stream came through. */
  over(stream: string): void;
}

export function createOutages(log: Logger): Outages {
  /** Streams by the reason that keeps them. */
  const kept = new Map<string, Set<string>>();
  const leave = (stream: string, except: string | undefined): void => {
    for (const [reason, streams] of kept) {
      if (reason === except || !streams.delete(stream) || streams.size > 0) continue;
      kept.delete(reason);
      if (except === undefined) log.info({ stream, reason }, 'pulls again');
    }
  };
  return {
    note(stream, reason, fields) {
      leave(stream, reason);
      const streams = kept.get(reason);
      if (streams) {
        streams.add(stream);
        log.debug({ stream, reason, ...fields }, 'cannot pull');
        return;
      }
      kept.set(reason, new Set([stream]));
      const hint = 'further ones are told by: selvedge sync list';
      log.warn({ stream, reason, ...fields, hint }, 'cannot pull');
    },
    over: (stream) => leave(stream, undefined),
  };
}
