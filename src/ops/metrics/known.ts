/** Label values of metrics that are known before they occur: each is shown as 0 until it does. */
import { ENTITIES } from '../../mirror/catalog/entities.ts';

export const OUTCOMES = ['accept', 'hold', 'reject', 'release', 'no_rule'] as const;
export const OPEN_STATES = ['queued', 'sending', 'sent', 'in_doubt'] as const;
export const END_STATES = ['confirmed', 'refused', 'dead', 'canceled'] as const;

/** Codes of holds that come from no rule but from the daemon itself. */
export const HOLD_CODES = [
  'below_zero',
  'empty_delivery',
  'no_rule',
  'rules_disagree',
  'safeguard',
  'unread',
] as const;

/** Entities that have rows in quarantine when they cannot be read. */
export const MIRRORED: readonly string[] = ENTITIES.map(({ entity }) => entity).sort();

export const EVENT_STATES = ['healthy', 'degraded', 'silent'] as const;
/** Priorities of requests to the service, the most urgent first. */
export const REQUEST_CLASSES = ['push', 'read', 'pull', 'person'] as const;
