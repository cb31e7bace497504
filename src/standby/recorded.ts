/**
 * Tables whose rows the record has: all that the service could not give again. The mirror, its
 * change feed, runs, wishes to read, incidents and sessions are not among them: a full pull and the
 * watches make them again, and people sign in again.
 */

interface RecordedTable {
  readonly table: string;
  /** Whether deletions are recorded: others only free room, as each machine does by itself. */
  readonly deletes?: true;
  /** SQL condition, on the alias `row`. Left out: all rows. */
  readonly where?: string;
}

/** Key of the state that names the present feed: a backup of before it lacks what came between. */
export const FEED_KEY = 'standby_feed';

/** Facts about the installation that were learned or set, and are not asked for again. */
const STATES = [
  FEED_KEY,
  'account',
  'account_hold',
  'account_system_key',
  // By which the other machine moves times where its own clock differs.
  'clock',
  'accept_pace',
  'orders_known_to',
  'outbox.freight_required',
  'outbox.latest_effect_ms',
  'outbox.preorder_names',
  'outbox.preorders_shown',
  'reject_breaker',
  'reject_breaker_reset',
  'rules_acting',
  'service_currency',
  'season_quantity',
  'stock_quantity',
  'sync.decimals',
  'system_keys',
  'v1_brand_needs',
];

const deleted = (...tables: readonly string[]): readonly RecordedTable[] =>
  tables.map((table) => ({ table, deletes: true }));

const kept = (...tables: readonly string[]): readonly RecordedTable[] =>
  tables.map((table) => ({ table }));

export const RECORDED: readonly RecordedTable[] = [
  {
    table: 'daemon_state',
    deletes: true,
    where: `row.key in (${STATES.map((key) => `'${key}'`).join(', ')})`,
  },
  ...kept('audit', 'webhook_event', 'rule_set', 'rule_text', 'fact_snapshot', 'decision'),
  ...kept('delivery_note', 'match_seen', 'backtest_report', 'arming', 'reject_entry'),
  ...kept('outbox', 'outbox_attempt', 'outbox_evidence', 'outbox_revision', 'reference_spelling'),
  ...kept('intake', 'intake_key', 'outcome'),
  ...deleted('pause', 'incident_ack', 'season_window', 'evaluation', 'hold', 'review'),
  ...deleted('delivery_assignment', 'saved_view', 'restored_stop', 'notification_told'),
  ...deleted('outbox_candidate', 'outbox_lost', 'refund_awaited', 'refused_document'),
  ...deleted('intake_file', 'intake_file_document', 'erp_customer'),
];
