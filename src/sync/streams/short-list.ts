/** Streams of short lists that come in one answer: brands, freight options, seasons. */
import type { Listing } from '../../client/v1/calls.ts';
import { canonicalJson } from '../../lib/json.ts';
import { digestOf } from '../../lib/json-rows/known.ts';
import { type ListEntity, unitedByKey } from '../../mirror/list.ts';
import type { Fuse, PartCount, Stream, StreamRun } from '../stream.ts';

interface ReadList extends Listing<unknown> {
  /** What speaks against having read all of it, in words. */
  readonly doubts?: readonly string[];
  /** Where it was read in several pieces: what the service counted of each. */
  readonly counts?: readonly PartCount[];
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
      const list = await read(call);
      const rows = list.rows.length + list.rejects.length;
      const digest = digestOf(canonicalJson([list.rows, list.rejects]));
      if (run.checkpoint.done !== true) {
        const read = () => ({ ...list, rows: unitedByKey(entity, list.rows) });
        const segment = { firstRow: 0, rowCount: rows, digest, read };
        await listPage({ done: true }, entity, rows === 0 ? [] : [segment]);
      }
      const { count, doubts = [] } = list;
      const counted = { what: 'the list', unit: 'rows', first: count, last: count };
      const counts = list.counts ?? [{ part: '', ...counted, came: rows }];
      return { expectedRows: rows, counts, doubts, parts: new Map([['', rows]]) };
    },
  };
}
