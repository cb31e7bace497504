/**
 * Forgets the people in one order: names, addresses, telephone numbers, e-mails and comments. Each
 * room blanks its own tables, all of them in one transaction with the audit row; exchange.db goes
 * first, because it may be locked, and each step may be done twice. At the end the files of the
 * data folder hold none of it, except for copies, which are named.
 */
import { readdirSync } from 'node:fs';
import { join } from 'node:path';
import type { Config } from '../../config/schema.ts';
import { forgetDecisions, waitingRejects } from '../../decisions/forget.ts';
import { forgetEvents } from '../../inbox/forget.ts';
import type { Clock } from '../../lib/clock.ts';
import { RefusedError } from '../../lib/errors.ts';
import {
  forgetMirrored,
  keysOfOrder,
  type OrderKeys,
  ordersNamed,
  unfinishedParts,
  wordsOfOrder,
} from '../../mirror/forget.ts';
import {
  forgetPushes,
  type OwnPush,
  pushesOf,
  withoutReceipts,
  wordsOfPushes,
} from '../../outbox/forget.ts';
import { forgetFiles } from '../../outbox/intake/folder-channel.ts';
import type { Forgotten, OrderOperations } from '../../outbox/surface.ts';
import { type Actor, writeAudit } from '../../store/audit.ts';
import { backupDirectory, listBackups } from '../../store/backup/manifest.ts';
import {
  type Exchange,
  exchangeFile,
  isWithoutContent,
  openExchange,
} from '../../store/exchange/exchange.ts';
import { forgetIncidents, openAbout } from '../../store/incidents.ts';
import type { Db, SqliteStore, Tx } from '../../store/store.ts';
import { forgetQuotes } from '../../store/tables/people.ts';

export interface ForgetDeps {
  readonly config: Config;
  readonly store: SqliteStore;
  readonly clock: Clock;
}

interface Subject {
  readonly orderId: number | null;
  readonly reference: string | null;
  readonly keys: OrderKeys;
  readonly pushes: readonly OwnPush[];
}

function ambiguous(name: string, ids: readonly number[]): RefusedError {
  const message = `more than one order has the reference ${name}: ${ids.join(' and ')}`;
  const hint = `name it by its id: ${ids.map((id) => `id:${id}`).join(' or ')}`;
  return new RefusedError('orders.ambiguous', message, { hint });
}

/** Finds the order in the mirror, and the documents that were submitted for it. */
async function subjectOf(db: Db, name: string): Promise<Subject> {
  const orders = await ordersNamed(db, name);
  if (orders.length > 1) {
    throw ambiguous(
      name,
      orders.map(({ orderId }) => orderId),
    );
  }
  const [order] = orders;
  const given = name.startsWith('id:') ? null : name;
  const reference = order?.reference ?? given;
  const pushes = await pushesOf(db, { orderId: order?.orderId ?? null, reference });
  const orderId = order?.orderId ?? null;
  const keys: OrderKeys = orderId === null ? new Map() : await keysOfOrder(db, orderId);
  const unread = order ? undefined : pushes.find((push) => push.orderId !== null)?.orderId;
  if (unread !== undefined) {
    const message = `order ${unread} has not been read back from the service yet`;
    throw new RefusedError('orders.under_way', message, {
      hint: 'wait for the next pull ("selvedge sync run orders"), then forget it',
    });
  }
  return { orderId, reference, keys, pushes };
}

function referencesOf({ reference, pushes }: Subject): string[] {
  return [reference, ...pushes.map((push) => push.reference)].flatMap((one) => one ?? []);
}

function thingsOf({ keys, pushes }: Subject) {
  return new Map([...keys, ['outbox', pushes.map(({ outboxId }) => outboxId)] as const]);
}

/** Refuses while anything of the order is still to happen, which needs the data. */
async function requireOver(
  db: Db | Tx,
  subject: Subject,
  documentStates: readonly string[],
): Promise<void> {
  const { orderId, pushes, reference } = subject;
  const open = [
    ...(orderId === null ? [] : await unfinishedParts(db, orderId)),
    ...(orderId === null ? [] : await waitingRejects(db, orderId)),
    ...pushes.flatMap(({ isOpen, outboxId, kind, state }) =>
      isOpen ? [`push ${outboxId} (${kind}) is ${state}`] : [],
    ),
    ...documentStates.map((state) => `a document in exchange.db is ${state}`),
    ...(await openAbout(db, thingsOf(subject))),
  ];
  if (open.length === 0) return;
  const name = reference ?? `order ${orderId}`;
  const message = `${name} is still under way: ${open.join('; ')}`;
  throw new RefusedError('orders.under_way', message, {
    hint:
      'let it end, or end it ("selvedge deliveries list", "selvedge outbox list --open", ' +
      '"selvedge status"); then forget it',
  });
}

/** Copies of the databases that forgetting cannot reach. */
function copiesOf(config: Config, now: number): string[] {
  const { dataDir, store } = config;
  const replaced = readdirSync(dataDir).filter((name) => name.includes('.db.before-'));
  const directory = backupDirectory(config);
  const backups = listBackups(directory, now).length;
  return [
    ...replaced.map((name) => `${join(dataDir, name)}: delete it when you need it no more`),
    ...(backups === 0
      ? []
      : [`${backups} backups in ${directory}: gone after ${store.backup.keep} more`]),
  ];
}

function openIfThere({ config, clock }: ForgetDeps): Exchange | undefined {
  const path = exchangeFile(config);
  return isWithoutContent(path) ? undefined : openExchange(path, clock);
}

async function forgetInMirror(
  { store, clock }: ForgetDeps,
  subject: Subject,
  who: Actor,
): Promise<Pick<Forgotten, 'decisions' | 'events'>> {
  const { orderId, reference, keys, pushes } = subject;
  const outboxIds = pushes.map(({ outboxId }) => outboxId);
  const references = referencesOf(subject);
  return store.transaction(async (tx) => {
    await requireOver(tx, subject, []);
    const now = clock.now();
    const ofOrder = orderId === null ? undefined : await wordsOfOrder(tx, orderId);
    const ofPushes = await wordsOfPushes(tx, outboxIds);
    let decisions = 0;
    let events = 0;
    if (orderId !== null) {
      await forgetMirrored(tx, orderId, keys, now);
      decisions = await forgetDecisions(tx, orderId, keys.get('delivery') ?? []);
      events = await forgetEvents(tx, orderId);
    }
    await withoutReceipts(tx, async () => {
      await forgetPushes(tx, outboxIds, references, orderId);
      // Where nothing tells of a person any more, quotations are about others.
      if (ofOrder ?? ofPushes) await forgetQuotes(tx, [...(ofOrder ?? []), ...(ofPushes ?? [])]);
    });
    await forgetIncidents(tx, thingsOf(subject));
    const named = orderId === null ? `reference:${reference}` : `order:${orderId}`;
    const detail = { reference, decisions, events, pushes: outboxIds.length };
    await writeAudit(tx, { ...who, action: 'orders.forget', subject: named, detail }, now);
    return { decisions, events };
  });
}

/**
 * Finds what is stored of the order.
 * @throws RefusedError where nothing is, or where something of the order is under way
 */
async function found({ store }: ForgetDeps, name: string, exchange: Exchange | undefined) {
  const subject = await subjectOf(store.db, name);
  const { orderId, reference, pushes } = subject;
  store.requireRoomToWriteAgain();
  const own = { documentIds: pushes.map(({ outboxId }) => outboxId), reference, orderId };
  const { open, final } = exchange?.statesOf(own) ?? { open: [], final: 0 };
  await requireOver(store.db, subject, open);
  if (orderId === null && pushes.length === 0 && final === 0) {
    throw new RefusedError('orders.unknown', `nothing is stored of an order ${name}`, {
      hint: 'name it by its reference, or by its id as id:500123',
    });
  }
  return { subject, own, documents: final };
}

/** Forgets the people in the order with this reference (or `id:7`). Repeating it is harmless. */
async function forgetOrder(deps: ForgetDeps, name: string, who: Actor): Promise<Forgotten> {
  const { config, store, clock } = deps;
  using exchange = openIfThere(deps);
  const { subject, own } = await found(deps, name, exchange);
  const { orderId, reference } = subject;
  const documents = exchange?.forgetDocuments(own) ?? 0;
  await exchange?.writeAgain();
  const { decisions, events } = await forgetInMirror(deps, subject, who);
  const { path } = config.intake.folder;
  if (path !== null) await forgetFiles(store, path, own.documentIds, referencesOf(subject));
  const isGone = await store.writeAgain();
  const held = `${store.path}-wal: a program reads the database; end it ("selvedge doctor"), again`;
  const copies = [...(isGone ? [] : [held]), ...copiesOf(config, clock.now())];
  return { reference, orderId, decisions, events, documents, copies };
}

export function createForgetting(deps: ForgetDeps): OrderOperations {
  return {
    forget: (name, who) => forgetOrder(deps, name, who),
    async previewForget(name) {
      using exchange = openIfThere(deps);
      const { subject, documents } = await found(deps, name, exchange);
      const { reference, orderId, keys, pushes } = subject;
      const deliveries = keys.get('delivery')?.length ?? 0;
      const copies = copiesOf(deps.config, deps.clock.now());
      return { reference, orderId, deliveries, pushes: pushes.length, documents, copies };
    },
  };
}
