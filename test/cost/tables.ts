/** Tables by what makes them grow, and ways into those that grow with the past that stay short. */

/**
 * Tables with a row, or more, for each thing that ever happened. Most rows stay for years; those of
 * the feed, of events and of runs for weeks, which are millions at a large house all the same.
 */
const PAST = [
  ...['change', 'change_hour', 'decision', 'delivery', 'delivery_line', 'evaluation'],
  ...[
    'fact_snapshot',
    'incident',
    'incident_ack',
    'intake',
    'intake_file',
    'intake_file_document',
    'intake_key',
  ],
  ...['notification', 'outbox', 'outbox_attempt', 'outbox_evidence'],
  ...['outbox_revision', 'outcome', 'pending_refund', 'pending_refund_line', 'refund'],
  ...['refund_line', 'reject_entry', 'review', 'rule_set', 'sales_order', 'sales_order_line'],
  ...['stock_day', 'sync_run', 'webhook_event'],
];

/** Tables of what is open, pulled or set: as long as today is, however long it has been so. */
const PRESENT = [
  // The range of goods, and the lists that it is pulled by.
  ...['brand', 'chunk', 'color', 'country', 'duplicate_key', 'erp_customer', 'freight_option'],
  ...['gender', 'key_place', 'pdm_brand', 'season', 'season_delivery', 'season_variant_row'],
  ...['size_rank', 'stock_age', 'stock_out_of_band', 'stock_variant_row', 'style', 'style_color'],
  ...['style_type', 'variant_extra'],
  // Open things, which go when they are done.
  ...['absence', 'announced', 'claim', 'hold', 'outbox_candidate', 'outbox_lost', 'pause'],
  ...['quarantine', 'refresh', 'refund_awaited', 'refused_document', 'restored_stop'],
  'shared_number',
  // Settings, marks and sums, by their names.
  ...['daemon_state', 'lease', 'notification_told', 'outbox_transition', 'rule_text'],
  ...['schema_migration', 'season_window', 'stream_state', 'tally', 'zone_offset'],
  // Acts of people, of which a year has hundreds.
  ...['arming', 'audit', 'backtest_report', 'console_session', 'delivery_assignment'],
  ...['delivery_note', 'match_seen', 'saved_view'],
  ...['reference_spelling'],
];

export const pastTables: ReadonlySet<string> = new Set(PAST);
export const knownTables: ReadonlySet<string> = new Set([...PAST, ...PRESENT]);

/** Columns that name one thing: an equality on one of them leads to the few rows of that thing. */
export const naming: ReadonlySet<string> = new Set([
  ...['decision_id', 'delivery_no', 'digest', 'entry_id', 'event_id', 'file_id', 'hash', 'hour'],
  ...['id', 'intent_decision_id', 'key', 'notification_id', 'order_delivery_id', 'order_id'],
  ...['order_refund_id', 'ordering_key', 'outbox_id', 'outcome_id', 'pending_refund_id'],
  ...['reference', 'reference_key', 'rowid', 'run_id', 'seq', 'shown_reference'],
]);

/** Partial indexes of what is open or odd: each is as long as what it is of. */
export const openIndexes: ReadonlySet<string> = new Set([
  ...['decision_matched', 'delivery_odd_status', 'delivery_unread', 'evaluation_due'],
  ...['incident_open', 'intake_callback_due', 'intake_file_due', 'intake_receipt_due'],
  ...['notification_waiting', 'outbox_blocked', 'outbox_due', 'outbox_failed', 'outbox_ordering'],
  ...['outbox_refused', 'outbox_work', 'outcome_callback_due', 'outcome_row_due'],
  ...['pending_refund_odd_status', 'pending_refund_unread', 'refund_odd_status', 'refund_unread'],
  ...['reject_entry_open', 'sales_order_line_unpriced', 'sales_order_odd_status'],
  ...[
    'sales_order_open',
    'sales_order_rotation',
    'sales_order_unlooked',
    'sales_order_unread',
    'sync_run_changed',
    'sync_run_running',
    'sync_run_suspicious',
  ],
]);

/** Columns of times and numbers that rise: what lies above a bound is what is new since then. */
export const rising: ReadonlySet<string> = new Set([
  ...['at', 'created_at', 'ended_at', 'evaluated_at', 'intent_at', 'last_duplicate_at'],
  ...['order_delivery_id', 'order_id', 'outbox_id', 'outcome_id', 'received_at', 'rowid', 'run_id'],
  ...['seq'],
]);
