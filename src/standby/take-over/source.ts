/** Reads the record from PostgreSQL in pieces that memory holds, up to where it is consistent. */
import { z } from 'zod';
import { literal, type Session } from '../session.ts';
import type { PlayedRow, RecordSource } from './play.ts';

/** Places of which all rows are played: behind the first, up to the last. */
interface Span {
  readonly after: number;
  readonly to: number;
}

export interface SourceLimits {
  readonly keysMax: number;
  readonly rowsMax: number;
  /** Characters of rows after which a piece ends. */
  readonly charsMax: number;
}

const LIMITS: SourceLimits = { keysMax: 5_000, rowsMax: 1_000, charsMax: 4_000_000 };

const PLACE = z.coerce.number();
const KEY = z.object({ place: PLACE, what: z.string(), key: z.string() });
const ROW = KEY.extend({ row: z.string().nullable() });

/**
 * A machine that died in the midst of a backlog left a part that is consistent with nothing: behind
 * its last whole round, up to where the next machine began.
 */
async function readSpans(
  session: Session,
  ours: string,
  { after, before }: { readonly after: number; readonly before: number },
): Promise<readonly Span[]> {
  const lines = await session.ask(
    `select place from standby_record where ${ours} and what = 'line'
       and place > ${after} and place < ${before} order by place`,
  );
  const spans: Span[] = [];
  let from = after;
  for (const line of [...lines.map(({ place }) => PLACE.parse(place)), before]) {
    const [whole] = await session.ask(
      `select max(place) AS place from standby_record
       where ${ours} and whole and place > ${from} and place < ${line}`,
    );
    if (whole?.place !== null) spans.push({ after: from, to: PLACE.parse(whole?.place) });
    from = line;
  }
  return spans;
}

export async function openSource(
  session: Session,
  account: string,
  between: { readonly after: number; readonly before: number },
  limits: SourceLimits = LIMITS,
): Promise<RecordSource> {
  const ours = `account = ${literal(account)}`;
  const spans = await readSpans(session, ours, between);
  async function* pieces<T extends { readonly place: number }>(
    row: z.ZodType<T>,
    textOf: (which: string) => string,
  ): AsyncGenerator<readonly T[]> {
    for (const { after, to } of spans) {
      for (let from = after; ; ) {
        const found = await session.ask(textOf(`${ours} and place > ${from} and place <= ${to}`));
        const piece = found.map((one) => row.parse(one));
        const last = piece.at(-1);
        if (last === undefined) break;
        yield piece;
        from = last.place;
      }
    }
  }
  return {
    keys: () =>
      pieces(
        KEY,
        (which) =>
          `select place, what, key from standby_record where ${which}
           order by place limit ${limits.keysMax}`,
      ),
    // The row with which a piece becomes too long is its last one.
    rows: (what): AsyncIterable<readonly PlayedRow[]> =>
      pieces(
        ROW,
        (which) =>
          `select place, what, key, row from (
             select *, sum(length(row)) over (order by place) - length(row) AS before
             from (select place, what, key, row from standby_record
               where ${which} and what = ${literal(what)}
               order by place limit ${limits.rowsMax}) AS few) AS summed
           where coalesce(before, 0) < ${limits.charsMax} order by place`,
      ),
  };
}
