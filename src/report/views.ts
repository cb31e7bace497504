/**
 * The views that people build reports on, and those that the ERP reads: a public contract. From
 * these tables come `docs/views.md` and the descriptions in Datasette; a test holds them against
 * the databases.
 */

const TIME = 'ISO 8601, UTC';

const DELIVERY = {
  order_delivery_id: 'id of the delivery in the service',
  delivery_no: 'number that people see',
  order_id: 'id of its order',
  order_no: 'number of its order',
  reference: 'reference of its order',
  account_no: 'account of the buyer',
  company: 'company that it goes to',
  country_code: 'country that it goes to',
  packed_at: `when it was packed, or first seen (${TIME})`,
} as const;

const WORTH = {
  pieces: 'pieces packed',
  amount: 'value without freight; null when a line has no price',
  currency: 'of the amount',
} as const;

const DECIDED = {
  decided: 'last outcome: accept, hold, reject, release or no_rule; null: not decided yet',
  reason: 'why, in words',
  decided_by: 'daemon, or who',
  decided_at: `when (${TIME})`,
} as const;

const VARIANT = {
  barcode: 'barcode of the variant',
  style_no: 'number of the style',
  style_name: 'name of the style',
} as const;

/** Columns that the lists of variants share. */
const LISTED = {
  ...VARIANT,
  brand_name: 'brand',
  color_code: 'code of the color',
  color_name: 'name of the color',
  size: 'size',
} as const;

/** The price of this very API key; null where the service tells of none. */
const NET = {
  net_price: 'your own price, after discount; only with `detailedPricing`, else null',
  net_currency: 'of your own price',
  price_before_discount: 'your own price before the discount',
  discount_percent: 'your discount; 12.5 means 12.5 %',
} as const;

const PACKED = {
  pending: 'pieces in pending deliveries',
  accepted: 'pieces in accepted ones: no tracking number yet, or changed since the stock was read',
} as const;

export interface ViewSpec {
  readonly name: string;
  readonly about: string;
  /** Column → what it says. */
  readonly columns: Readonly<Record<string, string>>;
  readonly example: string;
}

export const VIEWS: readonly ViewSpec[] = [
  {
    name: 'v_delivery',
    about: 'Every delivery with its order and its last decision.',
    columns: {
      ...DELIVERY,
      status: 'pending, accepted, rejected or canceled',
      ...WORTH,
      decision_id: 'its last decision',
      ...DECIDED,
      gone: '1: the service no longer has it',
      unread: 'what of it decides and could not be read, a JSON list; null: nothing',
    },
    example:
      "SELECT status, count(*), sum(amount) FROM v_delivery WHERE currency = 'DKK' GROUP BY 1",
  },
  {
    name: 'v_open_delivery',
    about: 'Deliveries that are not decided at the service yet.',
    columns: { ...DELIVERY, age_hours: 'hours since it was packed', ...WORTH, ...DECIDED },
    example: 'SELECT delivery_no, company, age_hours FROM v_open_delivery ORDER BY age_hours DESC',
  },
  {
    name: 'v_held_delivery',
    about: 'The open ones that wait for a person.',
    columns: { ...DELIVERY, age_hours: 'hours since it was packed', ...WORTH, ...DECIDED },
    example: 'SELECT reason, count(*) FROM v_held_delivery GROUP BY reason',
  },
  {
    name: 'v_stock',
    about: 'What is in stock, a row per variant.',
    columns: {
      ...LISTED,
      season_name: 'season',
      category: 'category',
      gender: 'gender',
      quantity: 'pieces',
      currency: 'of the prices',
      price: 'price; null when there is none',
      wsp_price: 'wholesale price',
      price_original: 'price before a reduction',
      b2c_sale_price: 'price for consumers',
      ...NET,
      color_active: '1: the color is still sold',
      changed_at: `when the row last changed (${TIME})`,
      on_order: '1: none in stock, it is listed because a running order has it',
    },
    example: 'SELECT brand_name, sum(quantity) FROM v_stock GROUP BY brand_name',
  },
  {
    name: 'v_season_variant',
    about:
      'What can be ordered ahead, a row per season and variant, with the prices of pre-orders.',
    columns: {
      season_name: 'season',
      ...LISTED,
      category: 'category',
      gender: 'gender',
      quantity: 'pieces',
      currency: 'of the prices',
      price: 'price; null when there is none',
      wsp_price: 'wholesale price of pre-orders',
      ...NET,
      color_active: '1: the color is still sold',
      changed_at: `when the row last changed (${TIME})`,
    },
    example: "SELECT barcode, wsp_price FROM v_season_variant WHERE season_name = 'SS27'",
  },
  {
    name: 'v_stock_grid',
    about: 'Stock by style and color, with the sizes as a JSON object.',
    columns: {
      style_no: VARIANT.style_no,
      style_name: VARIANT.style_name,
      brand_name: 'brand',
      color_code: 'code of the color',
      color_name: 'name of the color',
      sizes: 'number of sizes',
      quantity: 'pieces over all sizes',
      by_size: '{"size": pieces}; "" for what has no size',
    },
    example:
      "SELECT color_name, by_size ->> '$.M' AS m FROM v_stock_grid WHERE style_no = 'S-1001'",
  },
  {
    name: 'v_reserved',
    about: 'What open orders have packed and not shipped, by barcode.',
    columns: {
      barcode: VARIANT.barcode,
      ...PACKED,
    },
    example: 'SELECT sum(pending), sum(accepted) FROM v_reserved',
  },
  {
    name: 'v_availability',
    about: 'Stock against what is packed and not shipped: only barcodes that are.',
    columns: {
      ...VARIANT,
      color_name: 'name of the color',
      size: 'size',
      in_stock: 'pieces in stock',
      ...PACKED,
      free: 'what is left; negative when there is too little',
    },
    example: 'SELECT barcode, free FROM v_availability WHERE free < 0',
  },
  {
    name: 'v_preorder_book',
    about: 'Pre-orders by season, delivery window and currency; without canceled orders.',
    columns: {
      season_name: 'season',
      delivery_name: 'delivery window',
      orders: 'number of orders',
      pieces: 'pieces ordered',
      fulfilled: 'pieces delivered of these',
      currency: 'of the amount',
      amount: 'value of the lines that have a price',
      lines_without_price: 'lines that have none',
    },
    example: 'SELECT season_name, sum(pieces) FROM v_preorder_book GROUP BY season_name',
  },
  {
    name: 'v_season_cover',
    about: 'Open pre-orders of each variant against the stock.',
    columns: {
      season_name: 'season',
      ...VARIANT,
      color_name: 'name of the color',
      size: 'size',
      open_preorders: 'pieces ordered and not delivered',
      in_stock: 'pieces in stock',
      missing: 'pieces that the stock does not cover',
      cover_percent: 'share that it covers',
    },
    example: 'SELECT barcode, missing FROM v_season_cover WHERE missing > 0 ORDER BY missing DESC',
  },
  {
    name: 'v_decision',
    about: 'The journal of decisions, without the facts.',
    columns: {
      decision_id: 'number in the journal',
      order_delivery_id: DELIVERY.order_delivery_id,
      order_id: DELIVERY.order_id,
      decided_at: `when (${TIME})`,
      actor: 'daemon, or who',
      mode: 'observe, shadow, live, or paused',
      outcome: 'accept, hold, reject, release or no_rule',
      reason: 'why, in words',
      rules: 'JSON array of the rules that decided',
      trigger: 'what made it due',
      rule_set_hash: 'the rules in force',
    },
    example: 'SELECT decided_at, outcome, reason FROM v_decision WHERE order_delivery_id = 1',
  },
  {
    name: 'v_decision_day',
    about: 'Decisions per day, outcome and rule.',
    columns: {
      day: 'day (UTC)',
      outcome: 'accept, hold, reject, release or no_rule',
      rule: 'the rule; (no rule) or (a person) where none decided',
      decisions: 'number of decisions',
    },
    example: "SELECT rule, sum(decisions) FROM v_decision_day WHERE outcome = 'hold' GROUP BY rule",
  },
  {
    name: 'v_agreement',
    about: 'What the rules said last of each decided delivery, and who decided in the end.',
    columns: {
      order_delivery_id: DELIVERY.order_delivery_id,
      delivery_no: DELIVERY.delivery_no,
      status: 'accepted or rejected',
      packed_at: DELIVERY.packed_at,
      rules_said: 'accept, hold, reject or no_rule',
      done_by: 'the rules, or people',
    },
    example:
      "SELECT rules_said, status, count(*) FROM v_agreement WHERE done_by = 'people' GROUP BY 1, 2",
  },
  {
    name: 'v_order_pushed',
    about: 'Orders that the ERP handed in.',
    columns: {
      outbox_id: 'number in the outbox',
      kind: 'order',
      reference: 'reference that the ERP gave',
      state: 'queued, sending, sent, confirmed, refused, in_doubt, dead or canceled',
      order_id: 'id of the order in the service, once known',
      order_no: 'its number, once known',
      attempts: 'times it was sent',
      last_error: 'what it waits for, or why it ended so',
      handed_in_at: `when (${TIME})`,
      ended_at: `when it reached its end (${TIME})`,
    },
    example: "SELECT reference, state, last_error FROM v_order_pushed WHERE state <> 'confirmed'",
  },
  {
    name: 'v_outbox',
    about: 'Everything that is or was sent to the service.',
    columns: {
      outbox_id: 'number in the outbox',
      kind: 'order, pending_refund, delivery_status, refund_status or style',
      reference: 'what it is known by',
      state: 'queued, sending, sent, confirmed, refused, in_doubt, dead or canceled',
      attempts: 'times it was sent',
      last_error: 'what it waits for, or why it ended so',
      created_at: `when (${TIME})`,
      due_at: `when it is looked at next (${TIME})`,
      in_doubt_since: `since when nobody knows (${TIME})`,
      ended_at: `when it reached its end (${TIME})`,
    },
    example: 'SELECT kind, state, count(*) FROM v_outbox GROUP BY kind, state',
  },
  {
    name: 'v_refund_pending',
    about: 'Pending refunds, and the refunds that came of them.',
    columns: {
      pending_refund_id: 'its id',
      order_id: 'order that it belongs to',
      reference: 'reference',
      status: 'pending, confirmed or canceled',
      created_at: `when (${TIME})`,
      pieces: 'pieces to be refunded',
      order_refund_id: 'the refund that it became; null: none yet',
      refund_status: 'status of that refund',
    },
    example: 'SELECT * FROM v_refund_pending WHERE order_refund_id IS NULL',
  },
  {
    name: 'v_sync_run',
    about: 'Every run of every stream.',
    columns: {
      run_id: 'number of the run',
      stream: 'stream',
      cause: 'why it ran',
      outcome: 'running, complete, partial, suspicious or failed',
      reason: 'why, in words',
      pages: 'pages read',
      rows_seen: 'rows read',
      rows_changed: 'of these new or changed',
      rows_unchanged: 'of these as before',
      rows_deleted: 'rows that the service no longer has',
      rows_quarantined: 'rows that could not be read',
      rows_held: 'rows that wait for a release to be deleted',
      bytes: 'bytes read',
      resumes: 'times it went on after a stop',
      started_at: `when (${TIME})`,
      ended_at: `when (${TIME})`,
      seconds: 'how long',
    },
    example: "SELECT stream, outcome, seconds FROM v_sync_run WHERE outcome <> 'complete'",
  },
  {
    name: 'v_freshness',
    about: 'How old the data of each stream is.',
    columns: {
      stream: 'stream',
      rows: 'rows of the last complete run',
      paused: '1: paused',
      complete_at: `start of the last complete run (${TIME})`,
      age_seconds: 'since then; null: there was none',
      due_at: `when it runs next (${TIME})`,
      failures: 'runs in a row that failed',
      last_error: 'what the last one said',
    },
    example: 'SELECT stream, age_seconds FROM v_freshness ORDER BY age_seconds DESC',
  },
  {
    name: 'v_orphan',
    about: 'Rows that name something that is not here (yet): order of arrival is not ours.',
    columns: {
      entity: 'kind of row',
      key: 'its key',
      why: 'what is missing',
    },
    example: 'SELECT entity, count(*) FROM v_orphan GROUP BY entity',
  },
  {
    name: 'v_quarantine',
    about: 'Rows that could not be read, as they came.',
    columns: {
      id: 'number',
      entity: 'kind of row',
      path: 'where in the row',
      reason: 'what is wrong',
      raw: 'the row as JSON',
      source: 'run or event that brought it',
      times: 'how often it came',
      first_seen_at: `when first (${TIME})`,
      last_seen_at: `when last (${TIME})`,
    },
    example: 'SELECT entity, path, reason, times FROM v_quarantine',
  },
  {
    name: 'v_drift',
    about:
      'Members without a column, in the newest 1,000 rows of stock_variant, season_variant, ' +
      'style, style_color, sales_order, delivery and refund.',
    columns: {
      entity: 'table',
      member: 'name of the member',
      rows: 'rows that have it',
      example: 'a value',
    },
    example: "SELECT member, rows FROM v_drift WHERE entity = 'stock_variant'",
  },
  {
    name: 'v_incident',
    about: 'What a person should look at, or should have.',
    columns: {
      id: 'number',
      kind: 'what kind',
      entity: 'what it is about',
      key: 'which one',
      detail: 'JSON',
      at: `when (${TIME})`,
      resolved_at: `when it was over (${TIME}); null: it is not`,
    },
    example: 'SELECT at, kind, key FROM v_incident WHERE resolved_at IS NULL',
  },
  {
    name: 'v_change',
    about: 'The change feed, with readable times.',
    columns: {
      seq: 'number, without gaps but after a restore',
      at: `when (${TIME})`,
      entity: 'table',
      key: 'key of the row',
      op: 'insert, update, delete or restore',
      diff: '{"column": [old, new]}; amounts in ten-thousandths (675000 is 67.50)',
      cause: 'run or event',
    },
    example:
      "SELECT at, op, diff FROM v_change WHERE entity = 'stock_variant' AND key = '5701234567899'",
  },
];

const RECEIPT = {
  kind: 'order, pending_refund, refund_status or style',
  reference: "reference that the ERP gave; letters' case makes no difference",
  state: 'see [erp-integration.md](erp-integration.md#what-becomes-of-a-document)',
  final: '1: the state does not change any more by itself',
  order_id: 'id of the order in the service, once known',
  order_no: 'its number, once known',
  deliveries: 'JSON array of {orderDeliveryId, deliveryNo, status}, as the service answered',
  pending_refund_id: 'what the service made of a pending refund',
  refund_id: 'the refund that followed, once the service confirmed it',
  problems:
    'JSON array of {path, message}; warnings have "severity": "warning"; for a reference that is ' +
    'taken, `conflict` has both documents',
  next_step: 'what to do next',
} as const;

const RECEIPT_TIMES = {
  handed_in_at: `when (${TIME})`,
  changed_at: `when it last changed (${TIME})`,
  ended_at: `when it reached its end (${TIME})`,
} as const;

/** A view and two tables of exchange.db that the ERP reads. */
export const EXCHANGE_VIEWS: readonly ViewSpec[] = [
  {
    name: 'v_document',
    about:
      'In `exchange.db`, for the ERP: each document once, by kind and reference, with the ' +
      'receipt that counts: one that waits, else that of the document under way or at the ' +
      'service, else the last.',
    columns: {
      ...RECEIPT,
      document_id: 'number of the document; null while it waits, or when it was refused at once',
      intake_id: 'row of `intake`; null for a document of another channel',
      receipts: 'receipts that this reference has',
      ...RECEIPT_TIMES,
    },
    example: "SELECT state, final, order_no, next_step FROM v_document WHERE reference = 'SO-1001'",
  },
  {
    name: 'receipt',
    about: 'In `exchange.db`: one row for each row of `intake`, or document of another channel.',
    columns: {
      receipt_id: 'number',
      intake_id: 'row of `intake`; null for a document of another channel',
      document_id: 'number of the document; null while it waits, or when it was refused at once',
      ...RECEIPT,
      ...RECEIPT_TIMES,
    },
    example: 'SELECT state, problems FROM receipt WHERE intake_id = 1',
  },
  {
    name: 'outcome',
    about:
      'In `exchange.db`: what was decided about packed deliveries and is so at the service, or ' +
      'was refused there. Not what was only tried (observe, shadow), planned or called off.',
    columns: {
      outcome_id: 'number, growing',
      decision_id: 'number of the decision in the journal',
      order_delivery_id: 'id of the delivery in the service',
      delivery_no: 'number that people see',
      order_id: 'id of its order',
      order_no: 'number of its order',
      reference: 'reference of its order',
      outcome: 'accept, hold, reject, or release (left to the rules again)',
      state: 'confirmed; refused: it was not carried out',
      reason: 'why, in words',
      rules: 'JSON array of the rules that decided',
      decided_by: 'daemon (the rules), external (somebody in the service), or who',
      problem: 'why it was not carried out',
      decided_at: `when (${TIME})`,
      ended_at: `when it was so at the service (${TIME})`,
    },
    example: 'SELECT * FROM outcome WHERE outcome_id > 0 ORDER BY outcome_id',
  },
];

const HEAD = `# Views

What reports are built on. These names and columns are a public contract: a change to them stands in
the CHANGELOG. Amounts are decimals, booleans are 0 and 1; a name that the service left empty (of a
season, a brand, a country) is null, a number (of an account, an order, a style) is as it came. How
to read the mirror by SQL, and what lies below the views, is said in [reporting.md](reporting.md).
`;

/** `docs/views.md`. */
export function viewsMarkdown(): string {
  const parts = [...VIEWS, ...EXCHANGE_VIEWS].map(({ name, about, columns, example }) => {
    const rows = Object.entries(columns).map(([column, says]) => `| \`${column}\` | ${says} |`);
    return [
      `\n## ${name}\n`,
      about,
      '\n| column | |\n|---|---|',
      ...rows,
      `\n\`\`\`sql\n${example};\n\`\`\`\n`,
    ].join('\n');
  });
  return `${HEAD}${parts.join('')}`;
}
