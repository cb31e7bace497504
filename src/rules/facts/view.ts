/** The facts of one delivery as conditions see them: plain facts, and what is made of them once. */
import { isJsonObject } from '../../lib/json.ts';
import { celContext, currenciesOf, type ExtraTypes } from './build.ts';
import type { Facts, LineFacts } from './plain.ts';
import type { CurrencyOwner } from './table.ts';

export type CelContext = Readonly<Record<string, unknown>>;

/** Facts that several rule sets may see, if they declare the same fields of the ERP. */
export interface View {
  readonly facts: Facts;
  readonly currencies: Readonly<Record<CurrencyOwner, string>>;
  readonly extra: ExtraTypes;
  /** Derived facts that were asked for, by their paths. */
  readonly derived: Map<string, unknown>;
  /** The facts as the expression library sees them. */
  readonly typed: CelContext;
}

/** Result of a loop over lines that collects every line which decides it. */
interface LoopPass {
  /** Syntax node of the loop, by which its condition finds the pass. */
  readonly loop: unknown;
  readonly count: number;
  /** The first line whose value is not known. */
  readonly unclear: LineFacts | undefined;
}

/** Everything that the conditions of a rule set see: the facts, `lists` and `tables`. */
export interface Frame {
  readonly view: View;
  readonly lists: CelContext;
  readonly tables: CelContext;
  /** All variables for the expression library. */
  readonly typed: CelContext;
  /** Line, or text, of the loop around what is evaluated now. */
  item: LineFacts | string | undefined;
  /** Passes of the loops of the clause that is evaluated now. */
  passes: readonly LoopPass[];
}

export function viewOf(facts: Facts, extra: ExtraTypes): View {
  let typed: CelContext | undefined;
  return {
    facts,
    currencies: currenciesOf(facts),
    extra,
    derived: new Map(),
    get typed() {
      typed ??= celContext(facts, extra);
      return typed;
    },
  };
}

/** The view with `lists` and `tables`, as `setVariables` made them. */
export function frameOf(view: View, variables: CelContext): Frame {
  let typed: CelContext | undefined;
  return {
    view,
    lists: isJsonObject(variables.lists) ? variables.lists : {},
    tables: isJsonObject(variables.tables) ? variables.tables : {},
    get typed() {
      // The variables of the view are made when they are asked for, so none is copied.
      typed ??= Object.create(view.typed, Object.getOwnPropertyDescriptors(variables));
      return typed ?? variables;
    },
    item: undefined,
    passes: [],
  };
}

/** The variables with one more. */
export function withVariable(context: CelContext, name: string, value: unknown): CelContext {
  return Object.create(context, { [name]: { value, enumerable: true } });
}
