/** Streams of short lists that come in one answer: brands, freight options, seasons. */
import type { CallOptions } from '../../client/calls.ts';
import type { Listing } from '../../client/v1/calls.ts';
import { canonicalJson, isJsonObject } from '../../lib/json.ts';
import { digestOf } from '../../lib/json-rows/known.ts';
import type { ListEntity } from '../../mirror/list.ts';
import type { Fuse, Stream } from '../stream.ts';

export interface ShortList {
  readonly name: string;
  readonly entity: ListEntity;
  readonly fuse: Fuse;
  readonly read: (call: CallOptions) => Promise<Listing<unknown>>;
}

/** One record of each key. One answer cannot have moved: what repeats a key there belongs to it. */
function unitedByKey(
  { wireKey, unite = ([first]) => first }: ListEntity,
  records: readonly unknown[],
): readonly unknown[] {
  const keyOf = (record: unknown) => (isJsonObject(record) ? record[wireKey] : undefined);
  const byKey = Map.groupBy(records, keyOf);
  return [...byKey.values()].map((of) => (of.length === 1 ? of[0] : unite(of)));
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
      const { count } = list;
      const counted = { what: 'the list', unit: 'rows', first: count, last: count };
      const counts = [{ part: '', ...counted, came: rows }];
      return { expectedRows: rows, counts, doubts: [], parts: new Map([['', rows]]) };
    },
  };
}
