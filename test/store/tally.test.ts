import { sql } from 'kysely';
import { expect, it } from 'vitest';
import { temporaryStore } from '../support/store.ts';

it('a tally is the number of rows, whatever becomes of them', async () => {
  const { db } = await temporaryStore();
  const run = (text: string) => sql.raw(text).execute(db);
  const differing = async () => {
    const { rows } = await sql`with counted(entity, name, rows) as (
        select 'delivery', status, count(*) from delivery where deleted_at is null group by status
        union all select 'outbox', state, count(*) from outbox group by state
        union all select 'pending', coalesce(n.outcome, 'undecided'), count(*)
        from delivery d left join evaluation e on e.order_delivery_id = d.order_delivery_id
          left join decision n on n.decision_id = e.decision_id
        where d.status = 'pending' and d.deleted_at is null group by 2
        union all select 'waiting', n.outcome, count(*)
        from delivery d join evaluation e on e.order_delivery_id = d.order_delivery_id
          join decision n on n.decision_id = e.decision_id
        where d.status = 'pending' and d.deleted_at is null and (n.outcome in ('hold', 'no_rule')
          or n.outcome = 'accept' and n.mode = 'observe') group by 2
        union all select 'held', r.value, count(*)
        from delivery d join evaluation e on e.order_delivery_id = d.order_delivery_id
          join decision n on n.decision_id = e.decision_id, json_each(n.rules) r
        where d.status = 'pending' and d.deleted_at is null and n.outcome = 'hold' group by 2
        union all select 'hold', rule_id, count(*) from hold group by rule_id
        union all select 'webhook_event', '', count(*) from webhook_event)
      select * from (select * from counted except select entity, name, rows from tally)
      union all select * from (
        select entity, name, rows from tally where rows <> 0 or name = ''
        except select * from counted)`.execute(db);
    return rows;
  };
  const numbers = 'with recursive n(i) as (select 1 union all select i + 1 from n where i < 40)';
  await run(`${numbers} insert into delivery (order_delivery_id, order_id, status,
      tracking_numbers, tracking_links, extra, content_hash, first_seen_at, changed_at, deleted_at,
      read_seq, source)
    select i, i, iif(i % 3, 'pending', 'accepted'), '[]', '[]', '{}', '', 1, 1,
      iif(i % 5, null, 1), 1, '' from n`);
  await run(`${numbers} insert into outbox (kind, ordering_key, reference, body, body_hash, state,
      due_at, created_at, cause)
    select 'order', i, i, '{}', '', iif(i % 4, 'queued', 'sending'), 1, 1, '' from n`);
  await run(`${numbers} insert into webhook_event (event_id, received_at, sent_at, body,
      secret_name, outcome) select i, i, i, x'', '', 'stored' from n`);
  await run(`${numbers} insert into decision (decision_id, order_delivery_id, order_id, at, trigger,
      actor, rule_set_hash, facts_digest, mode, outcome, reason, rules, shadow, said, matched,
      lapsed, evaluation, previous_hash, hash)
    select i, i, i, 1, '', 'daemon', '', '', iif(i % 4 = 1, 'observe', 'live'),
      iif(i % 7 = 0, 'accept', iif(i % 3, 'hold', 'no_rule')), '',
      json_array('a', 'rule ' || (i % 2)), '',
      '', '[]', '[]', x'', '', i from n`);
  await run(`${numbers} insert into evaluation (order_delivery_id, decision_id, delivery_hash,
      order_hash, rules_key, evaluated_at, due_at)
    select i, i, '', '', 'rules', 1, 2 from n where i % 4`);
  await run(`${numbers} insert into hold (order_delivery_id, rule_id, rule_hash, since, expires_at,
      afterwards) select i, 'rule ' || (i % 3), '', 1, 1, 'release' from n`);
  expect(await differing()).toEqual([]);
  await run('update evaluation set decision_id = decision_id - 1 where order_delivery_id > 20');
  await run('delete from hold where order_delivery_id % 3 = 0 or order_delivery_id > 30');
  expect(await differing()).toEqual([]);
  await run('update delivery set deleted_at = iif(order_delivery_id % 7, null, 1)');
  await run("update delivery set status = 'rejected', deleted_at = 1 where order_delivery_id < 9");
  await run("update delivery set status = 'canceled' where order_delivery_id > 30");
  await run("update outbox set state = 'canceled' where state = 'queued'");
  await run('delete from webhook_event where received_at < 11');
  await run(
    'insert into webhook_event select * from webhook_event where true on conflict do nothing',
  );
  await run('delete from delivery where order_delivery_id % 4 = 1');
  expect(await differing()).toEqual([]);
  const { rows } = await sql<{ rows: number }>`select rows from tally
    where entity = 'webhook_event'`.execute(db);
  expect(rows).toEqual([{ rows: 30 }]);
});
