/**
 * Streams of short lists that arrive in one answer: brands, freight options, seasons. The head of
 * `config/lists.ts` names all places of a new one.
 */
import type { CheckedRows, Reject } from '../../client/rows.ts';
import type { Listing } from '../../client/v1/calls.ts';
import { canonicalJson, isJsonObject } from '../../lib/json.ts';
import { digestOf } from '../../lib/json-rows/known.ts';
import { type ListEntity, unitedByKey } from '../../mirror/list.ts';
import type { DeletionGuard, PartCount, Stream, StreamRun } from '../stream.ts';

interface ReadList extends Listing<unknown> {
  /** Arguments against the list's completeness, as messages. */
  readonly doubts?: readonly string[];
  /** The service's counts per piece of the list, if it was read in several. */
  readonly counts?: readonly PartCount[];
}

function isNameless(raw: unknown, member: string): boolean {
  if (!isJsonObject(raw)) return false;
  const name = raw[member] ?? '';
  return typeof name === 'string' && name.trim() === '';
}

/**
 * Leaves out rejected rows without a name, which are no entries of the list. If no row has a name,
 * the service uses another member for it, so all count.
 */
export function withoutNameless(
  { rows, rejects }: CheckedRows<unknown>,
  member: string,
): readonly Reject[] {
  return rows.length === 0 ? rejects : rejects.filter(({ raw }) => !isNameless(raw, member));
}

export interface ShortList {
  readonly name: string;
  readonly entity: ListEntity;
  readonly deletionGuard: DeletionGuard;
  readonly read: (call: StreamRun['call']) => Promise<ReadList>;
}

export function createShortListStream({ name, entity, deletionGuard, read }: ShortList): Stream {
  return {
    name,
    options: {},
    list: { entity, deletionGuard, isPaged: false, isLong: false },
    async pull({ run, listPage, call }) {
      const { count, ...list } = await read(call);
      const rejects = withoutNameless(list, entity.wireKey);
      const nameless = list.rejects.length - rejects.length;
      const rows = list.rows.length + rejects.length;
      const digest = digestOf(canonicalJson([list.rows, rejects]));
      if (run.checkpoint.done !== true) {
        const read = () => ({ rejects, rows: unitedByKey(entity, list.rows) });
        const drift = nameless > 0 ? { [`${entity.wireKey}=(none)`]: nameless } : {};
        const chunk = { firstRow: 0, rowCount: rows, digest, read };
        await listPage({ done: true, drift }, entity, rows === 0 ? [] : [chunk]);
      }
      const { doubts = [] } = list;
      const counted = { what: 'the list', unit: 'rows', first: count, last: count };
      const counts = list.counts ?? [{ part: '', ...counted, came: rows + nameless }];
      return { expectedRows: rows, counts, doubts, parts: new Map([['', rows]]) };
    },
  };
}
