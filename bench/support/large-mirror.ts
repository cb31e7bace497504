/** A mirror as large as a big brand's, written straight into its tables: for benchmarks of SQL. */
import type Database from 'better-sqlite3';

export interface MirrorSize {
  readonly variants: number;
  /** Changes of the stock, evenly over `days` up to now. */
  readonly changes: number;
  /** Each with four lines, a delivery and a decision, over a year; one in fifty is open. */
  readonly orders: number;
  /** Deliveries that are held, the newest; one in two hundred unless given. */
  readonly waiting?: number;
  readonly days: number;
}

const LINES = 4;
const DAY = 86_400_000;

const NUMBERS = 'with recursive n(i) as (select 0 union all select i + 1 from n where i + 1 <';
const BARCODE = '5700000000000 +';

/** Fills an empty mirror with trade up to now, by arithmetic: the same rows each time. */
export function fillMirror(database: Database.Database, size: MirrorSize): void {
  const { variants: VARIANTS, changes: CHANGES, orders: ORDERS, days } = size;
  const now = Date.now();
  const waitFrom = ORDERS - (size.waiting ?? Math.ceil(ORDERS / 200));
  const at = (share: string): string => `${now - 365 * DAY} + cast(${share} * ${365 * DAY} as int)`;
  const run = (sql: string): void => {
    database.transaction(() => database.exec(sql)).immediate();
  };
  // Nothing of it is worth a log, and an index of millions of keys is made faster at once.
  database.pragma('journal_mode = off');
  database.pragma('synchronous = off');
  database.pragma('cache_size = -1000000');
  const indexes = database
    .prepare<[], string>(
      "select sql from sqlite_schema where type = 'index' and tbl_name = 'change'",
    )
    .pluck()
    .all();
  for (const sql of indexes) {
    const [, name] = /^CREATE INDEX (\w+)/.exec(sql) ?? [];
    database.exec(`drop index ${name}`);
  }
  run(`${NUMBERS} ${VARIANTS}) insert into stock_variant_row (barcode, quantity, season_name,
      style_no, style_name, brand_name, color_code, color_name, size, currency, price, wsp_price,
      extra, content_hash, first_seen_at, changed_at, read_seq, source)
    select ${BARCODE} i, i % 40, 'AW26', 'S-' || (i / 30), 'Style ' || (i / 30),
      'Brand ' || (i / 30 % 20), printf('%02d', i / 6 % 5), 'color ' || (i / 6 % 5),
      json_extract('["XS","S","M","L","XL","XXL"]', '$[' || (i % 6) || ']'), 'DKK', 19995, 8000,
      '{"careLabelWash":"30","customsTariffNumber":"6204430000","images":["https://img/' || i ||
        '/1.jpg","https://img/' || i || '/2.jpg"],"styleDescription":"A coat of wool and more"}',
      'hash', ${now} - (i % 720) * ${DAY}, ${now}, 1, 'run:1' from n`);
  for (let first = 0; first < CHANGES; first += 500_000) {
    const count = Math.min(500_000, CHANGES - first);
    run(`${NUMBERS} ${count}) insert into change (seq, at, entity, key, op, diff, cause)
      select 2 * (i + ${first}) + 2,
        ${now - days * DAY} + cast((i + ${first}.0) / ${CHANGES} * ${days * DAY} as int),
        'stock_variant',
        ${BARCODE} ((i + ${first}) * 7919 % ${VARIANTS}), 'update',
        '{"quantity":[' || (i % 40) || ',' || (i % 37) || ']}', 'run:1' from n`);
  }
  const closed = Math.min(ORDERS * 0.98, waitFrom);
  const old = `i < ${closed}`;
  run(`${NUMBERS} ${ORDERS}) insert into sales_order (order_id, reference, order_no, status,
      completed, created_at, currency, country_code, company, account_no, shipping_address, extra,
      details_read_at, content_hash, first_seen_at, changed_at, read_seq, source)
    select i + 1, 'PO-' || i, 'O-' || i, iif(${old}, 'fulfilled', 'pending'), ${old},
      ${at(`(i * 1.0 / ${ORDERS})`)}, 'DKK', 'DK', 'Shop ' || (i % 900), 'A-' || (i % 900), '{}',
      '{}', ${now}, 'h', 0, 0, 1, 'run:1' from n`);
  run(`${NUMBERS} ${ORDERS * LINES}) insert into sales_order_line (order_id, line_no, barcode,
      quantity, fulfilled_quantity, price, season_name, delivery_name, extra)
    select i / ${LINES} + 1, i % ${LINES}, ${BARCODE} (i * 31 % ${VARIANTS}), 2,
      iif(i / ${LINES} < ${closed}, 2, 1), iif(i % 50 = 0, 7200, 8000),
      iif(i / ${LINES} % 4 = 0, 'AW26', null),
      iif(i / ${LINES} % 4 = 0, 'August', null), '{}' from n`);
  run(`${NUMBERS} ${ORDERS}) insert into delivery (order_delivery_id, delivery_no, order_id, status,
      created_at, tracking_numbers, tracking_links, extra, content_hash, first_seen_at, changed_at,
      read_seq, source)
    select i + 1, 'D-' || i, i + 1, iif(i < ${waitFrom}, 'accepted', 'pending'),
      ${at(`(i * 1.0 / ${ORDERS})`)}, '[]', '[]', '{}', 'h', 0, 0, 1, 'run:1' from n`);
  run(`insert into delivery_line (order_delivery_id, line_no, barcode, fulfilled_quantity, price,
      extra)
    select order_id, line_no, barcode, iif(order_id > ${closed}, 1, 2), price, '{}'
    from sales_order_line`);
  run(`${NUMBERS} ${ORDERS}) insert into decision (decision_id, order_delivery_id, order_id, at,
      trigger, actor, rule_set_hash, facts_digest, mode, outcome, reason, rules, shadow, said,
      matched, lapsed, evaluation, previous_hash, hash)
    select i + 1, i + 1, i + 1, ${at(`(i * 1.0 / ${ORDERS})`)}, 'new', 'daemon', 'r', 'f', 'live',
      iif(i % 9 = 0 or i >= ${waitFrom}, 'hold', 'accept'), 'why', '["rule-' || (i % 8) ||
      '"]', '{}', 'accept', '[]', '[]', cast(printf('%01000d', i) as blob), '',
      'h' || i from n`);
  // A person accepts what was held and is no longer pending.
  run(`insert into decision (order_delivery_id, order_id, at, trigger, actor, rule_set_hash,
      facts_digest, mode, outcome, reason, rules, shadow, said, matched, lapsed, evaluation,
      previous_hash, hash)
    select order_delivery_id, order_id, at + 3600000, 'manual', 'anna', 'r', 'f', 'live', 'accept',
      'fine', '[]', '{}', 'accept', '[]', '[]', evaluation, '', 'p' || decision_id
    from decision where outcome = 'hold' and order_delivery_id <= ${waitFrom}`);
  run(`insert into hold (order_delivery_id, rule_id, rule_hash, since, expires_at, afterwards)
    select order_delivery_id, rules ->> '$[0]', 'r', at, at + ${30 * DAY}, 'escalate'
    from decision where outcome = 'hold' and order_delivery_id > ${waitFrom}`);
  // Each delivery ships a day after it was packed; its entry stands between those of that time.
  run(`insert or ignore into change (seq, at, entity, key, op, diff, cause)
    select 2 * cast((at - ${now - days * DAY}) * ${CHANGES}.0 / ${days * DAY} as int) + 1, at,
      'delivery', order_delivery_id, 'update', '{"tracking_numbers":["[]","[\\"T\\"]"]}', 'run:1'
    from (select order_delivery_id, created_at + ${DAY} as at from delivery
      where status = 'accepted') d
    where at between ${now - days * DAY} and ${now}`);
  for (const sql of indexes) database.exec(sql);
  run(`insert into change_hour (hour, first_seq)
    select at / 3600000, min(seq) from change group by 1`);
  run(`insert into evaluation (order_delivery_id, decision_id, delivery_hash, order_hash, rules_key,
      evaluated_at)
    select order_delivery_id, max(decision_id), 'h', 'h', 'r', max(at) from decision group by 1`);
  run(`insert into outbox
      (kind, ordering_key, reference, body, body_hash, state, due_at, created_at, ended_at,
      cause, order_delivery_id, decision_id)
    select 'delivery_status', 'delivery/' || order_delivery_id,
      'delivery/' || order_delivery_id || '/decision/' || decision_id, '{"status":"accepted"}', 'h',
      'confirmed', at, at, at, 'decision:' || decision_id, order_delivery_id, decision_id
    from decision where outcome = 'accept'`);
  run(`${NUMBERS} ${ORDERS / 10}) insert into outbox
      (kind, ordering_key, reference, body, body_hash, state, due_at, created_at, ended_at,
      cause, result)
    select 'order', 'order/' || i, 'ERP-' || i, '{}', 'h', 'confirmed', 0,
      ${at(`(i * 10.0 / ${ORDERS})`)}, 1, 'intake:1', '{"orderId":1}' from n`);
  const own = "'{}', 'h', 0, 0, 1, 'run:1'";
  const common = 'extra, content_hash, first_seen_at, changed_at, read_seq, source';
  run(`insert into season (season_name, ${common}) values ('AW26', ${own}), ('SS27', ${own})`);
  run(`insert into season_delivery (season_name, line_no, delivery_name) values
    ('AW26', 1, 'August'), ('AW26', 2, 'September'), ('SS27', 1, 'February')`);
  run(`insert into season_variant_row (season_barcode, season_name, barcode, quantity, style_no,
      style_name, brand_name, color_code, color_name, size, currency, wsp_price, ${common})
    select 'AW26/' || barcode, 'AW26', barcode, 50, style_no, style_name, brand_name, color_code,
      color_name, size, currency, wsp_price, ${own} from stock_variant_row where rowid % 5 = 0`);
  run(`${NUMBERS} 900) insert into erp_customer (account_no, credit_limit, balance, currency,
      overdue_days, blocked, as_of, ${common})
    select 'A-' || i, 1000000000, i * 1200000, 'DKK', i % 30, 0, ${now}, ${own} from n`);
  run(`${NUMBERS} ${ORDERS / 20}) insert into refund (order_refund_id, order_id, status, created_at,
      ${common})
    select i + 1, i * 20 + 1, 'accepted', ${at(`(i * 20.0 / ${ORDERS})`)}, ${own} from n`);
  run(`insert into refund_line (order_refund_id, line_no, barcode, refunded_quantity, price,
      restock, refund_type, extra)
    select r.order_refund_id, l.line_no, l.barcode, 1, l.price, 1,
      iif(r.order_refund_id % 3 = 0, 'claim/credit', 'return/credit'), '{}'
    from refund r join sales_order_line l on l.order_id = r.order_id and l.line_no < 2`);
  run(`insert into size_rank (size, rank)
    values ('XS', 1), ('S', 2), ('M', 3), ('L', 4), ('XL', 5), ('XXL', 6)`);
  run(`${NUMBERS} 730) insert into stock_day (day, brand_name, season_name, currency, variants,
      in_stock, pieces, wsp_value, unpriced, counted_at)
    select date('now', -i || ' days'), 'Brand ' || b.value, 'AW26', 'DKK', 50000, 40000, 900000,
      7200000000, 0, ${now} - i * ${DAY}
    from n, json_each('[0,1,2,3,4,5,6,7,8,9,10,11,12,13,14,15,16,17,18,19]') b`);
  run(`insert into stock_age (brand_name, season_name, currency, unsold_days, variants, pieces,
      wsp_value, unpriced, counted_at)
    select brand_name, season_name, currency, a.value, 8000, 180000, 1440000000, 0, counted_at
    from stock_day, json_each('[0,30,90,180,365]') a where day = date('now')`);
  run(`insert into stream_state (stream, due_at, complete_at) values ('stock', 0, ${now})`);
  database.pragma('journal_mode = wal');
}
