/** Words for what an incident is about, on its page. */
import { expect, it } from 'vitest';
import { incidentPage } from '../../src/console/pages/incident.ts';
import { renderHtml } from '../../src/lib/html.ts';
import { incidentOf } from '../../src/ops/incidents.ts';
import { temporaryStore } from '../support/store.ts';

it.each([
  ['shared_number', 'sales_order', 'SO-1', 'order SO-1'],
  ['worker_failing', 'worker', 'dispatcher', 'worker dispatcher'],
  ['rules_list', 'rules', 'vip', 'list vip'],
  ['shared_number', 'delivery', 'number', 'delivery number'],
])('the page of a %s about %s %s names it, also where it has no page', async (...given) => {
  const [kind, entity, key, about] = given;
  const { db } = await temporaryStore();
  const row = { at: 1, kind, entity, key, detail: '{}' };
  const { id } = await db
    .insertInto('incident')
    .values(row)
    .returning('id')
    .executeTakeFirstOrThrow();
  const one = await incidentOf(db, id);
  const reader = {
    now: 2,
    timeZone: 'UTC',
    role: 'viewer',
    seesAddresses: true,
    locale: 'en-GB',
  } as const;
  const page = renderHtml(incidentPage({ one, before: [] }, reader));
  expect(page).toContain(about);
  expect(page).not.toContain(`/${key}"`);
  expect(page).toMatch(new RegExp(`&quot;key&quot;: &quot;${key}&quot;|"key": "${key}"`));
});
