/**
 * Remembers for each API of the service how its last request ended: whether anybody is there. An
 * answer counts that the service itself gave (http/answer.ts says which); a connection that fails,
 * a deadline that passes and a page or error of something on the way do not. A request that was
 * called off says nothing, and neither does one that was sent before the latest answer.
 */
import type { Clock } from '../lib/clock.ts';

/** State of an API; `waits`: it answers, and asks to be asked later. */
type AnswerState = 'answers' | 'silent' | 'login_refused' | 'waits';

interface Answered {
  readonly state: AnswerState;
  /** Epoch ms since when it is so; of `silent`, when the first unanswered request was sent. */
  readonly since: number;
  /** Epoch ms of the last request that was sent, and of the last answer; null: there is none. */
  readonly askedAt: number | null;
  readonly answeredAt: number | null;
  /** Milliseconds in which requests were sent and none was answered; 0: the last one was. */
  readonly unansweredMs: number;
  /** Reason for silence or refusal; null for other states. */
  readonly why: string | null;
  /** Epoch ms until which the service asks to wait; null: it does not. */
  readonly untilAt: number | null;
}

/** End of a request, as far as it shows whether somebody is there. */
export type Heard =
  | { readonly kind: 'answer' }
  | { readonly kind: 'wait'; readonly ms: number | undefined }
  | { readonly kind: 'nothing'; readonly why: string };

export interface Answering {
  /**
   * Notes that a request is being sent; the returned function notes how it ended, as far as that
   * shows anything.
   */
  asked(): (heard: Heard | undefined) => void;
  /** Notes whether the credentials of this name were refused, and in which words. */
  credentials(name: string, refusal: string | undefined): void;
  /** State of the API; undefined while nothing was ever heard of it. */
  state(): Answered | undefined;
}

interface Silence {
  readonly since: number;
  /** Monotonic time at which the first of its requests was sent. */
  readonly from: number;
  readonly unansweredMs: number;
  readonly why: string;
}

export interface AnsweringDeps {
  readonly clock: Clock;
  /** State in which an earlier process left the API; undefined: none has asked. */
  readonly before?: Answered | undefined;
  /** Called when the state is another, or the silence has become longer. */
  readonly onChange?: (() => void) | undefined;
}

/** Milliseconds for which "too fast" without a time counts as a wish to wait. */
const WAIT_MS = 5_000;

function silenceOf({ clock, before }: AnsweringDeps): Silence | undefined {
  if (before?.state !== 'silent') return undefined;
  const { since, unansweredMs, why } = before;
  const from = clock.monotonic() - Math.max(0, clock.now() - since);
  return { since, from, unansweredMs, why: why ?? '' };
}

/** Notes that a request is sent, at the API with the longest URL that its own begins with. */
export function askedAmong(
  apis: readonly { readonly url: string; readonly answering: Answering }[],
): (url: string) => ReturnType<Answering['asked']> | undefined {
  const longestFirst = apis.toSorted((a, b) => b.url.length - a.url.length);
  return (url) => longestFirst.find((one) => url.startsWith(one.url))?.answering.asked();
}

export function createAnswering(deps: AnsweringDeps): Answering {
  const { clock, before, onChange = () => undefined } = deps;
  const refusals = new Map<string, string>();
  // The refusal of an earlier process stands until credentials are tried.
  if (before?.state === 'login_refused') refusals.set('', before.why ?? '');
  let silence = silenceOf(deps);
  let askedAt = before?.askedAt ?? null;
  let answeredAt = before?.answeredAt ?? null;
  let untilAt: number | null = null;
  /** Monotonic time of the last answer. */
  let heardAt = Number.NEGATIVE_INFINITY;
  const current = (): AnswerState => {
    if (silence) return 'silent';
    if (refusals.size > 0) return 'login_refused';
    return untilAt !== null && clock.now() < untilAt ? 'waits' : 'answers';
  };
  /** Undefined while nothing was heard of the API. */
  let shown: AnswerState | undefined = before && current();
  let since = before?.since ?? clock.now();
  /** Takes over the present state; returns whether it is another one. */
  const moved = (): boolean => {
    const state = current();
    if (state === shown) return false;
    shown = state;
    since = silence?.since ?? clock.now();
    return true;
  };
  const answered = (ms: number | undefined): void => {
    heardAt = clock.monotonic();
    answeredAt = clock.now();
    silence = undefined;
    untilAt = ms === undefined ? null : answeredAt + ms;
    if (moved()) onChange();
  };
  const unanswered = (sent: Pick<Silence, 'since' | 'from'>, why: string): void => {
    if (sent.from < heardAt) return;
    const first = silence ?? sent;
    silence = { ...first, unansweredMs: clock.monotonic() - first.from, why };
    moved();
    onChange();
  };
  return {
    asked() {
      const sent = { since: clock.now(), from: clock.monotonic() };
      askedAt = sent.since;
      return (heard) => {
        if (!heard) return;
        if (heard.kind === 'nothing') unanswered(sent, heard.why);
        else answered(heard.kind === 'wait' ? (heard.ms ?? WAIT_MS) : undefined);
      };
    },
    credentials(name, refusal) {
      refusals.delete('');
      if (refusal === undefined) refusals.delete(name);
      else refusals.set(name, refusal);
      if (moved()) onChange();
    },
    state() {
      if (askedAt === null || shown === undefined) return undefined;
      moved();
      const [refusal = null] = refusals.values();
      return {
        state: shown,
        since,
        askedAt,
        answeredAt,
        unansweredMs: silence?.unansweredMs ?? 0,
        why: shown === 'login_refused' ? refusal : (silence?.why ?? null),
        untilAt: shown === 'waits' ? untilAt : null,
      };
    },
  };
}
