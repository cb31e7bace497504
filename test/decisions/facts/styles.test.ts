/** What the product data say of a line whose style number is not one style, or came in parts. */
import { sql } from 'kysely';
import { expect, it } from 'vitest';
import { readSubject } from '../../../src/decisions/facts.ts';
import { PDM } from '../../../src/mirror/catalog/pdm.ts';
import { upsertRows } from '../../../src/mirror/entity.ts';
import { type ListEntity, markDeleted } from '../../../src/mirror/list.ts';
import { rulesOf } from '../../rules/support.ts';
import { notePlans, type Planned } from '../../support/plans.ts';
import { createDeciderFixture } from '../support.ts';

/** Rules that take an absent fact for an answer, as rejects and holds do. */
const { settings, rules } = rulesOf(`
rules:
  - id: hold-unsold
    title: Not sold
    action: hold
    mode: live
    when:
      - delivery.lines.exists(line, has(line.style_active) && !line.style_active)
    unless:
      - delivery.lines.exists(line, has(line.noos) && line.noos)
`);

interface StyleIn {
  readonly id: string;
  readonly brand?: string | null;
  readonly active?: boolean;
  /** Ids of its colors; undefined: the relationship came as links only. */
  readonly colors?: readonly string[] | undefined;
}

function styleOf({ id, brand = '1', active = true, colors }: StyleIn) {
  const links = { links: { related: '/x' } };
  const data = colors?.map((one) => ({ type: 'styleColor', id: one }));
  return {
    id,
    attributes: { styleNo: 'S-1', active },
    relationships: {
      brand: brand === null ? links : { data: { type: 'brand', id: brand } },
      styleColors: data ? { data } : links,
    },
  };
}

async function createShop(brandName = 'North') {
  const fixture = await createDeciderFixture();
  const details = { styleNo: 'S-1', brandName };
  await fixture.stock({ a: 9 }, { a: { colorCode: '010', details } });
  await fixture.delivery({ id: 1 });
  let readSeq = 0;
  const write = (entity: ListEntity, records: readonly object[]) => {
    readSeq += 1;
    const rows = records.map((record) => entity.toRow(structuredClone(record)));
    const at = { source: 'run:1', readSeq, at: fixture.clock.now() };
    return fixture.store.transaction((tx) => upsertRows(tx, entity, rows, at));
  };
  /** Ends a run that found these ids of styles. */
  const list = async (...ids: readonly string[]) => {
    readSeq += 1;
    const { db } = fixture.store;
    const { insertId } = await db
      .insertInto('sync_run')
      .values({
        ...{ stream: 'styles', cause: 'schedule', started_at: 1, read_seq: readSeq },
        ...{ options: '{}', checkpoint: '{}', outcome: 'suspicious' },
      })
      .executeTakeFirstOrThrow();
    await sql`replace into stream_state (stream, due_at, last_run_id)
      values ('styles', 0, ${insertId})`.execute(db);
    await sql`replace into chunk (stream, part, first_row, row_count, keys)
      values ('styles', '', 0, ${ids.length}, ${JSON.stringify(ids)})`.execute(db);
  };
  const remove = (entity: ListEntity, key: string) => {
    const at = { source: 'run:2', readSeq: 999, at: fixture.clock.now() };
    return fixture.store.transaction((tx) => markDeleted(tx, entity, [key], at));
  };
  await write(PDM.pdmBrands, [
    { id: '1', attributes: { name: 'North' } },
    { id: '2', attributes: { name: 'South' } },
  ]);
  await write(PDM.colors, [{ id: '1', attributes: { code: '010' } }]);
  const color = { color: { data: { type: 'color', id: '1' } } };
  await write(PDM.styleColors, [
    { id: '7', attributes: { active: true, noosType: 'noos' }, relationships: color },
    { id: '8', attributes: { active: true, noosType: 'none' }, relationships: color },
    { id: '6', attributes: { active: false, noosType: 'noos' }, relationships: color },
  ]);
  return {
    store: fixture.store,
    remove,
    list,
    styles: (...styles: readonly StyleIn[]) => write(PDM.styles, styles.map(styleOf)),
    /** Facts of the line, and why they are not known although the style is there. */
    async seen({ store }: Pick<Planned, 'store'> = fixture) {
      const at = { now: fixture.clock.now(), settings, rules };
      const subject = await store.transaction((tx) => readSubject(tx, 1, at));
      const { lines, unread = [] } = subject?.facts.delivery ?? { lines: [] };
      return [lines[0]?.style_active, lines[0]?.noos, ...(unread ?? [])];
    },
  };
}

it('is that of the brand of the line, where two brands have one number', async () => {
  const both: StyleIn[] = [
    { id: '1', brand: '1', colors: ['7'] },
    { id: '2', brand: '2', active: false, colors: ['8'] },
  ];
  for (const [brand, seen] of [
    ['NORTH ', [true, true]],
    ['South', [false, false]],
  ] as const) {
    const shop = await createShop(brand);
    await shop.styles(...both);
    expect(await shop.seen()).toEqual(seen);
  }
});

it('is that of the style that is sold, where an old one has its number', async () => {
  for (const ids of [
    ['1', '2'],
    ['2', '1'],
  ]) {
    const shop = await createShop();
    const [old = '', anew = ''] = ids;
    await shop.styles({ id: old, active: false, colors: ['8'] }, { id: anew, colors: ['7'] });
    expect(await shop.seen()).toEqual([true, true]);
  }
});

it('is not known, and said so, where it is not clear which style it is', async () => {
  const shop = await createShop();
  await shop.styles({ id: '1', colors: ['7'] }, { id: '2', colors: ['8'] });
  const why = 'the style S-1 (it belongs to several styles that differ)';
  expect(await shop.seen()).toEqual([true, null, why]);
});

it('is not known where its color is sold of one style, and of the other not', async () => {
  const shop = await createShop();
  await shop.styles({ id: '1', colors: ['7'] }, { id: '2', colors: ['6'] });
  const why = 'the style S-1 (it belongs to several styles that differ)';
  expect(await shop.seen()).toEqual([true, true, why]);
});

it('is not known while a list has its style under another id than before', async () => {
  const shop = await createShop();
  await shop.list('1');
  await shop.styles({ id: '1', colors: ['7'] });
  const why = 'the style S-1 (it has another id in the list than before)';
  // The list names another one, which is not sold, and the former one may be gone.
  await shop.styles({ id: '901', active: false, colors: ['7'] });
  await shop.list('901');
  expect(await shop.seen()).toEqual([null, null, why]);
  // A read of its own knows better than the list before it.
  await shop.styles({ id: '1', colors: ['7', '8'] });
  await shop.styles({ id: '1', colors: ['7'] });
  expect(await shop.seen()).toEqual([true, true]);
  await shop.list('901');
  expect(await shop.seen()).toEqual([null, null, why]);
  await shop.list('901', '1');
  expect(await shop.seen()).toEqual([true, true]);
  await shop.list('901');
  await shop.remove(PDM.styles, '1');
  expect(await shop.seen()).toEqual([false, true]);
});

it('is that of both where the ids of a whole list are others, and they say the same', async () => {
  const shop = await createShop();
  await shop.styles({ id: '1', colors: ['7'] }, { id: '901', colors: ['7'] });
  await shop.list('901');
  const planned = notePlans(shop.store);
  expect(await shop.seen(planned)).toEqual([true, true]);
  // The list need not be asked for which of them it has.
  expect(planned.times(/from chunk/)).toBe(0);
  await shop.styles({ id: '902', colors: ['8'] });
  await shop.seen(planned);
  expect(planned.times(/from chunk/)).toBe(1);
});

it('is not known of a style that moved to another brand, or that is gone', async () => {
  const shop = await createShop();
  await shop.styles({ id: '1', colors: ['7'] });
  expect(await shop.seen()).toEqual([true, true]);
  await shop.styles({ id: '1', brand: '2', colors: ['7'] });
  const moved = 'the style S-1 (it is listed for another brand only)';
  expect(await shop.seen()).toEqual([null, null, moved]);
  await shop.remove(PDM.styles, '1');
  const gone = 'the style S-1 (it is not listed any more)';
  expect(await shop.seen()).toEqual([null, null, gone]);
});

it('goes by the number alone, where the product data name brands otherwise', async () => {
  const shop = await createShop('North ApS');
  await shop.styles({ id: '1', colors: ['7'] });
  expect(await shop.seen()).toEqual([true, true]);
});

it('is not known where the colors came as links only, or one is missing', async () => {
  const shop = await createShop();
  const why = 'the style S-1 (it came without all of its colors)';
  await shop.styles({ id: '1' });
  expect(await shop.seen()).toEqual([true, null, why]);
  await shop.styles({ id: '1', colors: ['7', '9'] });
  expect(await shop.seen()).toEqual([true, true]);
  await shop.remove(PDM.styleColors, '7');
  expect(await shop.seen()).toEqual([true, null, why]);
  await shop.styles({ id: '1', colors: [] });
  expect(await shop.seen()).toEqual([true, null]);
});
