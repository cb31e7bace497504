/** A database with a row for each name that programs have: kinds, states, outcomes, causes. */
import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { sql } from 'kysely';
import { OUTBOX_KINDS, WORDS } from '../../src/config/words.ts';
import { openRuleKeeper } from '../../src/decisions/rule-keeper.ts';
import { KNOWN_TYPES } from '../../src/inbox/event-store.ts';
import { silentLogger } from '../../src/lib/log.ts';
import { Secret } from '../../src/lib/secret.ts';
import { ENTITIES } from '../../src/mirror/catalog/entities.ts';
import { INCIDENT_KINDS } from '../../src/ops/incident-kinds.ts';
import { openIncident } from '../../src/store/incidents.ts';
import { OUTBOX_STATES, RUN_OUTCOMES } from '../../src/store/tables.ts';
import { configOf } from '../config/config-of.ts';
import type { DeciderFixture } from '../decisions/support.ts';
import { temporaryFolder } from '../support/store.ts';
import { RULES, waitingWorld } from './waiting-world.ts';

export const SETTINGS = [
  { path: 'service.v1.baseUrl', value: 'http://127.0.0.1:9/api/v1' },
  { path: 'service.v1.apiKey', value: new Secret('key', 'canary-key-canary') },
];

const { off: _off, ...streams } = configOf(SETTINGS).streams;

export const STREAM_NAMES = Object.keys(streams);

async function runs({ store: { db }, clock }: DeciderFixture): Promise<void> {
  const at = clock.now();
  for (const [index, stream] of STREAM_NAMES.entries()) {
    await sql`insert into stream_state (stream, due_at, complete_at) values (${stream}, 0, 1)
      on conflict do nothing`.execute(db);
    for (const outcome of RUN_OUTCOMES.filter((one) => one !== 'running' || index < 2)) {
      const ended = outcome === 'running' ? null : at;
      await sql`insert into sync_run (stream, cause, started_at, ended_at, read_seq,
          options, checkpoint, outcome, reason)
        values (${stream}, 'schedule', ${at}, ${ended}, 1, '{}', '{}', ${outcome},
          'a page was cut')`.execute(db);
    }
  }
}

async function pushes({ store: { db }, clock }: DeciderFixture): Promise<void> {
  const at = clock.now();
  for (const kind of OUTBOX_KINDS) {
    for (const state of OUTBOX_STATES) {
      const isOver = ['confirmed', 'refused', 'dead', 'canceled'].includes(state);
      const name =
        kind === 'delivery_status' ? `delivery/1/decision/${state}` : `${kind[0]}-${state}`;
      const { rows } = await sql<{ readonly id: number }>`insert into outbox (kind, ordering_key,
          reference, body, body_hash, state, due_at, in_doubt_since, created_at, ended_at, cause)
        values (${kind}, ${name}, ${name}, '{}', '', 'queued', ${at},
          ${state === 'in_doubt' ? at : null}, ${at}, null, 'test') returning outbox_id id`.execute(
        db,
      );
      const id = rows[0]?.id ?? 0;
      for (const step of [...(state === 'sent' ? ['sending'] : []), state]) {
        if (step === 'queued') continue;

        await sql`update outbox set state = ${step}, ended_at = ${isOver ? at : null}
          where outbox_id = ${id}`.execute(db);
      }
      const ends = state === 'dead' ? Object.keys(WORDS.attempt) : ['done'];
      for (const [index, end] of ends.entries()) {
        await sql`insert into outbox_attempt (outbox_id, attempt, started_at, ended_at, class)
          values (${id}, ${index + 1}, ${at}, ${at}, ${end})`.execute(db);
      }
      for (const outcome of Object.keys(WORDS.lookup)) {
        await sql`insert into outbox_evidence (outbox_id, at, source, outcome, detail, complete)
          values (${id}, ${at}, 'look-up', ${outcome}, '{}', 0)`.execute(db);
      }
    }
  }
}

/** Keys of things that incidents of some kinds are about; the others have a word. */
const KEYS: Readonly<Record<string, readonly [entity: string, key: string]>> = {
  accepts_wait: ['stream', 'ordersFull'],
  brands_refused: ['list', 'season'],
  contradiction: ['delivery', '1'],
  customers_lost: ['erp_customer', 'erp_customer'],
  duplicate_reference: ['reference', 'PO-1'],
  hold_expired: ['rule', 'one'],
  invalid_customer_data: ['customer_field', 'overdue_days'],
  rules_list: ['rules', 'vip'],
  mass_change: ['sync_run', '1'],
  never_complete: ['stream', 'styleColors'],
  order_unreadable: ['sales_order', '1'],
  orders_unknown: ['system_key', 'other'],
  push_dead: ['outbox', '1'],
  push_differs: ['outbox', '1'],
  push_in_doubt: ['outbox', '1'],
  push_late: ['outbox', '1'],
  quarantined: ['stock_variant', 'rows'],
  refund_unconfirmed: ['outbox', '1'],
  revoked_too_often: ['delivery', '1'],
  shared_number: ['pending_refund', 'number'],
  unknown_status: ['sales_order', 'parked'],
  unreadable_member: ['sales_order', 'orderLineItems[].price'],
  worker_failing: ['worker', 'listener'],
};

async function incidents({ store: { db }, clock }: DeciderFixture): Promise<void> {
  for (const kind of INCIDENT_KINDS) {
    const [entity, key] = KEYS[kind] ?? ['service', kind];
    await openIncident(db, { kind, entity, key, detail: { rows: 3, error: 'busy' } }, clock.now());
  }
}

async function events({ store: { db }, clock }: DeciderFixture): Promise<void> {
  const at = clock.now();
  for (const [index, type] of [...KNOWN_TYPES, null].entries()) {
    await sql`insert into webhook_event (event_id, received_at, sent_at, type, order_id, body,
        secret_name, outcome)
      values (${`e-${index}`}, ${at}, ${at}, ${type}, 1, ${Buffer.from('{}')}, 'first',
        ${index % 2 === 0 ? 'refresh' : 'stored'})`.execute(db);
  }
}

async function rest({ store: { db }, clock }: DeciderFixture): Promise<void> {
  const at = clock.now();
  for (const { entity } of ENTITIES) {
    await sql`insert into quarantine (entity, raw, raw_hash, path, reason, source, first_seen_at,
        last_seen_at) values (${entity}, '[]', ${entity}, 'price', 'not a number', 'run:1', ${at},
        ${at})`.execute(db);
    for (const op of Object.keys(WORDS.change)) {
      await sql`insert into change (at, entity, key, op, diff, cause)
        values (${at}, ${entity}, '1', ${op}, '{"order_no":["A","B"]}', 'run:1')`.execute(db);
    }
  }
  for (const [target, name] of [
    ['pushes', 'delivery_status'],
    ['decisions', ''],
    ['stream', 'ordersFull'],
  ]) {
    await sql`insert into pause (target, name, reason, actor, at)
      values (${target}, ${name}, 'a sale', 'ada', ${at})`.execute(db);
  }
  for (const [action, subject] of [
    ['sync.retry_quarantine', 'quarantine'],
    ['rules.reset_breaker', 'rules'],
    ['delivery.accept', 'delivery:1'],
    ['pause', 'pushes:delivery_status'],
    ['sync.release', 'run:1'],
  ]) {
    await sql`insert into audit (at, actor, action, subject, reason, detail)
      values (${at}, 'ada', ${action}, ${subject}, 'asked', '{}')`.execute(db);
  }
}

/** With a rule that rejects what never comes, and is not armed. */
const REJECT = `  - { id: never, title: Never, action: reject, mode: live,
      when: [ delivery.quantity > 1000, order.country == "AQ" ] }
`;

export async function wordsWorld(): Promise<DeciderFixture> {
  const world = await waitingWorld(async () => undefined);
  const directory = temporaryFolder();
  mkdirSync(directory, { recursive: true });
  writeFileSync(join(directory, 'rules.yaml'), `${RULES}${REJECT}`);
  await openRuleKeeper({ ...world, directory, log: silentLogger() });
  await pushes(world);
  await runs(world);
  await incidents(world);
  await events(world);
  await rest(world);
  return world;
}
