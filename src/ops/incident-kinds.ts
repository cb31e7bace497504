/**
 * Kinds of incidents in words: what has happened, and what to do. The manual, the status, the
 * console and the doctor tell an incident by these, unless it has a sentence and advice of its own.
 */
interface IncidentKind {
  readonly when: string;
  /** Advice; commands are in backticks. */
  readonly todo: string;
  /** Event that ends the incident. */
  readonly ends: string;
}

export const INCIDENTS: Readonly<Record<string, IncidentKind>> = {
  accepts_paused: {
    when: 'too many accepts in an hour, or too many that were refused',
    todo: 'nothing: they go on after `safeguards.accept.pause`',
    ends: 'the pause is over',
  },
  accepts_wait: {
    when: 'accepts wait for old or missing data',
    todo: 'the detail says for which, how many and what to do',
    ends: 'nothing waits for that data any more',
  },
  another_daemon: {
    when: 'another daemon seems to send for the same account',
    todo: 'stop it; the incident ends after six quiet hours',
    ends: 'six hours without a further sign of it',
  },
  arming_ends: {
    when: 'a reject rule is armed for a few days more; after that it only holds',
    todo: '`selvedge rules arm <rule> --reason "why"`, if it is still wanted',
    ends: 'the rule is armed again, or its arming has ended',
  },
  brands_refused: {
    when: 'a list is refused, whole and by brand',
    todo: 'ask the service; `service.dialect.v1.perBrand`',
    ends: 'the list is read, or its stream is off at a start',
  },
  callback_failed: {
    when: 'the command that is told receipts or outcomes was given up for some of them',
    todo: '`intake.callback`; the detail has its last error. It ends once the command works',
    ends: 'a command ends well, or none is configured at a start',
  },
  clock_ahead: {
    when: 'times of the service are in the future',
    todo: '`service.dialect.v1.timeZone` if they name none; else both clocks',
    ends: 'the latest times of the service are right',
  },
  clock_behind: {
    when: 'times of the service are late by a time zone',
    todo: '`service.dialect.v1.timeZone` if they name none; else both clocks',
    ends: 'the latest times of the service are right',
  },
  config_invalid: {
    when: 'a reload found mistakes in the configuration; nothing changed, no start would succeed',
    todo: '`selvedge config check`; correct; `selvedge rules reload`',
    ends: 'a reload or a start finds no mistake',
  },
  contradiction: {
    when: 'the service shows another status of what was final; the mirror keeps the final one',
    todo: 'look at it in the service',
    ends: 'an answer agrees, or the row is gone',
  },
  customers_lost: {
    when: 'the ERP removed or blanked most of its customers at once; what was known stays',
    todo: 'look at `erp_customer`; if it is right, `selvedge sync release customers --reason "…"`',
    ends: 'the table is full again, or the loss that a person accepted is taken over',
  },
  duplicate_reference: {
    when: 'two orders have one reference',
    todo: 'cancel one in the service',
    ends: 'one order is canceled or gone',
  },
  evaluation_error: {
    when: 'an error kept deliveries from being decided; they are tried again',
    todo: 'the detail has both; decide them, or report it',
    ends: 'each of its deliveries is evaluated, decided or gone',
  },
  events_missed: {
    when: 'events stay away or are lost while orders change; the sweep finds what they were about',
    todo: 'send an example in the portal, and look for it: `selvedge events list --follow`',
    ends: 'events announce deliveries again, or the level has none at a start',
  },
  events_refused: {
    when: 'events of the relay are refused: a secret was rotated or has ended, or a clock is off',
    todo: 'the detail says which; `selvedge portal open`, `listener.secrets`; `timedatectl`',
    ends: 'events are taken again, or the level has none at a start',
  },
  exchange_locked: {
    when: 'a program keeps `exchange.db` locked: no receipt is written',
    todo: 'end its unfinished SELECT or transaction; `selvedge doctor` (`exchange`) names it',
    ends: 'the file can be written',
  },
  file_changed: {
    when: 'a file of the drop folder was changed after it was taken; nothing of that was taken',
    todo:
      'its receipt still says what was taken; put new documents into the drop folder itself, as ' +
      'a file of their own',
    ends: 'a day later',
  },
  file_grew: {
    when: 'a file of the drop folder grew after it was taken for whole; the rest was taken, too',
    todo:
      'look at its receipt; have its sender write under another name and rename, or raise ' +
      '`intake.folder.settle`',
    ends: 'a day later',
  },
  hold_expired: {
    when: 'deliveries are overdue: their holds have lasted their time, or no rule covers them',
    todo: '`selvedge deliveries list --waiting --overdue`; decide or release',
    ends: 'none of these waits any more',
  },
  invalid_customer_data: {
    when: 'a field of customers is not what `customer_fields` says, and counts as not known',
    todo: 'have the ERP correct it',
    ends: 'the field is right, or none of its customers has a delivery that waits',
  },
  level_too_high: {
    when: 'the account has a lower level',
    todo: '`service.dialect.v1.level`',
    ends: 'the service answers for all that lacked, or the level is lowered',
  },
  login_refused: {
    when: 'the service refuses the log-in: nothing is read or sent',
    todo: 'correct the credentials (`service.v1`, `service.v2`); `selvedge doctor` tries them',
    ends: 'a log-in succeeds',
  },
  mass_change: {
    when: 'a run changed most rows of its list at once; rules that read it wait',
    todo: 'look at the service; if it is right, `selvedge sync release <run> --reason "why"`',
    ends: 'a run finds the rows as they were, or a person releases the run',
  },
  never_complete: {
    when: 'a stream was not complete four times in a row',
    todo: 'the detail has the reason; `selvedge sync list`',
    ends: 'a run is complete, or the stream is off',
  },
  no_currency: {
    when: 'the currency of pending deliveries is not known',
    todo: '`service.dialect.v1.currency`',
    ends: 'no pending delivery lacks one',
  },
  notify_failed: {
    when: 'messages do not arrive',
    todo: '`selvedge notify test`',
    ends: 'a message arrives, or the channel is gone',
  },
  order_unreadable: {
    when: 'the service refuses to show an order',
    todo: '`selvedge api GET /orders/<id>`',
    ends: 'the order is read, or no list has it any more',
  },
  orders_unknown: {
    when: 'events name orders that the service does not have',
    todo: "another account's, or later than its events by minutes: `selvedge api GET /orders/<id>`",
    ends: 'all of them are read, or given up',
  },
  preorders_unproved: {
    when: 'nothing proves how the account reads the season of a pre-order: all of them wait',
    todo: 'cancel there what it names, then set `service.dialect.v1.preOrderNames`',
    ends: 'a pre-order is about to leave under names that are proved or set',
  },
  push_dead: {
    when: 'a row gave up',
    todo: 'mend the cause, then `outbox retry` or `cancel`',
    ends: 'a person retries, cancels or resolves it',
  },
  push_differs: {
    when: "what was read back is not what was sent; the order's deliveries are mostly held",
    todo: 'correct it in the service, or resolve it as `noted`',
    ends: 'a look finds no difference, or a person resolves it',
  },
  push_in_doubt: {
    when: 'only a person can resolve a row',
    todo: '`selvedge outbox list --needs-attention`',
    ends: 'its outcome is known',
  },
  push_late: {
    when: 'a row has waited for an hour',
    todo: '`selvedge outbox show <id>` says for what',
    ends: 'it is sent, or ends',
  },
  quarantined: {
    when: 'rows could not be understood, and are not in the mirror',
    todo: 'the table `quarantine` has the reasons; `selvedge sync retry-quarantine`',
    ends: 'none is left',
  },
  quiet_time_short: {
    when: 'an effect came later than half of `outbox.quietTime`',
    todo: 'raise it',
    ends: 'the setting is long enough, or the late effect is forgotten',
  },
  reads_late: {
    when: 'orders that events announced have waited for a quarter of an hour to be read',
    todo: 'the detail has the last error; `selvedge doctor` tries the service',
    ends: 'they are read',
  },
  refund_unconfirmed: {
    when: 'the service has not confirmed a pending refund in time',
    todo: 'ask the service',
    ends: 'it is confirmed, or gone',
  },
  reject_breaker: {
    when: 'a limit of rejects was reached; no rule rejects',
    todo: '`selvedge rules queue`, then `selvedge resume rejects --reason "why"`',
    ends: 'a person resets it',
  },
  relay_clock: {
    when: "our clock or the relay's is off; from five minutes on every event is refused",
    todo: '`timedatectl set-ntp true`',
    ends: 'an event shows that the clocks agree, or the level has none at a start',
  },
  report_failed: {
    when: 'a scheduled report failed',
    todo: '`selvedge report list`',
    ends: 'it succeeds, or its schedule is gone',
  },
  revoked_too_often: {
    when: 'a rule would take an accepted delivery back again',
    todo: '`selvedge deliveries hold <delivery> --reason "why"`, if it must not leave',
    ends: 'a rule does not want it any more, or a person decides',
  },
  rules_invalid: {
    when: 'the rules have mistakes; the daemon keeps the old ones, or only observes since a start',
    todo: '`selvedge rules check`; correct; `selvedge rules reload`',
    ends: 'the rules are loaded without a mistake',
  },
  rules_list: {
    when: "a list from the ERP's customers leaves some out, or cannot be read",
    todo: 'have the ERP correct it; it ends by itself',
    ends: 'the list is read as a whole, or no rule reads it',
  },
  secret_ends: {
    when: 'the last signing secret ends within two weeks (`notAfter`), or has ended',
    todo: 'add the one that the endpoint has now to `listener.secrets`',
    ends: 'another secret is valid for longer',
  },
  service_put_back: {
    when: 'confirmed orders are no longer at the service',
    todo: 'submit what is still wanted under new references; resolve one as `noted`',
    ends: 'they are there again, or a person resolves each',
  },
  service_silent: {
    when: 'the service does not answer: nothing is read or sent',
    todo: 'is it up? `selvedge doctor` tries it; what waits goes on by itself',
    ends: 'the first answer comes',
  },
  shared_number: {
    when: 'deliveries or refunds of two orders share a number; neither is decided',
    todo: 'decide them in the service',
    ends: 'none is left',
  },
  unknown_status: {
    when: 'a status that nobody knows',
    todo: '`service.dialect.v1.statuses`; the detail has the line',
    ends: 'no row has it, or the setting names it',
  },
  unreadable_member: {
    when: 'a member that decides cannot be read',
    todo: 'the detail names the address to look at; another name: `service.dialect.v1.members`',
    ends: 'no row that decides has one',
  },
  worker_failing: {
    when: 'a part of the daemon fails at each start; the rest goes on',
    todo: 'its error says why; `selvedge doctor`',
    ends: 'it runs for a while',
  },
};

/** The kinds by name. */
export const INCIDENT_KINDS: readonly string[] = Object.keys(INCIDENTS);
