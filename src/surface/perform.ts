/** Performs declared acts for every door, with the same checks of rights, reason and members. */
import { setImmediate as nextTurn } from 'node:timers/promises';
import {
  isStoreUnusable,
  RefusedError,
  SelvedgeError,
  toError,
  UsageError,
} from '../lib/errors.ts';
import type { Actor } from '../store/audit.ts';
import type { Act, ActHead, Preview } from './acts.ts';
import { type Given, invalid } from './given.ts';
import { type BoundMany, type Chooser, type Many, type ManyAnswer, requireFew } from './many.ts';
import { type Role, requireRole } from './roles.ts';

/** An act with what it acts on. */
export interface BoundAct {
  readonly head: ActHead;
  preview(given: Given, actor: Actor, now: number): Promise<Preview>;
  run(given: Given, actor: Actor, now: number): Promise<unknown>;
  readonly many?: BoundMany;
}

export interface Request {
  /** Name of the act. */
  readonly act: string;
  readonly given: Given;
  readonly reason: string;
  /** Whether only the effect is told. */
  readonly dryRun: boolean;
  /** In place of one thing: several, each with the members that name it and were seen of it. */
  readonly things?: readonly Given[] | undefined;
  /** In place of one thing: all that fit; a dry run may leave out what is expected. */
  readonly select?: { readonly filter: Given; readonly expect?: unknown } | undefined;
}

/** Person or program that asks, as a door knows it. */
export interface Asker {
  /** Role at the console; null: the local API, whose token may do everything. */
  readonly role: Role | null;
  /** Whether names and addresses of customers may be read. */
  readonly seesAddresses: boolean;
  actor(reason: string): Actor;
}

const REASON_MAX = 1_000;

export function bind<On>(acts: readonly Act<On>[], on: () => On): readonly BoundAct[] {
  return acts.map((head) => ({
    head,
    preview: (given, actor, now) => head.preview(on(), given, actor, now),
    run: (given, actor, now) => head.run(on(), given, actor, now),
    ...(head.many && { many: boundMany(head.many, on) }),
  }));
}

function boundMany<On>(of: Many<On>, on: () => On): BoundMany {
  const { all } = of;
  return {
    find: (filter, expect, chooser) => of.find(on(), filter, expect, chooser),
    ...(all && {
      all: (filter: Given, expect: unknown, actor: Actor, now: number) =>
        all(on(), filter, expect, actor, now),
    }),
  };
}

/**
 * Finds a declared act.
 * @throws RefusedError `acts.unknown`
 */
export function actNamed<T extends { readonly name: string }>(acts: readonly T[], name: string): T {
  const found = acts.find((one) => one.name === name);
  if (found) return found;
  throw new RefusedError('acts.unknown', `there is no act ${name}`, {
    hint: `the acts are ${acts.map((one) => one.name).join(', ')}`,
  });
}

/**
 * Refuses a reason that is too long, or missing where the act needs one.
 * @throws UsageError `request.invalid`
 */
export function requireReason({ reason: need }: ActHead, reason: string, isPage: boolean): void {
  if (reason.length > REASON_MAX) throw invalid(`reason: at most ${REASON_MAX} characters`);
  const isNeeded = need === 'stated' || (need === 'page' && isPage);
  if (isNeeded && reason.trim() === '') throw invalid('reason: say why');
}

/** Things that are acted on before other work of the daemon gets its turn. */
const SLICE = 10;

/** Refusal of one thing; throws what concerns the whole request. */
function refusalOf(thrown: unknown, isFirst: boolean) {
  // A mistake in what was given is the same for all, and is told before anything is done.
  if (isStoreUnusable(thrown) || (isFirst && thrown instanceof UsageError)) throw thrown;
  if (thrown instanceof SelvedgeError) {
    const { code, message, hint } = thrown;
    return { ok: false, code, message, ...(hint !== undefined && { hint }) } as const;
  }
  // A failed write does not undo those before it, so the answer names the thing that failed.
  const hint = 'nothing was done about this one; ask for it again';
  return { ok: false, code: 'act.failed', message: toError(thrown).message, hint } as const;
}

/** Does one thing after the other, with an answer for each. */
async function forEach(
  things: readonly Given[],
  [named = '']: readonly string[],
  doOne: (thing: Given) => Promise<unknown>,
): Promise<{ readonly answers: readonly ManyAnswer[] }> {
  const answers: ManyAnswer[] = [];
  for (const thing of things) {
    const name = { [named]: thing[named] };
    try {
      answers.push({ ...name, ok: true, ...Object(await doOne(thing)) });
    } catch (thrown) {
      answers.push({ ...name, ...refusalOf(thrown, answers.length === 0) });
    }
    if (answers.length % SLICE === 0) await nextTurn();
  }
  return { answers };
}

function manyOf({ head, many }: BoundAct) {
  if (many && head.many) return { ...head.many, ...many };
  throw invalid(`${head.name} is done to one thing at a time`);
}

/** Effect on all that fit, or what is to be done to each of them. */
async function selected(
  one: BoundAct,
  { filter, expect }: NonNullable<Request['select']>,
  chooser: Chooser,
): Promise<Preview & { readonly things: readonly Given[] }> {
  const many = manyOf(one);
  const { lines, expect: mark, things = [] } = await many.find(filter, expect, chooser);
  requireFew(many, things.length);
  return { lines, seen: { expect: mark }, things };
}

/** Performs the act that a request names; a dry run gives a {@link Preview}, or one for each. */
export async function perform(
  acts: readonly BoundAct[],
  request: Request,
  { role, seesAddresses, actor }: Asker,
  now: number,
): Promise<unknown> {
  const { act, given, dryRun, select } = request;
  const names = acts.map((one) => ({ name: one.head.name, one }));
  const { one } = actNamed(names, act);
  const { args } = one.head;
  if (role !== null) requireRole(role, act, one.head.role);
  if (!dryRun) requireReason(one.head, request.reason, role !== null);
  const who = actor(request.reason.trim());
  const doOne = (thing: Given) => {
    const whole = { ...given, ...thing };
    return dryRun ? one.preview(whole, who, now) : one.run(whole, who, now);
  };
  if (request.things) {
    requireFew(one.head.several ?? manyOf(one), request.things.length);
    return forEach(request.things, args, doOne);
  }
  if (!select) return doOne({});
  const { all } = manyOf(one);
  if (!dryRun && select.expect === undefined) throw invalid('expect: it is missing');
  if (all && !dryRun) return all(select.filter, select.expect, who, now);
  const { things, ...preview } = await selected(one, select, { now, seesAddresses, me: who.actor });
  return dryRun ? preview : forEach(things, args, doOne);
}
