/** Kysely's view of the ledgers, which record what Selvedge did. */
import type { Generated } from 'kysely';

interface ChangeTable {
  seq: Generated<number>;
  at: number;
  entity: string;
  key: string;
  op: 'insert' | 'update' | 'delete' | 'restore';
  diff: string;
  cause: string;
}

interface ChangeHourTable {
  /** Hour of the change feed, counted in hours since 1970 (UTC). */
  hour: number;
  first_seq: number;
}

interface StockDayTable {
  /** Day of the sums, `YYYY-MM-DD` (UTC). */
  day: string;
  brand_name: string;
  season_name: string;
  currency: string;
  variants: number;
  in_stock: number;
  pieces: number;
  wsp_value: number;
  unpriced: number;
  counted_at: number;
}

interface StockAgeTable {
  brand_name: string;
  season_name: string;
  currency: string;
  unsold_days: number;
  variants: number;
  pieces: number;
  wsp_value: number;
  unpriced: number;
  counted_at: number;
}

interface SizeRankTable {
  size: string;
  rank: number;
}

interface SeasonWindowTable {
  season_name: string;
  /** Name of the delivery window; empty: every window of the season that has no row of its own. */
  delivery_name: string;
  from_day: string;
  to_day: string;
}

export type ChangeGuard = 'off' | 'open' | 'accepted' | 'over';

export const RUN_OUTCOMES = ['running', 'complete', 'partial', 'suspicious', 'failed'] as const;
export type RunOutcome = (typeof RUN_OUTCOMES)[number];

interface SyncRunTable {
  run_id: Generated<number>;
  stream: string;
  cause: string;
  started_at: number;
  ended_at: number | null;
  read_seq: number;
  options: string;
  checkpoint: string;
  pages: Generated<number>;
  rows_seen: Generated<number>;
  rows_changed: Generated<number>;
  rows_unchanged: Generated<number>;
  rows_deleted: Generated<number>;
  rows_quarantined: Generated<number>;
  rows_held: Generated<number>;
  released_at: number | null;
  bytes: Generated<number>;
  resumes: Generated<number>;
  retries: Generated<number>;
  waits: Generated<number>;
  wait_ms: Generated<number>;
  outcome: Generated<RunOutcome>;
  reason: string | null;
  rows_new: Generated<number>;
  rows_drastic: Generated<number>;
  drastic: Generated<string>;
  change_guard: ChangeGuard | null;
  feed_from: Generated<number>;
  feed_to: number | null;
  count_off: string | null;
  list_at: number | null;
}

interface DuplicateKeyTable {
  stream: string;
  key: string;
  is_due: number;
}

interface KeyPlaceTable {
  stream: string;
  part: string;
  first_row: number;
  at: number;
  key: string;
  season_name: string | null;
  brand_name: string | null;
  quantity: number | null;
  prepared: string;
}

interface StreamStateTable {
  stream: string;
  due_at: number;
  last_run_id: number | null;
  complete_at: number | null;
  complete_rows: number | null;
  failures: Generated<number>;
  last_error: string | null;
  requested: 'run' | 'full' | null;
  reading: string | null;
  count_off: string | null;
  unlisted: 'zero' | null;
}

interface QuarantineTable {
  id: Generated<number>;
  entity: string;
  raw: string;
  raw_hash: string;
  path: string;
  reason: string;
  source: string;
  first_seen_at: number;
  last_seen_at: number;
  times: Generated<number>;
}

interface WebhookEventTable {
  event_id: string;
  received_at: number;
  sent_at: number;
  type: string | null;
  order_id: number | null;
  body: Buffer;
  secret_name: string;
  duplicates: Generated<number>;
  last_duplicate_at: number | null;
  outcome: 'refresh' | 'stored';
}

interface RefreshTable {
  order_id: number;
  generation: Generated<number>;
  requested_at: number;
  due_at: number;
  attempts: Generated<number>;
  cause: string;
  last_error: string | null;
  refunds: Generated<number>;
  /** Look that a sweep waits for: 0 none, 1 at the deliveries, 2 at the whole order. */
  look: Generated<number>;
}

interface AnnouncedTable {
  thing: 'delivery' | 'refund';
  thing_id: number;
  order_id: number;
  status: string | null;
  sent_at: number;
  since: number;
}

/** View that tells which deliveries an event announced. */
interface EventCoverageView {
  order_delivery_id: number;
  order_id: number;
  at: number;
  created_at: number | null;
  by_event: number;
  since: number | null;
  announced: number;
}

interface IncidentTable {
  id: Generated<number>;
  at: number;
  kind: string;
  entity: string;
  key: string;
  detail: string;
  resolved_at: number | null;
}

interface RuleSetTable {
  hash: string;
  first_used_at: number;
  files: string;
  words: Generated<Buffer | null>;
}

interface RuleTextTable {
  hash: string;
  text: string;
}

interface FactSnapshotTable {
  digest: string;
  at: number;
  facts: Buffer;
}

export type DecisionOutcome = 'accept' | 'hold' | 'reject' | 'release' | 'no_rule';

interface DecisionTable {
  decision_id: Generated<number>;
  order_delivery_id: number;
  order_id: number;
  at: number;
  trigger: string;
  actor: string;
  rule_set_hash: string;
  facts_digest: string;
  mode: string;
  outcome: DecisionOutcome;
  reason: string;
  rules: string;
  shadow: string;
  said: DecisionOutcome;
  matched: string;
  lapsed: string;
  evaluation: Buffer;
  previous_hash: string;
  hash: string;
}

interface EvaluationTable {
  order_delivery_id: number;
  decision_id: number;
  delivery_hash: string;
  order_hash: string;
  rules_key: string;
  evaluated_at: number;
  due_at: number | null;
  due_why: 'manual' | null;
  feed_seq: Generated<number>;
  basis: Generated<string>;
}

interface HoldTable {
  order_delivery_id: number;
  rule_id: string;
  rule_hash: string;
  since: number;
  until_at: number | null;
  expires_at: number;
  afterwards: 'escalate' | 're-evaluate' | 'accept' | 'release';
  lapsed_at: number | null;
}

interface AuditTable {
  id: Generated<number>;
  at: number;
  actor: string;
  action: string;
  subject: string;
  reason: string;
  detail: string;
  session: string | null;
  address: string | null;
}

export type ConsoleRole = 'viewer' | 'operator' | 'approver';

interface ConsoleSessionTable {
  session_id: Generated<number>;
  key_hash: string;
  name: string;
  role: ConsoleRole;
  way: 'link' | 'password' | 'proxy' | 'token';
  sees_addresses: number;
  credential_digest: string | null;
  address: string | null;
  created_at: number;
  seen_at: number;
  expires_at: number;
  ended_at: number | null;
  ended_by: string | null;
}

interface DeliveryNoteTable {
  order_delivery_id: number;
  text: string;
  author: string;
  at: number;
}

export type PauseTarget = 'pushes' | 'decisions' | 'stream' | 'all';

interface PauseTable {
  target: PauseTarget;
  name: Generated<string>;
  reason: string;
  actor: string;
  at: number;
}

interface NotificationTable {
  notification_id: Generated<number>;
  channel: string;
  is_urgent: number;
  at: number;
  message: string;
  state: Generated<'waiting' | 'delivered' | 'given_up'>;
  attempts: Generated<number>;
  due_at: number;
  last_error: string | null;
  ended_at: number | null;
}

interface NotificationToldTable {
  channel: string;
  event: string;
  until: number;
}

interface DaemonStateTable {
  key: string;
  value: string;
  updated_at: number;
}

interface LeaseTable {
  name: string;
  holder: string;
  fencing: number;
  acquired_at: number;
  expires_at: number;
}

interface SchemaMigrationTable {
  version: number;
  name: string;
  checksum: string;
  applied_at: number;
}

interface ChunkTable {
  stream: string;
  part: string;
  first_row: number;
  row_count: number;
  digest: Buffer | null;
  keys: string;
  /** Bytes of the chunk's rows on the wire; null when they did not arrive as bytes. */
  bytes: number | null;
}

interface StockOutOfBandTable {
  barcode: string;
  /** 1: the row was new when it was written, so that the list may not have it at all. */
  is_new: 0 | 1;
}

interface AbsenceTable {
  stream: string;
  key: string;
  run_id: number;
}

type ReviewAction = 'accept' | 'reject' | 'hold' | 'release';

interface ReviewTable {
  order_delivery_id: number;
  action: ReviewAction;
  at: number;
  actor: string;
  reason: string;
  why: string | null;
  lines_hash: string;
  decision_id: number;
}

interface RestoredStopTable {
  order_delivery_id: number;
  at: number;
  actor: string;
  action: string;
}

interface BacktestReportTable {
  report_id: Generated<number>;
  at: number;
  actor: string;
  rule_set_hash: string;
  since: number;
  until: number;
  deliveries: number;
  rules: string;
  report: string;
}

interface MatchSeenTable {
  rule_hash: string;
  decision_id: number;
  order_delivery_id: number;
  at: number;
  actor: string;
}

interface ArmingTable {
  arming_id: Generated<number>;
  rule_id: string;
  rule_hash: string;
  at: number;
  actor: string;
  reason: string;
  report_id: number;
  expires_at: number;
  ended_at: number | null;
  ended_by: string | null;
  end_reason: string | null;
}

interface RejectEntryTable {
  entry_id: Generated<number>;
  order_delivery_id: number;
  order_id: number;
  rule_id: string;
  rule_hash: string;
  delivery_hash: string;
  decision_id: number;
  queued_at: number;
  due_at: number;
  state: 'waiting' | 'pushing' | 'rejected' | 'stopped' | 'held' | 'withdrawn' | 'failed';
  safeguard: string | null;
  detail: string | null;
  intent_at: number | null;
  intent_decision_id: number | null;
  account_no: string | null;
  amount: number | null;
  currency: string | null;
  ended_at: number | null;
  ended_by: string | null;
}

/** Kept by triggers alone. */
interface DecisionWaitsView {
  decision_id: number;
  outcome: DecisionOutcome;
  waits: number;
}

interface TallyTable {
  entity: string;
  name: string;
  rows: number;
  latest_at: number | null;
}

export interface RecordTables {
  absence: AbsenceTable;
  announced: AnnouncedTable;
  arming: ArmingTable;
  audit: AuditTable;
  backtest_report: BacktestReportTable;
  change: ChangeTable;
  change_hour: ChangeHourTable;
  console_session: ConsoleSessionTable;
  daemon_state: DaemonStateTable;
  decision: DecisionTable;
  decision_waits: DecisionWaitsView;
  delivery_note: DeliveryNoteTable;
  evaluation: EvaluationTable;
  event_coverage: EventCoverageView;
  fact_snapshot: FactSnapshotTable;
  hold: HoldTable;
  incident: IncidentTable;
  lease: LeaseTable;
  match_seen: MatchSeenTable;
  notification: NotificationTable;
  notification_told: NotificationToldTable;
  pause: PauseTable;
  quarantine: QuarantineTable;
  refresh: RefreshTable;
  reject_entry: RejectEntryTable;
  restored_stop: RestoredStopTable;
  review: ReviewTable;
  rule_set: RuleSetTable;
  rule_text: RuleTextTable;
  schema_migration: SchemaMigrationTable;
  season_window: SeasonWindowTable;
  size_rank: SizeRankTable;
  stock_age: StockAgeTable;
  stock_day: StockDayTable;
  chunk: ChunkTable;
  stock_out_of_band: StockOutOfBandTable;
  stream_state: StreamStateTable;
  sync_run: SyncRunTable;
  duplicate_key: DuplicateKeyTable;
  key_place: KeyPlaceTable;
  tally: TallyTable;
  webhook_event: WebhookEventTable;
}
