/** Streams of short lists that come in one answer: brands, freight options, seasons. */
import type { CallOptions } from '../../client/calls.ts';
import type { Listing } from '../../client/v1/calls.ts';
import { canonicalJson } from '../../lib/json.ts';
import { digestOf } from '../../lib/json-rows/known.ts';
import type { ListEntity } from '../../mirror/list.ts';
import type { Fuse, Stream } from '../stream.ts';

export interface ShortList {
  readonly name: string;
  readonly entity: ListEntity;
  readonly fuse: Fuse;
  readonly read: (call: CallOptions) => Promise<Listing<unknown>>;
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
        const segment = { firstRow: 0, rowCount: rows, digest, read: () => list };
        await listPage({ done: true }, entity, rows === 0 ? [] : [segment]);
      }
      const { count } = list;
      const counted = { what: 'the list', unit: 'rows', first: count, last: count };
      const counts = [{ part: '', ...counted, came: rows }];
      return { expectedRows: rows, counts, doubts: [], parts: new Map([['', rows]]) };
    },
  };
}
