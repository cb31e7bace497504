/**
 * Entities `brand`, `freight_option` and `season`: the short lists of V1. The head of
 * `config/lists.ts` names all places of a new one.
 */
import type { V1_LISTS } from '../../config/lists.ts';
import { isJsonObject } from '../../lib/json.ts';
import type { ListEntity } from '../list.ts';
import { declared, membersOf, text } from '../members.ts';
import { unreadOf } from '../rows/prepared.ts';

export const BRAND = declared({
  entity: 'brand',
  table: 'brand',
  key: 'brand_name',
  wireKey: 'brandName',
  columns: { brand_name: text('brandName') },
});

export const FREIGHT_OPTION = declared({
  entity: 'freight_option',
  table: 'freight_option',
  key: 'freight_type',
  wireKey: 'freightType',
  columns: { freight_type: text('freightType') },
});

/**
 * Merges the entries of one season: the service may list it once per brand, each time with that
 * brand's delivery names.
 */
function uniteSeasons(records: readonly unknown[]): unknown {
  const [first] = records;
  // If the delivery names of one entry are unreadable, those of the whole season are unknown.
  const odd = records.find((record) => unreadOf(record) !== null);
  if (odd !== undefined) return odd;
  const names = records.flatMap((record) => {
    const of = isJsonObject(record) ? record.deliveryNames : undefined;
    return Array.isArray(of) ? of : [];
  });
  return isJsonObject(first) ? { ...first, deliveryNames: [...new Set(names)] } : first;
}

export const SEASON: ListEntity = {
  entity: 'season',
  table: 'season',
  key: 'season_name',
  wireKey: 'seasonName',
  columns: ['season_name', 'unread'],
  unite: uniteSeasons,
  lines: { table: 'season_delivery', columns: ['line_no', 'delivery_name'] },
  toRow(record) {
    const members = membersOf(record);
    const lines = members.list('deliveryNames').map((name, index) => ({
      line_no: index + 1,
      delivery_name: String(name),
    }));
    const values = { season_name: members.text('seasonName'), unread: unreadOf(record) };
    return { values, extra: members.rest(), lines };
  },
};

/** Entities of V1's short lists, by the name of their stream. */
export const SHORT_LISTS: Readonly<Record<keyof typeof V1_LISTS, ListEntity>> = {
  brands: BRAND,
  freight: FREIGHT_OPTION,
  seasons: SEASON,
};
