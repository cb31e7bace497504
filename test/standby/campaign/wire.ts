/**
 * Steps of a daemon as its connections show them: what it asks PostgreSQL, what it sends to the
 * service, and the answers. Times are those of this process, whose clock no fault moves; a piece
 * arrived between the loop's turn before and its own reading.
 */
import { z } from 'zod';
import { tryParseJson } from '../../../src/lib/json.ts';
import type { Handling, Watch } from './tap.ts';

export type Step =
  | 'at once'
  | 'document'
  | 'document kept'
  | 'permit asked'
  | 'permit given'
  | 'POST'
  | 'answer'
  | 'outcome'
  | 'outcome kept'
  | 'renewal'
  | 'claim'
  | 'claimed'
  | 'line'
  | 'record read';

/** Called at each step, by machine; its result holds the piece. */
export type OnStep = (machine: string, steps: readonly Step[]) => Handling | undefined;

interface Permit {
  readonly machine: string;
  readonly reference: string;
  readonly goodMs: number;
  /** Monotonic ms at which it had surely been asked for. */
  readonly askedBy: number;
  givenAt: number | undefined;
}

interface Post {
  readonly machine: string;
  reference: string | undefined;
  /** Monotonic ms before which it was not begun. */
  readonly notBefore: number;
  readonly readAt: number;
}

export interface Journal {
  readonly permits: Permit[];
  readonly posts: Post[];
  /** Monotonic ms of a turn of the loop that ended before the present reads began. */
  turnBefore(): number;
  close(): void;
}

const TURN_MS = 5;

export function openJournal(): Journal {
  let [last, before] = [performance.now(), performance.now()];
  const timer = setInterval(() => {
    before = last;
    last = performance.now();
  }, TURN_MS);
  timer.unref();
  return { permits: [], posts: [], turnBefore: () => before, close: () => clearInterval(timer) };
}

const PERMIT = /'permit', '(\[[^']*\])', '(\{[^']*\})'/g;
const PERMITTED = z.object({ reference: z.string(), goodMs: z.number() });

/** Statements by what they are, and the step of their answer. */
const ASKED: readonly (readonly [RegExp, Step, Step | undefined])[] = [
  [/insert into standby_record .*'intake'/s, 'document', 'document kept'],
  [/'permit', '\[/, 'permit asked', 'permit given'],
  [/'outbox_attempt', .*"ended_at":\d/s, 'outcome', 'outcome kept'],
  [/set beat = beat \+ 1/, 'renewal', undefined],
  [/set taking = /, 'claim', 'claimed'],
  [/null, false, 'line'/, 'line', undefined],
  [/select place, whole, what/, 'record read', undefined],
];

/** Splits a stream of PostgreSQL's messages; the first one of a client has no type. */
function messages(hasStart: boolean): (bytes: Buffer) => { type: string; body: Buffer }[] {
  let rest = Buffer.alloc(0);
  let isStart = hasStart;
  return (bytes) => {
    rest = Buffer.concat([rest, bytes]);
    const found: { type: string; body: Buffer }[] = [];
    for (;;) {
      const head = isStart ? 0 : 1;
      if (rest.length < head + 4) return found;
      const end = head + rest.readInt32BE(head);
      if (rest.length < end) return found;
      found.push({
        type: isStart ? '' : String.fromCharCode(rest[0] ?? 0),
        body: rest.subarray(head + 4, end),
      });
      isStart = false;
      rest = rest.subarray(end);
    }
  };
}

/** Watches a session of a machine with PostgreSQL. */
export function watchPostgres(machine: string, journal: Journal, onStep: OnStep): Watch {
  const fromClient = messages(true);
  const fromServer = messages(false);
  let answers: Step[] = [];
  let open: Permit[] = [];
  return {
    asked(bytes) {
      const steps: Step[] = [];
      for (const { type, body } of fromClient(bytes)) {
        if (type !== 'Q') continue;
        const text = body.toString();
        for (const [pattern, step, answer] of ASKED) {
          if (!pattern.test(text)) continue;
          steps.push(step);
          if (answer) answers.push(answer);
        }
        for (const [, , row = ''] of text.matchAll(PERMIT)) {
          const { reference, goodMs } = PERMITTED.parse(tryParseJson(row));
          const askedBy = performance.now();
          const permit: Permit = { machine, reference, goodMs, askedBy, givenAt: undefined };
          journal.permits.push(permit);
          open.push(permit);
        }
      }
      return steps.length > 0 ? onStep(machine, steps) : undefined;
    },
    answered(bytes) {
      if (!fromServer(bytes).some(({ type }) => type === 'Z')) return undefined;
      const given = open;
      open = [];
      const steps = answers;
      answers = [];
      const handling = steps.length > 0 ? onStep(machine, steps) : undefined;
      if (given.length === 0) return handling;
      return async (forward) => {
        const pass = (): void => {
          for (const permit of given) permit.givenAt = performance.now();
          forward();
        };
        if (handling) await handling(pass);
        else pass();
      };
    },
  };
}

const ORDER = /^POST [^ ]*\/orders /;
const REFERENCE = /"reference":"([^"]*)"/;

/** Watches a connection of a machine with the service. */
export function watchService(machine: string, journal: Journal, onStep: OnStep): Watch {
  let post: Post | undefined;
  let text = '';
  return {
    asked(bytes) {
      const piece = bytes.toString('latin1');
      if (post !== undefined && post.reference === undefined) text += piece;
      else if (ORDER.test(piece)) {
        text = piece;
        const notBefore = journal.turnBefore();
        post = { machine, reference: undefined, notBefore, readAt: performance.now() };
        journal.posts.push(post);
      } else return undefined;
      post.reference = REFERENCE.exec(text)?.[1];
      return onStep(machine, ['POST']);
    },
    answered() {
      if (post === undefined) return undefined;
      post = undefined;
      return onStep(machine, ['answer']);
    },
  };
}

/** Faults of the orders that were sent, each by its permit. */
export function lateSends({ permits, posts }: Journal, isOurs: (reference: string) => boolean) {
  return posts.flatMap(({ machine, reference, notBefore, readAt }) => {
    if (reference === undefined || !isOurs(reference)) return [];
    const last = permits
      .filter((one) => one.reference === reference && one.machine === machine)
      .findLast(({ givenAt = Number.POSITIVE_INFINITY }) => givenAt <= readAt);
    if (last === undefined) return [`${reference} was sent by ${machine} without a permit`];
    const overMs = Math.round(notBefore - last.askedBy - last.goodMs);
    return overMs > 0 ? [`${reference} was begun ${overMs} ms after its permit's end`] : [];
  });
}
