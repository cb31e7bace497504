import { writeFileSync } from 'node:fs';
import { sql } from 'kysely';
import { expect, it } from 'vitest';
import { makeBundle } from '../../src/daemon/doctor/bundle.ts';
import { systemClock } from '../../src/lib/clock.ts';
import { pauseFile } from '../../src/store/pauses.ts';
import { openStore, storeOptions } from '../../src/store/store.ts';
import { startTestReference, testConfig } from '../support/house.ts';
import { placeDatabase } from '../support/store.ts';

it('tells what went wrong, and nothing of orders, customers, and what people wrote', async () => {
  const config = testConfig(await startTestReference());
  const options = storeOptions(config);
  placeDatabase(options.path);
  const { store } = await openStore(options, systemClock());
  const put = (table: string, row: Record<string, string | number | Buffer>) =>
    sql`insert into ${sql.table(table)} (${sql.join(Object.keys(row).map((name) => sql.ref(name)))})
        values (${sql.join(Object.values(row))})`.execute(store.db);
  const at = { first_seen_at: 1, last_seen_at: 1 };
  const place = { path: 'createdAt', reason: 'not a text', source: 'orders' };
  const raw = { raw: '{"email":"canary"}', raw_hash: 'canary' };
  await put('quarantine', { entity: 'order', ...raw, ...place, ...at });
  const incident = { kind: 'order_unreadable', entity: 'order', key: 'canary', detail: 'canary' };
  await put('incident', { at: 1, ...incident });
  const asked = { actor: 'canary', action: 'service.call', subject: 'v1 POST /orders' };
  await put('audit', { at: 1, ...asked, reason: 'canary', detail: 'canary' });
  const item = { kind: 'order', lane: 'canary', reference: 'canary', body: 'canary' };
  const times = { body_hash: '', due_at: 1, created_at: 1, cause: 'canary' };
  // The service repeats what it does not like of an order.
  await put('outbox', { ...item, ...times, state: 'queued', last_error: 'canary is no e-mail' });
  const attempt = { outbox_id: 1, attempt: 1, started_at: 1, class: 'refused', answer: 'canary' };
  await put('outbox_attempt', { ...attempt, http_status: 422, error_code: 'service.invalid' });
  const why = { at: 1, actor: 'canary', reason: 'canary' };
  await put('pause', { target: 'pushes', name: 'order', ...why });
  writeFileSync(pauseFile(config.dataDir, 'decisions'), 'canary');
  const event = { event_id: 'canary', received_at: 1, sent_at: 1, secret_name: 's' };
  await put('webhook_event', { ...event, body: Buffer.from('canary'), outcome: 'stored' });
  const bundle = await makeBundle({ config, warnings: [] }, [], 2);
  const { rows } = await sql<{ sqlite: string }>`select sqlite_version() as sqlite`.execute(
    store.db,
  );
  await store.close();
  expect(bundle).toMatchObject({
    program: rows[0],
    incidents: [{ kind: 'order_unreadable' }],
    quarantine: [{ entity: 'order', path: 'createdAt', reason: 'not a text' }],
    audit: [{ action: 'service.call' }],
    pushes: [{ kind: 'order', state: 'queued' }],
    attempts: [{ http_status: 422, error_code: 'service.invalid' }],
    status: {
      paused: [{ target: 'decisions' }, { at: 1, target: 'pushes', name: 'order' }],
    },
  });
  expect(JSON.stringify(bundle)).not.toContain('canary');
});
