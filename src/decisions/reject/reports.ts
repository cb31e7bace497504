/** Backtests that somebody kept: what a reject rule would have done in exactly its present text. */
import { sql } from 'kysely';
import type { Rule } from '../../rules/rule.ts';
import type { Tx } from '../../store/store.ts';

export interface ReportInput {
  readonly ruleSetHash: string;
  /** Epoch milliseconds. */
  readonly since: number;
  readonly until: number;
  /** Deliveries replayed. */
  readonly deliveries: number;
  /** Hashes of the rules on trial, by their ids. */
  readonly rules: Readonly<Record<string, string>>;
  /** As `selvedge rules backtest --json` gives it. */
  readonly report: unknown;
}

export async function storeReport(
  tx: Tx,
  { ruleSetHash, rules, report, ...period }: ReportInput,
  who: { readonly actor: string; readonly at: number },
): Promise<number> {
  const row = await tx
    .insertInto('backtest_report')
    .values({
      ...who,
      ...period,
      rule_set_hash: ruleSetHash,
      rules: JSON.stringify(rules),
      report: JSON.stringify(report),
    })
    .returning('report_id')
    .executeTakeFirstOrThrow();
  return row.report_id;
}

/** The latest report about exactly this text that replayed anything at all. */
export async function latestReport(tx: Tx, { id, hash }: Rule): Promise<number | undefined> {
  const row = await tx
    .selectFrom('backtest_report')
    .select('report_id')
    .where('deliveries', '>', 0)
    .where(
      sql<boolean>`exists (select 1 from json_each(rules) where key = ${id} and value = ${hash})`,
    )
    .orderBy('report_id', 'desc')
    .limit(1)
    .executeTakeFirst();
  return row?.report_id;
}
