/**
 * Remembers which events were refused lately, and why, so that a secret that was rotated or has
 * ended does not go unseen because others are taken. Anybody may send what looks like an event: a
 * few among many that are taken are none of ours.
 */
import type { Clock } from '../lib/clock.ts';
import type { Incident } from '../store/incidents.ts';

/** Milliseconds after the last refusal for which it counts; the relay sends again within them. */
const REFUSAL_MS = 3_600_000;
/** Fewest refusals for one reason that count. */
const TIMES_MIN = 3;
/** Smallest share of the events that came meanwhile. */
const SHARE_MIN = 0.1;
/** Milliseconds before the end of a secret from which that is told. */
const ENDS_MS = 14 * 86_400_000;

const ADVICE: Readonly<Record<string, string>> = {
  forged:
    'copy the secret of the endpoint (selvedge portal open) into listener.secrets, restart; ' +
    'or a proxy rebuilds the body: it must pass on each byte',
  retired:
    'name the new secret of the endpoint in listener.secrets (selvedge portal open), restart',
  stale: 'timedatectl set-ntp true: the clock of the relay or ours is off by five minutes',
  'header token': 'the endpoint must send the header of listener.access.headerToken',
  address: 'the relay sends from an address that listener.access.addresses does not have',
  path: 'the endpoint has another address: that of listener.path and listener.access.pathToken',
  'too large': 'raise listener.bodyMax',
};

const WHY: Readonly<Record<string, string>> = {
  forged: 'no secret of ours signed them',
  retired: 'a secret signed them that has ended (notAfter)',
  stale: 'they were sent more than five minutes ago, or are of the future',
  'header token': 'they lack the token in the header',
  address: 'their sender may not send',
  path: 'they came to another path',
  'too large': 'they are too large',
};

interface Refused {
  readonly at: number;
  readonly since: number;
  readonly times: number;
  /** Events that had been taken when these refusals began. */
  readonly takenBefore: number;
}

export interface Refusals {
  note(reason: string): void;
  /** The incidents that there should be now. */
  incidents(): readonly Incident[];
  /** Whether enough was seen since the start to say that nothing is refused any more. */
  isKnown(): boolean;
}

/** @param taken number of events taken since the start */
export function createRefusals(
  clock: Pick<Clock, 'now' | 'monotonic'>,
  taken: () => number,
): Refusals {
  const begun = clock.monotonic();
  const refused = new Map<string, Refused>();
  const isRecent = ({ at }: Refused): boolean => clock.monotonic() - at < REFUSAL_MS;
  return {
    note(reason) {
      const last = refused.get(reason);
      const before = last && isRecent(last) ? last : undefined;
      refused.set(reason, {
        at: clock.monotonic(),
        since: before?.since ?? clock.now(),
        times: (before?.times ?? 0) + 1,
        takenBefore: before?.takenBefore ?? taken(),
      });
    },
    incidents() {
      return [...refused].flatMap(([reason, one]): Incident[] => {
        const { times, since, takenBefore } = one;
        const others = taken() - takenBefore;
        const isShare = times >= SHARE_MIN * (times + others);
        if (!isRecent(one) || times < TIMES_MIN || !isShare) return [];
        const why = WHY[reason] ?? reason;
        const from = new Date(since).toISOString();
        const says = `${times} events were refused since ${from}, ${others} were taken: ${why}`;
        const advice = ADVICE[reason] ?? 'the log of the daemon says more: event refused';
        const detail = { says, advice, rows: times };
        return [{ kind: 'events_refused', entity: 'relay', key: reason, detail }];
      });
    },
    isKnown: () => taken() > 0 || clock.monotonic() - begun >= REFUSAL_MS,
  };
}

export interface NamedSecret {
  readonly name: string;
  /** Epoch ms when the secret ends; undefined: never. */
  readonly notAfter?: number | undefined;
}

/** The incident of the last secret that ends soon, or has ended: no other goes on after it. */
export function endingSecret(secrets: readonly NamedSecret[], now: number): readonly Incident[] {
  const [last] = secrets.toSorted((a, b) => (b.notAfter ?? Infinity) - (a.notAfter ?? Infinity));
  if (last?.notAfter === undefined || last.notAfter - now > ENDS_MS) return [];
  const at = new Date(last.notAfter).toISOString();
  const isOver = last.notAfter <= now;
  const ends = `${last.name}, the last signing secret, ${isOver ? 'ended' : 'ends'} at ${at}`;
  const says = `${ends}: ${isOver ? 'every event is' : 'then every event will be'} refused`;
  const advice = 'add the secret that the endpoint has now (selvedge portal open), or no notAfter';
  const detail = { says, advice, rows: 1 };
  return [{ kind: 'secret_ends', entity: 'listener', key: 'secrets', detail }];
}
