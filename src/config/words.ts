/**
 * Words for people in place of the names that programs have: of streams, pushes, states, causes.
 * Pages, tables at the terminal, tiles and messages show the words; JSON, CSV and the API keep the
 * names. It stands below all rooms, because also `store` describes pauses to people. Words of lists
 * are in `lists.ts`.
 */
import { V1_LISTS, V2_LISTS, wordsOfLists, wordsOfRows } from './lists.ts';

export const WORDS = {
  stream: {
    ...wordsOfLists(V1_LISTS),
    stock: 'stock',
    season: 'season lists',
    orders: 'open orders',
    ordersFull: 'all orders',
    ...wordsOfLists(V2_LISTS),
    customers: "the ERP's customers",
  },
  push: {
    delivery_status: 'decision on a delivery',
    order: 'order',
    pending_refund: 'pending refund',
    refund_status: 'decision on a refund',
    style: 'style',
  },
  pushes: {
    delivery_status: 'decisions on deliveries',
    order: 'orders',
    pending_refund: 'pending refunds',
    refund_status: 'decisions on refunds',
    style: 'styles',
  },
  /** Acts of people and programs, as the audit names them. */
  act: {
    pause: 'paused',
    resume: 'resumed',
    restore: 'restored a backup',
    'account.adopt': 'adopted the account',
    'account.take_over': 'took the account over',
    'console.revoke': 'revoked a token',
    'console.sign_in': 'signed in',
    'console.sign_out': 'signed out',
    'console.token': 'made a token',
    'delivery.accept': 'accepted a delivery',
    'delivery.assign': 'assigned a delivery',
    'delivery.hold': 'held a delivery',
    'delivery.note': 'noted something',
    'delivery.reject': 'rejected a delivery',
    'delivery.release': 'released a delivery',
    'events.replay': 'replayed events',
    'incident.acknowledge': 'took up an incident',
    'incident.resolve': 'resolved an incident',
    'notify.give_up': 'gave up a message',
    'notify.send': 'sent a message',
    'notify.test': 'tried the channels',
    'orders.forget': 'forgot the people in an order',
    'outbox.absent': 'said that a push is not there',
    'outbox.cancel': 'canceled a push',
    'outbox.confirmed': 'said what a push has become',
    'outbox.correct': 'corrected a document',
    'outbox.noted': 'took note of a push',
    'outbox.retry': 'tried a push again',
    'plane.init': 'began the feed of the copy',
    'plane.remove': 'ended the feed of the copy',
    'portal.open': 'opened the portal',
    'report.schedule': 'made a report',
    'rules.arm': 'armed a rule',
    'rules.disarm': 'disarmed a rule',
    'rules.reload': 'reloaded the rules',
    'rules.report': 'kept a backtest',
    'rules.reset_breaker': 'let rules reject again',
    'rules.seen': 'looked at a match',
    'service.call': 'called the service',
    'sync.accept_change': 'accepted what a run changed',
    'sync.accept_count': 'accepted a count that is off',
    'sync.accept_loss': 'accepted a loss of customers',
    'sync.release': 'released a run',
    'sync.retry_quarantine': 'had unreadable rows read again',
    'view.delete': 'deleted a view',
    'view.rename': 'renamed a view',
    'view.save': 'saved a view',
  },
  pushState: {
    queued: 'queued',
    sending: 'being sent',
    sent: 'sent, not confirmed',
    confirmed: 'confirmed',
    refused: 'refused',
    // An unknown outcome is no failure, and is called by its name.
    in_doubt: 'outcome unknown',
    dead: 'given up',
    canceled: 'canceled',
  },
  /** End of one try to send; that the service took it confirms nothing yet. */
  attempt: {
    done: 'taken',
    not_processed: 'not processed',
    refused: 'refused',
    conflict: 'in conflict with what is there',
    ambiguous: 'outcome unknown',
    interrupted: 'interrupted',
  },
  lookup: { matched: 'found', not_found: 'not found', ambiguous: 'not clear' },
  lookedBy: { 'look-up': 'a lookup', person: 'a person' },
  runOutcome: {
    running: 'under way',
    complete: 'complete',
    partial: 'not all was seen',
    suspicious: 'suspicious',
    failed: 'failed',
  },
  runCause: { schedule: 'its schedule', operator: 'a person' },
  outcome: {
    accept: 'accepted',
    hold: 'held',
    reject: 'rejected',
    release: 'released',
    no_rule: 'no rule applies',
  },
  /** Push of a decision, behind the decision: it is done once the service has confirmed it. */
  decisionPush: {
    queued: 'being sent',
    sending: 'being sent',
    sent: 'being sent',
    in_doubt: 'outcome unknown',
    refused: 'refused',
    dead: 'given up',
    canceled: 'not sent',
  },
  /** Action of a rule. */
  action: { accept: 'accepts', hold: 'holds', reject: 'rejects' },
  status: {
    pending: 'pending',
    accepted: 'accepted',
    rejected: 'rejected',
    canceled: 'canceled',
    fulfilled: 'fulfilled',
    partially_fulfilled: 'partly fulfilled',
    deleted: 'gone from the service',
  },
  /** Deliveries that a list shows. */
  shown: {
    waiting: 'waiting',
    held: 'held',
    uncovered: 'no rule applies',
    undecided: 'pending, not held',
    pending: 'pending',
    accepted: 'accepted',
    rejected: 'rejected',
    canceled: 'canceled',
    refused: 'push refused',
    all: 'all',
  },
  mode: {
    off: 'off',
    shadow: 'only watched',
    observe: 'only observing',
    live: 'live',
  },
  /** Holds that come from no rule. */
  hold: {
    safeguard: 'a safeguard',
    empty_delivery: 'it has no lines',
    below_zero: 'it is worth less than nothing',
    unread: 'a part of it cannot be read',
    could_not_evaluate: 'a fact is not known',
    rules_disagree: 'rules disagree',
    no_rule: 'no rule applies',
  },
  safeguard: {
    mode: 'the mode of the daemon',
    're-read': 'the last look at the order',
    person: 'a decision of a person',
    breaker: 'the breaker of rejects',
    arming: 'the arming of the rule',
    changes: 'changes that a person must look at',
    're-evaluation': 'the rules, asked once more',
    freshness: 'the age of the data',
    hours: 'the hours for rejects',
    failures: 'too many failures',
    cap: 'a limit',
    usual: 'far more than usual',
    push: 'the answer of the service',
    order: 'the order',
    repacked: 'a delivery that was packed again',
    restored: 'a backup that was restored',
    document: 'a document about the order',
    cooldown: 'the time after it was taken back',
    accepts: 'too many accepts',
  },
  trigger: {
    new: 'it is new',
    changed: 'it has changed',
    push: 'its push has ended',
    hold: 'its hold has ended',
    manual: 'a person gave it to the rules',
    rules: 'the rules have changed',
    facts: 'a fact has changed',
    external: 'the service',
    person: 'a person',
    grace: 'its grace is over',
  },
  event: {
    ping: 'ping',
    'sales_order.order_created': 'order made',
    'sales_order.order_completed': 'order completed',
    'sales_order.delivery_created': 'delivery packed',
    'sales_order.delivery_updated': 'delivery changed',
    'sales_order.delivery_canceled': 'delivery canceled',
    'sales_order.refund_created': 'refund made',
    'sales_order.refund_updated': 'refund changed',
    'sales_order.refund_canceled': 'refund canceled',
  },
  /** Reasons for which the listener refuses what came. */
  refusedEvent: {
    forged: 'the signature is not by a secret of ours',
    malformed: 'the headers of the signature cannot be read',
    retired: 'signed by a secret that is over',
    stale: 'signed too long ago, or by a clock that is wrong',
    path: 'another path than that of events',
    address: 'from an address that may not send',
    unwritable: 'the disk is nearly full: the relay sends it again',
  },
  relay: { healthy: 'healthy', degraded: 'late or lossy', silent: 'silent' },
  service: {
    answers: 'answers',
    silent: 'no answer',
    login_refused: 'log-in refused',
    waits: 'asks to wait',
  },
  /** Findings of the doctor. */
  grade: { failed: 'failed', warning: 'look', skipped: 'left out', ok: 'fine' },
  wayIn: { link: 'a printed link', password: 'a password', proxy: 'the proxy', token: 'a token' },
  afterwards: {
    escalate: 'it is overdue and waits for you',
    're-evaluate': 'the rules decide again',
    accept: 'it is accepted',
    release: 'the other rules decide',
  },
  change: {
    insert: 'new',
    update: 'changed',
    delete: 'gone',
    restore: 'there again',
  },
  thing: {
    ...wordsOfRows(V1_LISTS),
    stock_variant: 'variant in stock',
    season_variant: 'variant of a season',
    delivery: 'delivery',
    sales_order: 'order',
    refund: 'refund',
    pending_refund: 'pending refund',
    ...wordsOfRows(V2_LISTS),
    erp_customer: 'customer of the ERP',
    outbox: 'push',
    sync_run: 'run',
    run: 'run',
    stream: 'pull of',
    rule: 'rule',
    rules: 'rules',
    event: 'event',
    order: 'order',
    token: 'token',
    daemon: 'daemon',
    incident: 'incident',
    view: 'view',
    channel: 'channel',
    schedule: 'schedule',
    customer_field: 'field of customers',
    system_key: 'account',
  },
  /** Why documents wait, behind their number and kind. */
  documents: {
    in_doubt: 'with an unknown outcome',
    dead: 'given up',
    refused: 'refused',
    canceled: 'canceled, of deliveries that are pending',
    lost: 'confirmed, and no longer at the service',
    differs: 'that the service has otherwise',
    unconfirmed: 'that the service has not confirmed in time',
    late: 'that wait for an hour and more',
  },
  /** Why deliveries wait, behind their number. */
  deliveries: {
    hold: 'held',
    no_rule: 'no rule applies',
    release: 'kept by a person',
    accept: 'accepts that are not sent, for the rules only observe',
    reject: 'rejects that are not sent, for the rules only observe',
    error: 'an error keeps them from being decided',
  },
  incident: {
    accepts_paused: 'Accepting pauses',
    accepts_wait: 'Accepts wait for data',
    another_daemon: 'Another daemon sends',
    arming_ends: 'An arming ends soon',
    brands_refused: 'A list is refused',
    callback_failed: "The ERP's command fails",
    clock_ahead: 'Times of the service are in the future',
    clock_behind: 'Times of the service are late',
    config_invalid: 'Mistakes in the configuration',
    contradiction: 'The service contradicts itself',
    customers_lost: "The ERP's customers are gone",
    duplicate_reference: 'One reference, two orders',
    evaluation_error: 'Deliveries cannot be decided',
    events_missed: 'Events stay away',
    events_refused: 'Events are refused',
    exchange_locked: 'Receipts cannot be written',
    file_changed: 'A file was changed after it was taken',
    file_grew: 'A file grew after it was taken',
    hold_expired: 'Deliveries are overdue',
    invalid_customer_data: 'A field of customers is wrong',
    level_too_high: 'The account has a lower level',
    login_refused: 'The log-in is refused',
    mass_change: 'Most of a list changed at once',
    never_complete: 'A pull is never complete',
    not_running: 'Selvedge was not running',
    no_currency: 'A currency is not known',
    notify_failed: 'Messages do not arrive',
    order_unreadable: 'An order is not shown',
    orders_unknown: 'Events name unknown orders',
    preorders_unproved: 'Pre-orders wait',
    push_dead: 'A push was given up',
    push_differs: 'The service has it otherwise',
    push_in_doubt: 'A push needs a person',
    push_late: 'A push is late',
    quarantined: 'Rows cannot be read',
    quiet_time_short: 'An effect came late',
    reads_late: 'Orders are read late',
    refund_unconfirmed: 'A refund is not confirmed',
    reject_breaker: 'Rejecting has stopped',
    relay_clock: 'The clocks differ',
    report_failed: 'A report failed',
    revoked_too_often: 'A delivery goes back and forth',
    rules_invalid: 'Mistakes in the rules',
    rules_list: 'A list of customers is incomplete',
    secret_ends: 'The signing secret ends',
    service_put_back: 'Confirmed orders are gone',
    service_silent: 'The service does not answer',
    shared_number: 'Two orders share a number',
    unknown_status: 'A status is not known',
    unreadable_member: 'A value cannot be read',
    worker_failing: 'A part of the daemon fails',
  },
} as const satisfies Readonly<Record<string, Readonly<Record<string, string>>>>;

export type Vocabulary = keyof typeof WORDS;
export type IncidentName = keyof typeof WORDS.incident;

export type PushKind = keyof typeof WORDS.push;

function isPush(name: string): name is PushKind {
  return Object.hasOwn(WORDS.push, name);
}

const [firstPush = 'order', ...otherPushes] = Object.keys(WORDS.push).filter(isPush);

/** Kinds of documents and status changes that the outbox sends. */
export const OUTBOX_KINDS: readonly [PushKind, ...PushKind[]] = [firstPush, ...otherPushes];

function isIncident(name: string): name is IncidentName {
  return Object.hasOwn(WORDS.incident, name);
}

const [firstIncident, ...otherIncidents] = Object.keys(WORDS.incident).filter(isIncident);

/** Kinds of incidents. */
export const INCIDENT_NAMES: readonly [IncidentName, ...IncidentName[]] = [
  firstIncident ?? 'accepts_paused',
  ...otherIncidents,
];

/** Word for a name; one that nobody knows, such as a new status of the service, stays as it is. */
export function wordFor(vocabulary: Vocabulary, name: string): string {
  const words: Readonly<Record<string, string>> = WORDS[vocabulary];
  return Object.hasOwn(words, name) ? (words[name] ?? name) : name;
}

/** Words for what is paused, by a target and its part: `pushes of orders`, `the pull of stock`. */
export function pausedWords({ target, name }: { readonly target: string; readonly name: string }) {
  if (target === 'stream') return `the pull of ${wordFor('stream', name)}`;
  if (target === 'all') return 'everything';
  return name === '' ? target : `${target} of ${wordFor('pushes', name)}`;
}

/** Words for a thing that is named by its kind and key, such as `delivery 500165`. */
export function thingWords(kind: string, key: string): string {
  if (kind === 'stream') return `${WORDS.thing.stream} ${wordFor('stream', key)}`;
  return `${wordFor('thing', kind)} ${key}`.trim();
}

/** Words for what an act was done to, as the audit names it: `run:1`, `pushes:order`. */
export function subjectWords(subject: string): string {
  const [, target, name = ''] = /^(pushes|stream):(.*)$/.exec(subject) ?? [];
  if (target !== undefined) return pausedWords({ target, name });
  const [, kind = '', key = ''] = /^([a-z_]+):(.*)$/.exec(subject) ?? [];
  return kind === '' ? wordFor('thing', subject) : thingWords(kind, key);
}

/** Words for what a push is about; the reference of a decision is made by us and tells nobody. */
export function pushWords(kind: string, reference: string): string {
  const [, delivery] =
    kind === 'delivery_status' ? (/^delivery\/(\d+)\//.exec(reference) ?? []) : [];
  return delivery === undefined ? reference : `delivery ${delivery}`;
}

/** Words for a member of the service's documents: `price in order line items`. */
export function memberWords(path: string): string {
  const spaced = (name: string) =>
    name.replaceAll(/[A-Z]+/g, (hump) => ` ${hump.toLowerCase()}`).trim();
  return path.split('.').reverse().map(spaced).join(' in ');
}

/** Words for the end of one try to send; null: it has none yet. */
export function attemptWords(end: string | null): string {
  return end === null ? 'under way' : wordFor('attempt', end);
}

/** Words for who wrote a row, from its source such as `run:12` or `refresh:event:…`. */
export function sourceWords(source: string): string {
  const [head = '', ...rest] = source.replace(/^refresh:/, '').split(':');
  const key = rest[0] ?? '';
  if (head === 'run') return `run ${key}`;
  if (head === 'sweep') return key === 'quarantine' ? 'rows read again' : `a look of run ${key}`;
  if (head === 'event') return 'an event';
  if (head === 'replay') return 'an event, interpreted again';
  if (head === 'outbox') return key === '' ? 'a push' : `push ${key}`;
  if (head === 'preflight') return 'a look before sending';
  if (head === 'exchange') return 'the ERP';
  if (head === 'forget') return 'the forgetting of people';
  if (head === 'release') return 'a released run';
  return source;
}
