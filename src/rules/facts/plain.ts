/**
 * Facts as plain JSON: callers pass them in this form, the journal stores them, replays read them.
 *
 * Money is an integer of ten-thousandths (lib/money.ts), percentages and other decimals are text
 * ("2.5"), durations are milliseconds and times epoch milliseconds. Null means that a fact is not
 * known, or that there is none. Conditions see an absent fact in the same way, but in stored facts
 * it was not gathered (gathered.ts). A derived fact that is absent is computed; null stays unknown.
 */
import type { RECORDS, RecordName } from './table.ts';

interface Scalars {
  string: string;
  bool: boolean;
  int: number;
  money: number;
  percent: string;
  decimal: string;
  duration: number;
  timestamp: number;
  strings: readonly string[];
  extra: Readonly<Record<string, string | number | boolean | null>>;
}

type ValueOf<F> = F extends { type: 'enum'; values: readonly (infer V)[] }
  ? V
  : F extends { type: 'record'; of: infer R extends RecordName }
    ? Plain<R>
    : F extends { type: 'records'; of: infer R extends RecordName }
      ? readonly Plain<R>[]
      : F extends { type: infer T extends keyof Scalars }
        ? Scalars[T]
        : never;

type MayBeLeftOut<F> = F extends { optional: true } | { derived: true } ? true : false;

type Plain<R extends RecordName> = {
  readonly [N in keyof (typeof RECORDS)[R] as MayBeLeftOut<(typeof RECORDS)[R][N]> extends true
    ? never
    : N]: ValueOf<(typeof RECORDS)[R][N]>;
} & {
  readonly [N in keyof (typeof RECORDS)[R] as MayBeLeftOut<(typeof RECORDS)[R][N]> extends true
    ? N
    : never]?: ValueOf<(typeof RECORDS)[R][N]> | null | undefined;
};

export interface Facts {
  readonly delivery: Plain<'delivery'>;
  readonly order: Plain<'order'>;
  readonly customer?: Plain<'customer'> | null | undefined;
  readonly season?: Plain<'season'> | null | undefined;
  readonly stock?: Plain<'stock'> | null | undefined;
  readonly today?: Plain<'today'> | null | undefined;
  readonly clock: Plain<'clock'>;
  /**
   * Number of the change feed's last entry that the facts include; only stored facts have it, and
   * those of version 0.1.0 do not.
   */
  readonly feed?: number | undefined;
}

export type LineFacts = Plain<'line'>;
export type CreditFacts = Plain<'credit'>;
