/** Runs conformance cases against an account and gives the result of each. */

import { type Account, createApi, type Passing } from './api.ts';
import type { Case, Need } from './case.ts';
import { Differs, NotTried, type Remedy } from './findings.ts';
import { limitCases } from './limit-cases.ts';
import { v1AccessCases } from './v1-access-cases.ts';
import { v1CatalogCases } from './v1-catalog-cases.ts';
import { v1OrderCases } from './v1-order-cases.ts';
import { v1WriteCases } from './v1-write-cases.ts';
import { v2ReadCases } from './v2-read-cases.ts';
import { v2WriteCases } from './v2-write-cases.ts';

export interface Result {
  readonly id: string;
  readonly mark: Case['mark'];
  readonly statement: string;
  readonly outcome: 'as stated' | 'differs' | 'not tried';
  /** Observation, or the reason why the case was not tried. */
  readonly observed?: string;
  readonly remedy?: Remedy;
}

export interface Run {
  readonly results: readonly Result[];
  /** Members that answers have and the contract does not name. */
  readonly extras: readonly string[];
}

export interface RunOptions {
  readonly account: Account;
  readonly passing: Passing;
  /** Whether cases may create and change data. */
  readonly writes: boolean;
  /** Whether cases may run into limits on purpose. */
  readonly limits: boolean;
  /** Called with the id of each case before it is tried. */
  readonly onCase?: ((id: string) => void) | undefined;
}

export const ALL_CASES: readonly Case[] = [
  ...v1AccessCases,
  ...v1CatalogCases,
  ...v1OrderCases,
  ...v2ReadCases,
  ...v1WriteCases,
  ...v2WriteCases,
  ...limitCases,
];

const WHY: Readonly<Record<Need, string>> = {
  writes: 'it writes; --writes lets it',
  limits: 'it runs into a limit; --limits lets it',
  readToken: 'service.v1.readToken is not set',
  v2: 'service.v2 is not enabled',
};

function missing(one: Case, options: RunOptions): Need | undefined {
  const has: Readonly<Record<Need, boolean>> = {
    writes: options.writes,
    limits: options.limits,
    readToken: options.account.readToken !== undefined,
    v2: options.account.v2 !== undefined,
  };
  return one.needs.find((need) => !has[need]);
}

export async function runCases(options: RunOptions): Promise<Run> {
  const api = createApi(options.account, options.passing);
  const results: Result[] = [];
  for (const one of ALL_CASES) {
    const { id, mark, statement } = one;
    options.onCase?.(id);
    const need = missing(one, options);
    if (need !== undefined) {
      results.push({ id, mark, statement, outcome: 'not tried', observed: WHY[need] });
      continue;
    }
    try {
      await one.run(api);
      results.push({ id, mark, statement, outcome: 'as stated' });
    } catch (error) {
      const observed = error instanceof Error ? error.message : String(error);
      const outcome = error instanceof NotTried ? 'not tried' : 'differs';
      const remedy = error instanceof Differs ? error.remedy : {};
      results.push({ id, mark, statement, outcome, observed, remedy });
    }
  }
  return { results, extras: [...api.extras] };
}
