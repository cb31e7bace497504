/** Views of decisions, pushes, pulls and the change feed. */
import { DELIVERY, TIME, type ViewSpec } from './columns.ts';

const CHANGE = {
  seq: 'number, without gaps but after a restore',
  at: `when (${TIME})`,
  entity: 'table',
  key: 'key of the row',
  op: 'insert, update, delete or restore',
  diff:
    '{"column": [old, new]}; amounts in ten-thousandths (675000 is 67.50); of `lines` those that ' +
    'differ, by their `line_no` in both lists',
  cause: 'run or event',
} as const;

export const OPERATION_VIEWS: readonly ViewSpec[] = [
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
      day: 'day',
      outcome: 'accept, hold, reject, release or no_rule',
      rule: 'the rule; (no rule) or (a person) where none decided',
      decisions: 'number of decisions',
    },
    example: "SELECT rule, sum(decisions) FROM v_decision_day WHERE outcome = 'hold' GROUP BY rule",
  },
  {
    name: 'v_decision_hour',
    about: 'Decisions per hour, outcome and who decided.',
    columns: {
      hour: `its beginning (${TIME})`,
      outcome: 'accept, hold, reject, release or no_rule',
      decided_by: 'the rules, people, or the service',
      decisions: 'number of decisions',
    },
    example:
      "SELECT hour, outcome, sum(decisions) FROM v_decision_hour WHERE hour >= date('now') " +
      'GROUP BY 1, 2',
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
    about: 'Orders that the ERP submitted.',
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
    columns: CHANGE,
    example:
      "SELECT at, op, diff FROM v_change WHERE entity = 'stock_variant' AND key = '5701234567899'",
  },
  {
    name: 'v_change_hour',
    about:
      'Where in the change feed an hour begins. Ask v_change for numbers from the least of the ' +
      'hours since some time on: then only those are read.',
    columns: {
      hour: `its beginning (${TIME})`,
      first_seq: 'number of its first change',
    },
    example:
      'SELECT count(*) FROM v_change WHERE seq >= (SELECT min(first_seq) FROM v_change_hour ' +
      "WHERE hour >= strftime('%Y-%m-%dT%H:00:00Z', 'now', '-6 hours'))",
  },
  {
    name: 'v_recent_change',
    about: 'The change feed since the begin of yesterday.',
    columns: CHANGE,
    example: 'SELECT entity, op, count(*) FROM v_recent_change GROUP BY entity, op',
  },
  {
    name: 'v_zone',
    about:
      'By how much the house (`console.timeZone`, else `timezone` of the rules) is ahead of UTC, ' +
      'a row for each change of its clocks. For the day, week or month of a time.',
    columns: {
      since: 'from when on, in seconds since 1970 (UTC)',
      until: 'until when',
      minutes: 'minutes ahead of UTC; negative: behind',
      modifier: "the same for SQLite's date functions, such as `+120 minutes`",
    },
    example:
      'SELECT decided_at, date(decided_at, (SELECT modifier FROM v_zone WHERE since <= ' +
      'unixepoch(decided_at) ORDER BY since DESC LIMIT 1)) AS day FROM v_decision',
  },
];
