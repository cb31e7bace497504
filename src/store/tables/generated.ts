/**
 * Kysely's view of the schema. Generated from the migrations (npm run references), not by hand.
 * Amounts and percentages are integers of ten-thousandths (lib/money.ts).
 */
import type { Generated } from 'kysely';

interface AbsenceTable {
  stream: string;
  key: string;
  run_id: number;
}

interface AnnouncedTable {
  thing: 'delivery' | 'refund';
  thing_id: number;
  order_id: number;
  status: string | null;
  sent_at: number;
  since: number;
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

interface BrandTable {
  brand_name: string;
  extra: string;
  content_hash: string;
  first_seen_at: number;
  changed_at: number;
  deleted_at: number | null;
  read_seq: number;
  source: string;
}

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
  hour: number;
  first_seq: number;
}

interface ChunkTable {
  stream: string;
  part: string;
  first_row: number;
  row_count: number;
  digest: Buffer | null;
  keys: string;
  bytes: number | null;
}

interface ClaimTable {
  order_delivery_id: number;
  order_id: number;
  changed_at: number | null;
  due_at: number | null;
  decision_id: number | null;
  outcome: string | null;
  first_seen_at: number | null;
  packed_at: number | null;
  waits: Generated<number>;
}

interface ClaimOfTable extends ClaimTable {}

interface ColorTable {
  color_id: string;
  name: string | null;
  code: string | null;
  active: number | null;
  extra: string;
  content_hash: string;
  first_seen_at: number;
  changed_at: number;
  deleted_at: number | null;
  read_seq: number;
  source: string;
}

interface ConsoleSessionTable {
  session_id: Generated<number>;
  key_hash: string;
  name: string;
  role: 'viewer' | 'operator' | 'approver';
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

interface CountryTable {
  country_id: string;
  name: string | null;
  code: string | null;
  extra: string;
  content_hash: string;
  first_seen_at: number;
  changed_at: number;
  deleted_at: number | null;
  read_seq: number;
  source: string;
}

interface DaemonStateTable {
  key: string;
  value: string;
  updated_at: number;
}

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
  outcome: 'accept' | 'hold' | 'reject' | 'release' | 'no_rule';
  reason: string;
  rules: string;
  shadow: string;
  said: 'accept' | 'hold' | 'reject' | 'release' | 'no_rule';
  matched: string;
  lapsed: string;
  evaluation: Buffer;
  previous_hash: string;
  hash: string;
}

interface DecisionWaitsTable {
  decision_id: number;
  outcome: DecisionTable['outcome'];
  waits: number;
}

interface DeliveryTable {
  order_delivery_id: number;
  delivery_no: string | null;
  order_id: number;
  reference: string | null;
  order_no: string | null;
  status: string;
  created_at: number | null;
  tracking_numbers: string;
  tracking_links: string;
  extra: string;
  content_hash: string;
  first_seen_at: number;
  changed_at: number;
  deleted_at: number | null;
  read_seq: number;
  source: string;
  unread: string | null;
}

interface DeliveryAssignmentTable {
  order_delivery_id: number;
  name: string;
  actor: string;
  at: number;
}

interface DeliveryLineTable {
  order_delivery_id: number;
  line_no: number;
  barcode: string | null;
  fulfilled_quantity: number | null;
  fulfilled_size_quantity: number | null;
  price: number | null;
  season_name: string | null;
  delivery_name: string | null;
  extra: string;
}

interface DeliveryNoteTable {
  note_id: Generated<number>;
  order_delivery_id: number;
  text: string;
  author: string;
  at: number;
}

interface DuplicateKeyTable {
  stream: string;
  key: string;
  is_due: number;
}

interface ErpCustomerTable {
  account_no: string;
  credit_limit: number | null;
  balance: number | null;
  currency: string | null;
  overdue_days: number | null;
  blocked: number | null;
  as_of: number | null;
  extra: string;
  content_hash: string;
  first_seen_at: number;
  changed_at: number;
  deleted_at: number | null;
  read_seq: number;
  source: string;
}

interface EvaluationTable {
  order_delivery_id: number;
  decision_id: number;
  delivery_hash: string;
  order_hash: string;
  rules_key: string;
  basis: Generated<string>;
  evaluated_at: number;
  due_at: number | null;
  due_why: 'manual' | null;
  feed_seq: Generated<number>;
}

interface EventCoverageTable {
  order_delivery_id: number;
  order_id: number;
  at: number;
  created_at: number | null;
  by_event: number;
  since: number | null;
  announced: number;
}

interface FactSnapshotTable {
  digest: string;
  at: number;
  facts: Buffer;
}

interface FeedDayTable {
  day: string;
  ends_at: number;
}

interface FreightOptionTable {
  freight_type: string;
  extra: string;
  content_hash: string;
  first_seen_at: number;
  changed_at: number;
  deleted_at: number | null;
  read_seq: number;
  source: string;
}

interface GenderTable {
  gender_id: string;
  name: string | null;
  extra: string;
  content_hash: string;
  first_seen_at: number;
  changed_at: number;
  deleted_at: number | null;
  read_seq: number;
  source: string;
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

interface IncidentTable {
  id: Generated<number>;
  at: number;
  kind: string;
  entity: string;
  key: string;
  detail: string;
  resolved_at: number | null;
}

interface IncidentAckTable {
  incident_id: number;
  at: number;
  actor: string;
  reason: string;
}

interface IntakeTable {
  outbox_id: number;
  channel: 'sql' | 'folder' | 'http' | 'cli';
  source: string;
  received_at: number;
  repeats: Generated<number>;
  last_repeat_at: number | null;
  receipt_due: Generated<number>;
  callback_due_at: number | null;
  callback_attempts: Generated<number>;
  callback_error: string | null;
}

interface IntakeFileTable {
  file_id: Generated<number>;
  name: string;
  sha256: string;
  taken_at: number;
  folder: 'done' | 'refused';
  stored_as: string;
  receipt_due: Generated<number>;
  mark: string | null;
}

interface IntakeFileDocumentTable {
  file_id: number;
  line: number;
  outbox_id: number | null;
  refusal: string | null;
}

interface IntakeKeyTable {
  client: string;
  key: string;
  outbox_id: number;
  at: number;
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

interface LeaseTable {
  name: string;
  holder: string;
  fencing: number;
  acquired_at: number;
  expires_at: number;
}

interface LineArticleTable {
  order_delivery_id: number;
  pieces: number | null;
  tariff_no: string | null;
  origin: string | null;
  weight: number | null;
}

interface MatchSeenTable {
  rule_hash: string;
  decision_id: number;
  order_delivery_id: number;
  at: number;
  actor: string;
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

interface OrderCurrencyTable {
  order_id: number;
  currency: string | null;
}

interface OutboxTable {
  outbox_id: Generated<number>;
  kind: string;
  ordering_key: string;
  reference: string;
  body: string;
  body_hash: string;
  state: Generated<
    'queued' | 'sending' | 'sent' | 'confirmed' | 'refused' | 'in_doubt' | 'dead' | 'canceled'
  >;
  expected_from: string | null;
  due_at: number;
  attempts: Generated<number>;
  in_doubt_since: number | null;
  created_at: number;
  ended_at: number | null;
  cause: string;
  result: string | null;
  last_error: string | null;
  reference_key: string | null;
  problems: Generated<string>;
  blocked_reason: string | null;
  order_id: number | null;
  shown_reference: string | null;
  order_delivery_id: number | null;
  decision_id: number | null;
}

interface OutboxAttemptTable {
  outbox_id: number;
  attempt: number;
  started_at: number;
  max_order_id_before: number | null;
  ended_at: number | null;
  class: string | null;
  http_status: number | null;
  error_code: string | null;
  answer: string | null;
  count_before: number | null;
}

interface OutboxCandidateTable {
  order_id: number;
  outbox_id: number;
}

interface OutboxEvidenceTable {
  id: Generated<number>;
  outbox_id: number;
  at: number;
  source: string;
  outcome: 'matched' | 'not_found' | 'ambiguous';
  detail: string;
  complete: Generated<number>;
}

interface OutboxLostTable {
  outbox_id: number;
  order_id: number;
  since: number;
  reference: string | null;
  read_seq: number;
  noted_at: number | null;
}

interface OutboxRevisionTable {
  outbox_id: number;
  revision: number;
  body: string;
  cause: string;
  submitted_at: number;
  state: string;
  problems: string;
  last_error: string | null;
  ended_at: number | null;
  replaced_at: number;
}

interface OutboxTransitionTable {
  from_state: string;
  to_state: string;
}

interface OutcomeTable {
  outcome_id: Generated<number>;
  decision_id: number;
  state: 'confirmed' | 'refused';
  problem: string | null;
  at: number;
  row_due: Generated<number>;
  callback_due_at: number | null;
  callback_attempts: Generated<number>;
  callback_error: string | null;
}

interface PauseTable {
  target: 'pushes' | 'decisions' | 'stream' | 'all';
  name: Generated<string>;
  reason: string;
  actor: string;
  at: number;
}

interface PdmBrandTable {
  brand_id: string;
  name: string | null;
  extra: string;
  content_hash: string;
  first_seen_at: number;
  changed_at: number;
  deleted_at: number | null;
  read_seq: number;
  source: string;
}

interface PendingRefundTable {
  pending_refund_id: number;
  order_id: number;
  reference: string | null;
  status: string;
  comment: string | null;
  created_at: number | null;
  extra: string;
  content_hash: string;
  first_seen_at: number;
  changed_at: number;
  deleted_at: number | null;
  read_seq: number;
  source: string;
  unread: string | null;
}

interface PendingRefundLineTable {
  pending_refund_id: number;
  line_no: number;
  barcode: string | null;
  quantity: number | null;
  price: number | null;
  restock: number | null;
  refund_type: string | null;
  extra: string;
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

interface ReferenceSpellingTable {
  id: Generated<number>;
  kind: string;
  spellings: string;
  learned_at: number;
  ended_at: number | null;
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
  look: Generated<number>;
  urgent_at: number | null;
}

interface RefundTable {
  order_refund_id: number;
  refund_no: string | null;
  order_id: number;
  reference: string | null;
  order_no: string | null;
  status: string;
  pending_refund_id: number | null;
  created_at: number | null;
  extra: string;
  content_hash: string;
  first_seen_at: number;
  changed_at: number;
  deleted_at: number | null;
  read_seq: number;
  source: string;
  unread: string | null;
}

interface RefundAwaitedTable {
  outbox_id: number;
}

interface RefundLineTable {
  order_refund_id: number;
  line_no: number;
  barcode: string | null;
  refunded_quantity: number | null;
  refunded_size_quantity: number | null;
  price: number | null;
  restock: number | null;
  refund_type: string | null;
  extra: string;
}

interface RefusedDocumentTable {
  outbox_id: number;
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

interface RestoredStopTable {
  order_delivery_id: number;
  at: number;
  actor: string;
  action: string;
}

interface ReviewTable {
  order_delivery_id: number;
  action: 'accept' | 'reject' | 'hold' | 'release';
  at: number;
  actor: string;
  reason: string;
  why: string | null;
  lines_hash: string;
  decision_id: number;
}

interface RuleSetTable {
  hash: string;
  first_used_at: number;
  files: string;
  words: Buffer | null;
}

interface RuleTextTable {
  hash: string;
  text: string;
}

interface SalesOrderTable {
  order_id: number;
  reference: string | null;
  order_no: string | null;
  status: string;
  completed: number;
  comment: string | null;
  created_at: number | null;
  currency: string | null;
  season_name: string | null;
  country_code: string | null;
  company: string | null;
  account_no: string | null;
  shipping_address: string;
  freight_type: string | null;
  freight_amount: number | null;
  extra: string;
  content_hash: string;
  first_seen_at: number;
  changed_at: number;
  deleted_at: number | null;
  read_seq: number;
  source: string;
  details_read_at: number | null;
  unread: string | null;
  forgotten_at: number | null;
  whole_read_at: number | null;
}

interface SalesOrderLineTable {
  order_id: number;
  line_no: number;
  barcode: string | null;
  quantity: number | null;
  fulfilled_quantity: number | null;
  size_quantity: number | null;
  fulfilled_size_quantity: number | null;
  price: number | null;
  season_name: string | null;
  delivery_name: string | null;
  extra: string;
}

interface SavedViewTable {
  name: string;
  filter: string;
  is_default: number;
  author: string;
  at: number;
}

interface SchemaMigrationTable {
  version: number;
  name: string;
  checksum: string;
  applied_at: number;
}

interface SeasonTable {
  season_name: string;
  extra: string;
  content_hash: string;
  first_seen_at: number;
  changed_at: number;
  deleted_at: number | null;
  read_seq: number;
  source: string;
  unread: string | null;
}

interface SeasonDeliveryTable {
  season_name: string;
  line_no: number;
  delivery_name: string;
}

interface SeasonVariantTable extends Omit<SeasonVariantRowTable, 'extra_id' | 'unread'> {}

interface SeasonVariantRowTable {
  season_barcode: string;
  season_name: string;
  barcode: string;
  quantity: number | null;
  variant_type: string | null;
  style_no: string | null;
  style_name: string | null;
  brand_name: string | null;
  color_code: string | null;
  color_name: string | null;
  size: string | null;
  currency: string | null;
  price: number | null;
  wsp_price: number | null;
  price_original: number | null;
  b2c_sale_price: number | null;
  category: string | null;
  gender: string | null;
  b2b_hidden: number | null;
  color_active: number | null;
  extra: string;
  content_hash: string;
  first_seen_at: number;
  changed_at: number;
  deleted_at: number | null;
  read_seq: number;
  source: string;
  extra_id: number | null;
  net_price: number | null;
  net_currency: string | null;
  price_before_discount: number | null;
  discount_percent: number | null;
  unread: string | null;
}

interface SeasonWindowTable {
  season_name: string;
  delivery_name: string;
  from_day: string;
  to_day: string;
}

interface SharedNumberTable {
  entity: string;
  number: number;
  order_id: number;
  seen_at: number;
}

interface SizeRankTable {
  size: string;
  rank: number;
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

interface StockDayTable {
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

interface StockOutOfBandTable {
  barcode: string;
  is_new: number;
}

interface StockVariantTable extends Omit<StockVariantRowTable, 'extra_id' | 'unread'> {}

interface StockVariantRowTable {
  barcode: string;
  quantity: number | null;
  variant_type: string | null;
  season_name: string | null;
  style_no: string | null;
  style_name: string | null;
  brand_name: string | null;
  color_code: string | null;
  color_name: string | null;
  size: string | null;
  currency: string | null;
  price: number | null;
  wsp_price: number | null;
  price_original: number | null;
  b2c_sale_price: number | null;
  category: string | null;
  gender: string | null;
  b2b_hidden: number | null;
  color_active: number | null;
  extra: string;
  content_hash: string;
  first_seen_at: number;
  changed_at: number;
  deleted_at: number | null;
  read_seq: number;
  source: string;
  extra_id: number | null;
  net_price: number | null;
  net_currency: string | null;
  price_before_discount: number | null;
  discount_percent: number | null;
  unread: string | null;
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

interface StyleTable {
  style_id: string;
  style_no: string | null;
  style_name: string | null;
  description: string | null;
  designer: string | null;
  active: number | null;
  updated_at: number | null;
  brand_id: string | null;
  type_id: string | null;
  gender_id: string | null;
  country_id: string | null;
  style_color_ids: string;
  extra: string;
  content_hash: string;
  first_seen_at: number;
  changed_at: number;
  deleted_at: number | null;
  read_seq: number;
  source: string;
}

interface StyleColorTable {
  style_color_id: string;
  active: number | null;
  noos_type: string | null;
  color_id: string | null;
  extra: string;
  content_hash: string;
  first_seen_at: number;
  changed_at: number;
  deleted_at: number | null;
  read_seq: number;
  source: string;
}

interface StyleTypeTable {
  type_id: string;
  name: string | null;
  extra: string;
  content_hash: string;
  first_seen_at: number;
  changed_at: number;
  deleted_at: number | null;
  read_seq: number;
  source: string;
}

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
  bytes: Generated<number>;
  resumes: Generated<number>;
  outcome: Generated<'running' | 'complete' | 'partial' | 'suspicious' | 'failed'>;
  reason: string | null;
  rows_held: Generated<number>;
  released_at: number | null;
  retries: Generated<number>;
  waits: Generated<number>;
  wait_ms: Generated<number>;
  rows_new: Generated<number>;
  rows_drastic: Generated<number>;
  drastic: Generated<string>;
  change_guard: 'off' | 'open' | 'accepted' | 'over' | null;
  feed_from: Generated<number>;
  feed_to: number | null;
  count_off: string | null;
  list_at: number | null;
}

interface TallyTable {
  entity: 'delivery' | 'pending' | 'waiting' | 'held' | 'hold' | 'outbox' | 'webhook_event';
  name: string;
  rows: number;
  latest_at: number | null;
}

interface VariantExtraTable {
  extra_id: number;
  extra: string;
  uses: number;
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

interface ZoneOffsetTable {
  since: number;
  until: number;
  minutes: number;
  modifier: string;
}

export interface Tables {
  absence: AbsenceTable;
  announced: AnnouncedTable;
  arming: ArmingTable;
  audit: AuditTable;
  backtest_report: BacktestReportTable;
  brand: BrandTable;
  change: ChangeTable;
  change_hour: ChangeHourTable;
  chunk: ChunkTable;
  claim: ClaimTable;
  claim_of: ClaimOfTable;
  color: ColorTable;
  console_session: ConsoleSessionTable;
  country: CountryTable;
  daemon_state: DaemonStateTable;
  decision: DecisionTable;
  decision_waits: DecisionWaitsTable;
  delivery: DeliveryTable;
  delivery_assignment: DeliveryAssignmentTable;
  delivery_line: DeliveryLineTable;
  delivery_note: DeliveryNoteTable;
  duplicate_key: DuplicateKeyTable;
  erp_customer: ErpCustomerTable;
  evaluation: EvaluationTable;
  event_coverage: EventCoverageTable;
  fact_snapshot: FactSnapshotTable;
  feed_day: FeedDayTable;
  freight_option: FreightOptionTable;
  gender: GenderTable;
  hold: HoldTable;
  incident: IncidentTable;
  incident_ack: IncidentAckTable;
  intake: IntakeTable;
  intake_file: IntakeFileTable;
  intake_file_document: IntakeFileDocumentTable;
  intake_key: IntakeKeyTable;
  key_place: KeyPlaceTable;
  lease: LeaseTable;
  line_article: LineArticleTable;
  match_seen: MatchSeenTable;
  notification: NotificationTable;
  notification_told: NotificationToldTable;
  order_currency: OrderCurrencyTable;
  outbox: OutboxTable;
  outbox_attempt: OutboxAttemptTable;
  outbox_candidate: OutboxCandidateTable;
  outbox_evidence: OutboxEvidenceTable;
  outbox_lost: OutboxLostTable;
  outbox_revision: OutboxRevisionTable;
  outbox_transition: OutboxTransitionTable;
  outcome: OutcomeTable;
  pause: PauseTable;
  pdm_brand: PdmBrandTable;
  pending_refund: PendingRefundTable;
  pending_refund_line: PendingRefundLineTable;
  quarantine: QuarantineTable;
  reference_spelling: ReferenceSpellingTable;
  refresh: RefreshTable;
  refund: RefundTable;
  refund_awaited: RefundAwaitedTable;
  refund_line: RefundLineTable;
  refused_document: RefusedDocumentTable;
  reject_entry: RejectEntryTable;
  restored_stop: RestoredStopTable;
  review: ReviewTable;
  rule_set: RuleSetTable;
  rule_text: RuleTextTable;
  sales_order: SalesOrderTable;
  sales_order_line: SalesOrderLineTable;
  saved_view: SavedViewTable;
  schema_migration: SchemaMigrationTable;
  season: SeasonTable;
  season_delivery: SeasonDeliveryTable;
  season_variant: SeasonVariantTable;
  season_variant_row: SeasonVariantRowTable;
  season_window: SeasonWindowTable;
  shared_number: SharedNumberTable;
  size_rank: SizeRankTable;
  stock_age: StockAgeTable;
  stock_day: StockDayTable;
  stock_out_of_band: StockOutOfBandTable;
  stock_variant: StockVariantTable;
  stock_variant_row: StockVariantRowTable;
  stream_state: StreamStateTable;
  style: StyleTable;
  style_color: StyleColorTable;
  style_type: StyleTypeTable;
  sync_run: SyncRunTable;
  tally: TallyTable;
  variant_extra: VariantExtraTable;
  webhook_event: WebhookEventTable;
  zone_offset: ZoneOffsetTable;
}
