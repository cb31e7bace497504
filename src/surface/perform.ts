/** Performs declared acts for every door, with the same checks of rights, reason and members. */
import { RefusedError } from '../lib/errors.ts';
import type { Actor } from '../store/audit.ts';
import type { Act, ActHead, Preview } from './acts.ts';
import { type Given, invalid } from './given.ts';
import { type Role, requireRole } from './roles.ts';

/** An act with what it acts on. */
export interface BoundAct {
  readonly head: ActHead;
  preview(given: Given, now: number): Promise<Preview>;
  run(given: Given, actor: Actor, now: number): Promise<unknown>;
}

export interface Request {
  /** Name of the act. */
  readonly act: string;
  readonly given: Given;
  readonly reason: string;
  /** Whether only the effect is told. */
  readonly dryRun: boolean;
}

/** Person or program that asks, as a door knows it. */
export interface Asker {
  /** Role at the console; null: the local API, whose token may do everything. */
  readonly role: Role | null;
  actor(reason: string): Actor;
}

const REASON_MAX = 1_000;

export function bind<On>(acts: readonly Act<On>[], on: () => On): readonly BoundAct[] {
  return acts.map((head) => ({
    head,
    preview: (given, now) => head.preview(on(), given, now),
    run: (given, actor, now) => head.run(on(), given, actor, now),
  }));
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

function requireReason({ reason: need }: ActHead, reason: string, isPage: boolean): void {
  if (reason.length > REASON_MAX) throw invalid(`reason: at most ${REASON_MAX} characters`);
  const isNeeded = need === 'stated' || (need === 'page' && isPage);
  if (isNeeded && reason.trim() === '') throw invalid('reason: say why');
}

/** Performs the act that a request names; a dry run gives a {@link Preview}. */
export async function perform(
  acts: readonly BoundAct[],
  { act, given, reason, dryRun }: Request,
  { role, actor }: Asker,
  now: number,
): Promise<unknown> {
  const names = acts.map((one) => ({ name: one.head.name, one }));
  const { one } = actNamed(names, act);
  if (role !== null) requireRole(role, act, one.head.role);
  if (dryRun) return one.preview(given, now);
  requireReason(one.head, reason, role !== null);
  return one.run(given, actor(reason.trim()), now);
}
