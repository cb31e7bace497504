/**
 * Declares acts of people and programs. A declaration is the only place that states an act: its
 * form, its address for programs, its OpenAPI operation, its command and its rights follow from it.
 */
import { z } from 'zod';
import type { Actor } from '../store/audit.ts';
import { type Given, readGiven } from './given.ts';
import type { Many, ManyHead } from './many.ts';
import type { Thing } from './members.ts';
import type { Role } from './roles.ts';

/**
 * Effect that an act would have, in words, with what its asker has then seen; further members tell
 * it to programs.
 */
export interface Preview {
  readonly lines: readonly string[];
  /** Members of {@link ActHead.seen} as they are now. */
  readonly seen?: Given;
}

/** Schema of a {@link Preview} that another process gives. */
export const previewSchema = z.looseObject({
  lines: z.array(z.string()),
  seen: z.record(z.string(), z.unknown()).optional(),
});

/** Choice of one act among those of a command, as `--as absent` makes it. */
export interface Choice {
  readonly option: string;
  readonly value: string;
  /** Member that may follow the value after a colon, as in `--as confirmed:500123`. */
  readonly member?: string;
  /** Sentence about the command, without a period. */
  readonly about: string;
  /** Further lines for its help. */
  readonly more: string;
}

/** Confirmation of an act by a person, who types what it is done to. */
interface Typed {
  readonly member: string;
  /** Question at the terminal; `{}` in it is the thing's name. */
  readonly ask: string;
  /** Whether the first of the act's arguments is typed once more; `--yes` then stands for it. */
  readonly again?: true;
}

/** Everything about an act but how it is done. */
export interface ActHead {
  /** Tag and name, as in `sync.release`. */
  readonly name: string;
  /** Words of the command where they are not those of the name. */
  readonly command?: string;
  /** Place among the acts that share its command. */
  readonly choice?: Choice;
  /** Id of the OpenAPI operation. */
  readonly operation: string;
  /** Address at the console; `{id}` is the first of `args`. */
  readonly path: string;
  /** Sentence without a period, in the imperative. */
  readonly about: string;
  /** Further lines for the help of the command. */
  readonly more?: string;
  readonly button: string;
  readonly role: Role;
  /** Whether the act cannot be taken back. */
  readonly danger?: true;
  /**
   * Need of a reason: `stated`: at every door; `page`: at the console only; `free`: at none, though
   * one can be given; `none`: the act takes none.
   */
  readonly reason: 'stated' | 'page' | 'free' | 'none';
  /** Kind of thing that the first of `args` names. */
  readonly thing?: Thing;
  /** Members that the command takes as arguments, in their order. */
  readonly args: readonly string[];
  readonly input: z.ZodObject;
  /**
   * State that the asker saw: pages and programs must send it, and the act is refused if it has
   * changed. A command takes it from its own preview.
   */
  readonly seen: z.ZodObject;
  readonly output: z.ZodType;
  readonly examples: readonly (readonly [typed: string, what: string])[];
  /** Whether a command may do it without a daemon. */
  readonly offline?: true;
  /** How the act is done to many things at once; left out: it is done to one. */
  readonly many?: ManyHead;
  /** How it is done to several that a page names, where it has no `many`. */
  readonly several?: Pick<ManyHead, 'did' | 'max' | 'isUnderWay'>;
  /** Confirmation, which a command asks for at the terminal. */
  readonly typed?: Typed;
  /** Member of the answer that is shown once to its asker, and kept nowhere. */
  readonly secret?: string;
  /**
   * Checks what was given, without that which the asker saw.
   * @throws UsageError `request.invalid`
   */
  check(given: Given, now: number): void;
  /** Words about what was done, from the answer and what was given. */
  done(answer: unknown, given: Given): string;
  /** The same on the next page; an act without words of its own there has those of `done`. */
  notice(answer: unknown, given: Given): string;
  /** Whether everything was done that was asked for; else a command ends with 1. */
  isWhole(answer: unknown): boolean;
  /** Act that takes this one back, with what it is to be given. */
  undo(answer: unknown, given: Given): Undo | undefined;
}

interface Undo {
  readonly act: ActHead;
  readonly given: Given;
}

export interface Act<On> extends ActHead {
  readonly many?: Many<On>;
  preview(on: On, given: Given, actor: Actor, now: number): Promise<Preview>;
  run(on: On, given: Given, actor: Actor, now: number): Promise<unknown>;
}

type Shape = Readonly<Record<string, z.ZodType>>;
type Read<T extends Shape> = z.output<z.ZodObject<T>>;

type Stated = Omit<
  ActHead,
  | 'args'
  | 'input'
  | 'seen'
  | 'output'
  | 'check'
  | 'done'
  | 'notice'
  | 'isWhole'
  | 'undo'
  | 'typed'
  | 'secret'
  | 'many'
>;

export interface ActSpec<On, I extends Shape, S extends Shape, O extends z.ZodType> extends Stated {
  readonly args?: readonly (keyof I & string)[];
  readonly input: I;
  readonly seen?: S;
  readonly output: O;
  readonly typed?: Typed & { readonly member: keyof I & string };
  readonly secret?: keyof z.output<O> & string;
  readonly many?: Many<On>;
  /** Checks over several members; throws a UsageError. */
  check?(input: Read<I>): void;
  preview(on: On, input: Read<I>, actor: Actor): Promise<Preview & { readonly seen?: Read<S> }>;
  run(on: On, input: Read<I>, actor: Actor, seen: Read<S>): Promise<z.input<O>>;
  done(answer: z.output<O>, given: Given): string;
  notice?(answer: z.output<O>, given: Given): string;
  isWhole?(answer: z.output<O>): boolean;
  undo?(answer: z.output<O>, given: Given): Undo | undefined;
}

/** Splits what was given into the members of the input and those that the asker saw. */
function split(seen: z.ZodObject, given: Given): readonly [Given, Given] {
  const saw = (name: string) => name in seen.shape;
  const entries = Object.entries(given);
  return [
    Object.fromEntries(entries.filter(([name]) => !saw(name))),
    Object.fromEntries(entries.filter(([name]) => saw(name))),
  ];
}

export function act<On, I extends Shape, S extends Shape, O extends z.ZodType>(
  spec: ActSpec<On, I, S, O>,
): Act<On> & { readonly output: O } {
  const { check, undo, isWhole, notice = spec.done } = spec;
  const input = z.strictObject(spec.input);
  const seen = z.strictObject<Shape>(spec.seen ?? {});
  const sawSchema = z.strictObject<S>(spec.seen ?? Object.create(null));
  const read = (given: Given, now: number): Read<I> => {
    const stated = readGiven(input, given, now);
    check?.(stated);
    return stated;
  };
  return {
    ...spec,
    args: spec.args ?? [],
    input,
    seen,
    check(given, now) {
      read(split(seen, given)[0], now);
    },
    done: (answer, given) => spec.done(spec.output.parse(answer), given),
    notice: (answer, given) => notice(spec.output.parse(answer), given),
    isWhole: (answer) => isWhole?.(spec.output.parse(answer)) ?? true,
    undo: (answer, given) => undo?.(spec.output.parse(answer), given),
    async preview(on, given, actor, now) {
      const [stated] = split(seen, given);
      return spec.preview(on, read(stated, now), actor);
    },
    async run(on, given, actor, now) {
      const [stated, saw] = split(seen, given);
      return spec.run(on, read(stated, now), actor, readGiven(sawSchema, saw, now));
    },
  };
}
