/** Entities of V2's resources: `style`, `style_color`, `color`, `pdm_brand`, `style_type`, … */
import { type MirroredTable, raiseReadSeq, type SqlRow } from '../../store/bulk.ts';
import type { Tx } from '../../store/store.ts';
import { upsertRows, type WriteCounts } from '../entity.ts';
import { invalidateList, type ListEntity } from '../list.ts';
import { type Members, membersOf } from '../members.ts';
import type { Provenance } from '../rows/prepared.ts';

type Columns = (attributes: Members, relationships: Members) => SqlRow;

/** Id of the resource that a to-one relationship points to; null: none. */
function toOne(relationships: Members, name: string): string | null {
  const data = relationships.object(name).object('data');
  data.text('type');
  return data.text('id');
}

/** Ids that a to-many relationship points to, as JSON; `null`: it came as links only. */
function toMany(relationships: Members, name: string): string {
  const relationship = relationships.object(name);
  if (!relationship.has('data')) return 'null';
  const ids = relationship.list('data').map((one) => membersOf(one).text('id'));
  return JSON.stringify(ids.filter((id) => id !== null));
}

/** Defines the entity of one resource; `needed` and `lists` name the members that rules use. */
function resource(
  table: MirroredTable,
  key: string,
  columns: readonly string[],
  read: Columns,
  needed: readonly string[] = [],
  lists: readonly string[] = [],
): ListEntity {
  return {
    guarded: { groups: [], prices: [], needed, lists, details: [] },
    entity: table,
    table,
    key,
    wireKey: 'id',
    columns: [key, ...columns],
    toRow(record) {
      const members = membersOf(record);
      members.text('type');
      const values = {
        [key]: members.text('id'),
        ...read(members.object('attributes'), members.object('relationships')),
      };
      return { values, extra: members.rest() };
    },
  };
}

const named: Columns = (attributes) => ({ name: attributes.text('name') });

/** Entities of V2's resources by the name of their stream. */
export const PDM = {
  styles: resource(
    'style',
    'style_id',
    [
      'style_no',
      'style_name',
      'description',
      'designer',
      'active',
      'updated_at',
      'brand_id',
      'type_id',
      'gender_id',
      'country_id',
      'style_color_ids',
    ],
    (attributes, relationships) => ({
      style_no: attributes.text('styleNo'),
      style_name: attributes.text('styleName'),
      description: attributes.text('description'),
      designer: attributes.text('designer'),
      active: attributes.flag('active'),
      updated_at: attributes.time('updatedAt'),
      brand_id: toOne(relationships, 'brand'),
      type_id: toOne(relationships, 'type'),
      gender_id: toOne(relationships, 'gender'),
      country_id: toOne(relationships, 'countryOfOrigin'),
      style_color_ids: toMany(relationships, 'styleColors'),
    }),
    ['style_no', 'active', 'brand_id'],
    ['style_color_ids'],
  ),
  styleColors: resource(
    'style_color',
    'style_color_id',
    ['active', 'noos_type', 'color_id'],
    (attributes, relationships) => ({
      active: attributes.flag('active'),
      noos_type: attributes.text('noosType'),
      color_id: toOne(relationships, 'color'),
    }),
    ['active', 'noos_type', 'color_id'],
  ),
  colors: resource(
    'color',
    'color_id',
    ['name', 'code', 'active'],
    (attributes) => ({
      name: attributes.text('name'),
      code: attributes.text('code'),
      active: attributes.flag('active'),
    }),
    ['code', 'active'],
  ),
  pdmBrands: resource('pdm_brand', 'brand_id', ['name'], named, ['name']),
  types: resource('style_type', 'type_id', ['name'], named),
  genders: resource('gender', 'gender_id', ['name'], named),
  countries: resource('country', 'country_id', ['name', 'code'], (attributes) => ({
    name: attributes.text('name'),
    code: attributes.text('code'),
  })),
} as const;

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
