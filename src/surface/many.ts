/**
 * Acts on many things: on several that are named, and on all that fit a filter, as long as they are
 * those that the asker saw. An act that states `many` has both at every door: a command takes the
 * filter as options with `--expect`, the local API `things` or `select`, the console `select` at
 * the address that the acts share.
 */
import { z } from 'zod';
import { RefusedError } from '../lib/errors.ts';
import type { Actor } from '../store/audit.ts';
import { type Given, readGiven, readMember } from './given.ts';

/** Reader of the filter, as far as it decides what fits. */
export interface Chooser {
  readonly now: number;
  /** Name of the reader, as others know it. */
  readonly me: string;
  /** Whether things may be found by names and addresses. */
  readonly seesAddresses: boolean;
}

/** Things that fit a filter now. */
export interface Matching {
  /** The set in words, without anything personal. */
  readonly lines: readonly string[];
  /** Mark of the set, which an act must send back. */
  readonly expect: string | number;
  /** Members that name each thing, with those that were seen of it. */
  readonly things?: readonly Given[];
}

/** Everything about acts on many things but how they are found. */
export interface ManyHead {
  /** Participle, as in "3 accepted". */
  readonly did: string;
  /** Most things of one request. */
  readonly max: number;
  /**
   * Whether several things can be named at once. A command then takes a filter, which may be empty,
   * with `--all-matching` only; without it, a filter takes the place of the name.
   */
  readonly isNamed: boolean;
  /** Whether the answer about a thing says that the service has yet to confirm what was done. */
  readonly isUnderWay?: (answer: Given) => boolean;
  /** Whether all that fit have one answer, the act's own, and not one each. */
  readonly isOneAnswer: boolean;
  /** Operation of the console for a filter, which acts of a noun share; left out: there is none. */
  readonly at?: { readonly path: string; readonly operation: string; readonly about: string };
  readonly filter: z.ZodObject;
  readonly expect: z.ZodType;
  /** Help of the command for `--expect`. */
  readonly mark: string;
  /** Answer about all that fit, where it is not like that about one thing. */
  readonly answer?: AnswerHead;
}

interface AnswerHead {
  readonly output: z.ZodType;
  done(answer: unknown): string;
  isWhole(answer: unknown): boolean;
}

/** Functions of acts on many things, once it is known on what they act. */
export interface BoundMany {
  find(filter: Given, expect: unknown, chooser: Chooser): Promise<Matching>;
  all?(filter: Given, expect: unknown, actor: Actor, now: number): Promise<unknown>;
}

export interface Many<On> extends ManyHead {
  /** Finds what fits; throws where it is not the expected set. */
  find(on: On, filter: Given, expect: unknown, chooser: Chooser): Promise<Matching>;
  /** Does all at once; left out: `run` of the act is done for each thing. */
  all?(on: On, filter: Given, expect: unknown, actor: Actor, now: number): Promise<unknown>;
}

type Shape = Readonly<Record<string, z.ZodType>>;
type Read<T extends Shape> = z.output<z.ZodObject<T>>;

interface ManySpec<On, F extends Shape, E extends z.ZodType>
  extends Omit<ManyHead, 'filter' | 'expect' | 'isOneAnswer'> {
  readonly filter: F;
  readonly expect: E;
  find(
    on: On,
    filter: Read<F>,
    expect: z.output<E> | undefined,
    chooser: Chooser,
  ): Promise<Matching>;
  all?(on: On, filter: Read<F>, expect: z.output<E>, actor: Actor): Promise<unknown>;
}

export function many<On, F extends Shape, E extends z.ZodType>(spec: ManySpec<On, F, E>): Many<On> {
  const { all } = spec;
  const filter = z.strictObject(spec.filter);
  const expectOf = (expect: unknown, now: number) => readMember('expect', spec.expect, expect, now);
  return {
    ...spec,
    filter,
    isOneAnswer: all !== undefined,
    async find(on, given, expect, chooser) {
      const read = readGiven(filter, given, chooser.now);
      const saw = expect === undefined ? undefined : expectOf(expect, chooser.now);
      return spec.find(on, read, saw, chooser);
    },
    ...(all && {
      all: async (on: On, given: Given, expect: unknown, actor: Actor, now: number) =>
        all(on, readGiven(filter, given, now), expectOf(expect, now), actor),
    }),
  };
}

/**
 * Checks that one request may act on so many things.
 * @throws RefusedError `console.too_many`
 */
export function requireFew({ max }: Pick<ManyHead, 'max'>, count: number): void {
  if (count <= max) return;
  const message = `${count} at once are more than ${max}`;
  throw new RefusedError('console.too_many', message, { hint: 'narrow the filter' });
}

export const refusedMembers = {
  ok: z.literal(false),
  code: z.string(),
  message: z.string(),
  hint: z.string().optional(),
};

/** Answers to an act on many things, without the members that the act itself answers. */
export const answersSchema = z.object({
  answers: z.array(
    z.discriminatedUnion('ok', [
      z.looseObject({ ok: z.literal(true) }),
      z.looseObject(refusedMembers),
    ]),
  ),
});
export type ManyAnswer = z.output<typeof answersSchema>['answers'][number];

/** Form of the answer to a request, by whose members times are told from numbers. */
export function answerForm(
  { output, many: of }: { readonly output: z.ZodType; readonly many?: ManyHead },
  { things, select }: { readonly things?: unknown; readonly select?: unknown },
): z.ZodType {
  const isEach = things !== undefined || (select !== undefined && of?.isOneAnswer === false);
  if (isEach) return z.looseObject({ answers: z.array(output) });
  return (select === undefined ? undefined : of?.answer?.output) ?? output;
}
