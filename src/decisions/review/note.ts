/** Notes of people about a delivery, and who sees to it: for the next one who looks at it. */
import { RefusedError } from '../../lib/errors.ts';
import { type Actor, writeAudit } from '../../store/audit.ts';
import type { Db, Tx } from '../../store/store.ts';

export interface DeliveryNote {
  readonly text: string;
  readonly author: string;
  readonly at: number;
}

export interface Assignment {
  readonly name: string;
  /** The person who said so. */
  readonly actor: string;
  readonly at: number;
}

/** Words in the place of a name: the person who asks, and no person. */
export const ME = 'me';
export const NOBODY = 'nobody';

/** The name of a person as others know it, without the door by which he came. */
export function nameOf(actor: string): string {
  return actor.replace(/^(?:cli|token):/, '');
}

/** The notes about a delivery, the oldest first. */
export async function notesOf(db: Db, orderDeliveryId: number): Promise<DeliveryNote[]> {
  return db
    .selectFrom('delivery_note')
    .select(['text', 'author', 'at'])
    .where('order_delivery_id', '=', orderDeliveryId)
    .orderBy('note_id')
    .execute();
}

export async function assignmentOf(
  db: Db | Tx,
  orderDeliveryId: number,
): Promise<Assignment | null> {
  const row = await db
    .selectFrom('delivery_assignment')
    .select(['name', 'actor', 'at'])
    .where('order_delivery_id', '=', orderDeliveryId)
    .executeTakeFirst();
  return row ?? null;
}

type Who = Omit<Actor, 'reason'>;

/**
 * The latest note that this person wrote about the delivery: another's may be one that nobody has
 * seen yet. Throws RefusedError where there is none.
 */
export async function ownNote(
  db: Db | Tx,
  orderDeliveryId: number,
  actor: string,
): Promise<number> {
  const rows = await db
    .selectFrom('delivery_note')
    .select(['note_id', 'author'])
    .where('order_delivery_id', '=', orderDeliveryId)
    .orderBy('note_id', 'desc')
    .execute();
  const own = rows.find(({ author }) => nameOf(author) === nameOf(actor));
  if (own) return own.note_id;
  throw new RefusedError('note.not_yours', `delivery ${orderDeliveryId} has no note of yours`, {
    hint: 'notes of others stay; write below them what has changed',
  });
}

async function writeAct(tx: Tx, action: string, id: number, who: Who, at: number) {
  // The text stays out of the audit: a note may tell of people, and no audit row is ever removed.
  const act = { action: `delivery.${action}`, subject: `delivery:${id}` };
  await writeAudit(tx, { actor: who.actor, reason: '', via: who.via, ...act }, at);
}

/** Adds a note; an empty text takes the latest of the writer's own away. */
export async function writeNote(
  tx: Tx,
  orderDeliveryId: number,
  text: string,
  who: Who,
  at: number,
): Promise<void> {
  const row = { order_delivery_id: orderDeliveryId, text, author: who.actor, at };
  if (text === '') {
    const noteId = await ownNote(tx, orderDeliveryId, who.actor);
    await tx.deleteFrom('delivery_note').where('note_id', '=', noteId).execute();
  } else await tx.insertInto('delivery_note').values(row).execute();
  await writeAct(tx, 'note', orderDeliveryId, who, at);
}

/** Says who sees to the delivery from now on; null: nobody does. */
export async function writeAssignment(
  tx: Tx,
  orderDeliveryId: number,
  name: string | null,
  who: Who,
  at: number,
): Promise<void> {
  if (name === null) {
    await tx
      .deleteFrom('delivery_assignment')
      .where('order_delivery_id', '=', orderDeliveryId)
      .execute();
  } else {
    const row = { name, actor: who.actor, at };
    await tx
      .insertInto('delivery_assignment')
      .values({ order_delivery_id: orderDeliveryId, ...row })
      .onConflict((conflict) => conflict.column('order_delivery_id').doUpdateSet(row))
      .execute();
  }
  await writeAct(tx, 'assign', orderDeliveryId, who, at);
}

const NAMES_MAX = 100;

/** Names of people who can see to deliveries: those who do, and those who were at the console. */
export async function knownNames(db: Db): Promise<readonly string[]> {
  const rows = await db
    .selectFrom('delivery_assignment')
    .select('name')
    .union((eb) => eb.selectFrom('console_session').select('name').where('way', '!=', 'token'))
    .orderBy('name')
    .limit(NAMES_MAX)
    .execute();
  return rows.map(({ name }) => name);
}
