/** Entities of V2's resources: `style`, `style_color`, `color`, `pdm_brand`, `style_type`, … */
import type { V2_LISTS } from '../../config/lists.ts';
import { type MirroredTable, raiseReadSeq } from '../../store/bulk.ts';
import type { Tx } from '../../store/store.ts';
import { upsertRows, type WriteCounts } from '../entity.ts';
import { invalidateList, type ListEntity } from '../list.ts';
import { declared, flag, membersOf, type Read, text, time } from '../members.ts';
import type { Provenance } from '../rows/prepared.ts';

/** Id of the resource that a to-one relationship points to; null: none. */
function toOne(relationship: string): Read {
  return (left) => {
    const data = left.object('relationships').object(relationship).object('data');
    data.text('type');
    return data.text('id');
  };
}

/** Ids that a to-many relationship points to, as JSON; `null`: it came as links only. */
function toMany(relationship: string): Read {
  return (left) => {
    const many = left.object('relationships').object(relationship);
    if (!many.has('data')) return 'null';
    const ids = many.list('data').map((one) => membersOf(one).text('id'));
    return JSON.stringify(ids.filter((id) => id !== null));
  };
}

/** A resource's own id; beside it, its type and objects without members say nothing. */
const id: Read = (left) => {
  left.object('attributes');
  left.object('relationships');
  left.text('type');
  return left.text('id');
};

/**
 * Defines the entity of one resource; `type` is its type at the service, `needed` and `lists` name
 * the members that rules use.
 */
function resource<T extends string>(
  type: T,
  table: MirroredTable,
  key: string,
  columns: Readonly<Record<string, Read>>,
  needed: readonly string[] = [],
  lists: readonly string[] = [],
): ListEntity & { readonly type: T } {
  const guarded = { groups: [], prices: [], needed, lists, details: [] };
  const all = { [key]: id, ...columns };
  const entity = { guarded, entity: table, table, key, wireKey: 'id', columns: all };
  return { ...declared(entity), type };
}

const named = { name: text('attributes.name') };

/** Entities of V2's resources by the name of their stream. */
export const PDM = {
  styles: resource(
    'style',
    'style',
    'style_id',
    {
      style_no: text('attributes.styleNo'),
      style_name: text('attributes.styleName'),
      description: text('attributes.description'),
      designer: text('attributes.designer'),
      active: flag('attributes.active'),
      updated_at: time('attributes.updatedAt'),
      brand_id: toOne('brand'),
      type_id: toOne('type'),
      gender_id: toOne('gender'),
      country_id: toOne('countryOfOrigin'),
      style_color_ids: toMany('styleColors'),
    },
    ['style_no', 'active', 'brand_id'],
    ['style_color_ids'],
  ),
  styleColors: resource(
    'styleColor',
    'style_color',
    'style_color_id',
    {
      active: flag('attributes.active'),
      noos_type: text('attributes.noosType'),
      color_id: toOne('color'),
    },
    ['active', 'noos_type', 'color_id'],
  ),
  colors: resource(
    'color',
    'color',
    'color_id',
    { ...named, code: text('attributes.code'), active: flag('attributes.active') },
    ['code', 'active'],
  ),
  pdmBrands: resource('brand', 'pdm_brand', 'brand_id', named, ['name']),
  types: resource('type', 'style_type', 'type_id', named),
  genders: resource('gender', 'gender', 'gender_id', named),
  countries: resource('country', 'country', 'country_id', {
    ...named,
    code: text('attributes.code'),
  }),
} as const satisfies Readonly<Record<keyof typeof V2_LISTS, ListEntity>>;

export type PdmStream = keyof typeof PDM;

/** Writes one style outside of a run of the list of styles. */
export async function writeStyle(
  tx: Tx,
  record: object,
  provenance: Provenance,
): Promise<WriteCounts> {
  const { styles } = PDM;
  const row = styles.toRow(record);
  const counts = await upsertRows(tx, styles, [row], provenance);
  // A higher read number protects the row from a run that began earlier and would delete it.
  const styleId = row.values[styles.key] ?? null;
  await raiseReadSeq(tx, styles.table, styles.key, [styleId], provenance.readSeq);
  if (counts.inserted + counts.changed > 0) await invalidateList(tx, 'styles');
  return counts;
}
