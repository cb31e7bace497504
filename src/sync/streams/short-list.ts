/** Streams of short lists that come in one answer: brands, freight options, seasons. */
import type { CheckedRows, Reject } from '../../client/rows.ts';
import type { Listing } from '../../client/v1/calls.ts';
import { canonicalJson, isJsonObject } from '../../lib/json.ts';
import { digestOf } from '../../lib/json-rows/known.ts';
import { type ListEntity, unitedByKey } from '../../mirror/list.ts';
import type { Fuse, PartCount, Stream, StreamRun } from '../stream.ts';

interface ReadList extends Listing<unknown> {
  /** What speaks against having read all of it, in words. */
  readonly doubts?: readonly string[];
  /** Where it was read in several pieces: what the service counted of each. */
  readonly counts?: readonly PartCount[];
}

function isNameless(raw: unknown, member: string): boolean {
  if (!isJsonObject(raw)) return false;
  const name = raw[member] ?? '';
  return typeof name === 'string' && name.trim() === '';
}

/**
 * The rows that could not be read, without those that name nothing: they are no things of the list,
 * and take none away. Where no row has a name, the service calls it otherwise.
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
  readonly fuse: Fuse;
  readonly read: (call: StreamRun['call']) => Promise<ReadList>;
}

export function createShortListStream({ name, entity, fuse, read }: ShortList): Stream {
  return {
    name,
    options: {},
    list: { entity, fuse, isPaged: false, isLong: false },
    async pull({ run, listPage, call }) {
      const { count, counts: ownCounts, doubts = [], ...list } = await read(call);
      const rejects = withoutNameless(list, entity.wireKey);
      const nameless = list.rejects.length - rejects.length;
      const rows = list.rows.length + rejects.length;
      const digest = digestOf(canonicalJson([list.rows, rejects]));
      if (run.checkpoint.done !== true) {
        const read = () => ({ rejects, rows: unitedByKey(entity, list.rows) });
        const drift = nameless > 0 ? { [`${entity.wireKey}=(none)`]: nameless } : {};
        const segment = { firstRow: 0, rowCount: rows, digest, read };
        await listPage({ done: true, drift }, entity, rows === 0 ? [] : [segment]);
      }
      const counted = { what: 'the list', unit: 'rows', first: count, last: count };
      const counts = ownCounts ?? [{ part: '', ...counted, came: rows + nameless }];
      return { expectedRows: rows, counts, doubts, parts: new Map([['', rows]]) };
    },
  };
}
