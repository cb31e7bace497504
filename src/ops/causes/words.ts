/** Statuses that nobody knows: what has one is neither decided nor counted as done. */
import { sql } from 'kysely';
import { STATUSES } from '../../config/statuses.ts';
import type { Db } from '../../store/store.ts';
import type { Cause } from './cause.ts';
import { THINGS, type Thing } from './things.ts';

/** Words of one kind that are told apart: more would be no words. */
const WORDS_MAX = 20;

interface Odd {
  readonly status: string;
  readonly rows: number;
  readonly example: number;
}

/** Literals, as the partial index has them: a parameter would hide it. */
function listed(of: keyof typeof STATUSES) {
  return sql.raw(STATUSES[of].map((status) => `'${status}'`).join(', '));
}

async function oddIn(db: Db, { table, key, of }: Thing): Promise<readonly Odd[]> {
  if (of === undefined) return [];
  const { rows } = await sql<Odd>`
    select status, count(*) rows, max(${sql.ref(key)}) example from ${sql.table(table)}
    where status not in (${listed(of)}) and status <> '' and deleted_at is null
    group by status order by rows desc limit ${WORDS_MAX}`.execute(db);
  return rows;
}

/** For YAML in one line. */
function scalar(word: string): string {
  return /^[A-Za-z][\w-]*$/.test(word) ? word : JSON.stringify(word);
}

export async function unknownStatuses(db: Db): Promise<readonly Cause[]> {
  const causes: Cause[] = [];
  for (const thing of THINGS) {
    const { entity, words, of } = thing;
    for (const { status, rows, example } of await oddIn(db, thing)) {
      const which = `${rows} ${words} (such as ${example})`;
      const says = `${which} have the status "${status}", which nobody knows: none is decided`;
      const means = of === undefined ? '' : STATUSES[of].join('|');
      const setting = `service.v1.statuses: [{ of: ${of}, says: ${scalar(status)}, means: … }]`;
      const advice = `say what it means (${means}): ${setting}`;
      causes.push({ kind: 'unknown_status', entity, key: status, detail: { says, advice, rows } });
    }
  }
  return causes;
}
