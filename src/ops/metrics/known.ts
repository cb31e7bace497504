/** Label values of metrics that are known before they occur: each is shown as 0 until it does. */
export const OUTCOMES = ['accept', 'hold', 'reject', 'release', 'no_rule'] as const;
export const OPEN_STATES = ['queued', 'sending', 'sent', 'in_doubt'] as const;
export const END_STATES = ['confirmed', 'refused', 'dead', 'canceled'] as const;

/** Codes of holds that come from no rule but from the daemon itself. */
export const HOLD_CODES = ['empty_delivery', 'rules_disagree', 'safeguard', 'unread'] as const;

/** Kinds of incidents, as the manual lists them. */
export const INCIDENT_KINDS: readonly string[] = [
  'accepts_paused',
  'accepts_wait',
  'another_daemon',
  'brands_refused',
  'clock_ahead',
  'clock_behind',
  'config_invalid',
  'contradiction',
  'duplicate_reference',
  'evaluation_error',
  'events_missed',
  'hold_expired',
  'invalid_customer_data',
  'level_too_high',
  'mass_change',
  'never_complete',
  'no_currency',
  'notify_failed',
  'order_unreadable',
  'orders_unknown',
  'push_dead',
  'push_differs',
  'push_in_doubt',
  'push_late',
  'quiet_time_short',
  'refund_unconfirmed',
  'reject_breaker',
  'relay_clock',
  'report_failed',
  'revoked_too_often',
  'rules_invalid',
  'rules_list',
  'service_put_back',
  'shared_number',
  'unknown_status',
  'unreadable_member',
  'worker_failing',
];

/** Entities that have rows in quarantine when they cannot be read. */
export const MIRRORED: readonly string[] = [
  'brand',
  'color',
  'country',
  'delivery',
  'erp_customer',
  'freight_option',
  'gender',
  'pdm_brand',
  'pending_refund',
  'refund',
  'sales_order',
  'season',
  'season_variant',
  'stock_variant',
  'style',
  'style_color',
  'style_type',
];

export const EVENT_STATES = ['healthy', 'degraded', 'silent'] as const;
/** Priorities of requests to the service, the most urgent first. */
export const REQUEST_CLASSES = ['push', 'read', 'pull', 'person'] as const;
