/**
 * The spellings of references that answered documents have taught, in the store. A document that
 * the service answered, or that a person has recognised, is a pair: what was sent, what is shown.
 * Two pairs teach a spelling; a pair that contradicts ends it until two agree again. What was
 * learned before stays known, for documents that were sent then.
 */
import { sql } from 'kysely';
import { z } from 'zod';
import { tryParseJson } from '../../lib/json.ts';
import type { Db, Tx } from '../../store/store.ts';
import {
  accepts,
  explainNewest,
  foldReference,
  isBlank,
  isLossy,
  isPlausible,
  type Pair,
  type Spelling,
  spell,
  spellingSchema,
} from './spelling.ts';

/** Equally simple ones: what they agree on is known. */
type Agreeing = readonly Spelling[];

export interface KnownSpellings {
  /** Undefined: nothing was learned yet, or it holds no more. */
  readonly now: Agreeing | undefined;
  /** The one of now as well. */
  readonly ever: readonly Agreeing[];
  /** What the answered references had in them: of others nobody has seen what is made. */
  readonly tested: {
    readonly length: number;
    /** Characters but for plain letters and digits. */
    readonly signs: ReadonlySet<string>;
  };
}

/**
 * How a shown reference fits ours. `lossy`: letters or digits of ours are lost in it, so that
 * another one may be shown the same. `blank`: it tells nothing.
 */
export type Fit = 'equal' | 'spelt' | 'lossy' | 'blank' | 'no';

const PAIRS_MAX = 32;
const GENERATIONS_MAX = 8;
const TAUGHT_BY = 2;

const listSchema = z.array(spellingSchema).min(1);

interface Written {
  /** Undefined: nothing holds now. */
  readonly present: Agreeing | undefined;
  readonly ever: readonly Agreeing[];
}

async function written(db: Db | Tx, kind: string): Promise<Written> {
  const rows = await db
    .selectFrom('reference_spelling')
    .select(['id', 'spellings', 'ended_at'])
    .where('kind', '=', kind)
    .orderBy('id', 'desc')
    .limit(GENERATIONS_MAX)
    .execute();
  let present: Agreeing | undefined;
  const ever: Agreeing[] = [];
  for (const row of rows) {
    const parsed = listSchema.safeParse(tryParseJson(row.spellings));
    if (!parsed.success) continue;
    ever.push(parsed.data);
    if (row.ended_at === null) present = parsed.data;
  }
  return { present, ever };
}

/** Documents that were answered, or that a person has recognised, the newest first. */
async function answeredPairs(db: Db | Tx, kind: string): Promise<Pair[]> {
  const rows = await db
    .selectFrom('outbox as o')
    .select(['o.reference', 'o.shown_reference'])
    .where('o.kind', '=', kind)
    .where('o.state', '=', 'confirmed')
    .where('o.shown_reference', 'is not', null)
    .where(
      sql<boolean>`(exists (select 1 from outbox_attempt a
          where a.outbox_id = o.outbox_id and a.class = 'done')
        or exists (select 1 from outbox_evidence e
          where e.outbox_id = o.outbox_id and e.source = 'person' and e.outcome = 'matched'))`,
    )
    .orderBy('o.ended_at', 'desc')
    .limit(PAIRS_MAX)
    .execute();
  return rows.map(({ reference, shown_reference: shown }) => ({
    sent: reference,
    shown: shown ?? '',
  }));
}

export async function knownSpellings(db: Db | Tx, kind: string): Promise<KnownSpellings> {
  const { present, ever } = await written(db, kind);
  const pairs = await answeredPairs(db, kind);
  if (ever.length > 0) return { now: present, ever, tested: testedBy(present, pairs) };
  // Documents that were answered before anything was written down teach as well.
  const { spellings, explained } = explainNewest(pairs);
  const now = explained >= TAUGHT_BY ? spellings : undefined;
  return { now, ever: now ? [now] : [], tested: testedBy(now, pairs) };
}

function signsOf(reference: string): string[] {
  return foldReference(reference).match(/[^a-z0-9]/gu) ?? [];
}

function testedBy(now: Agreeing | undefined, pairs: readonly Pair[]): KnownSpellings['tested'] {
  const explained = pairs.filter(({ sent, shown }) => now && allAccept(now, sent, shown));
  return {
    length: Math.max(0, ...explained.map(({ sent }) => sent.length)),
    signs: new Set(explained.flatMap(({ sent }) => signsOf(sent))),
  };
}

/**
 * Whether it is known for certain how this one is shown: references as long as it, with all signs
 * that it has, were answered.
 */
export function isTested({ now, tested }: KnownSpellings, sent: string): boolean {
  if (now === undefined || sent.length > tested.length) return false;
  return signsOf(sent).every((sign) => tested.signs.has(sign));
}

function allAccept(spellings: Agreeing, sent: string, shown: string): boolean {
  return spellings.every((one) => accepts(one, sent, shown));
}

export function fitOf({ now }: KnownSpellings, sent: string, shown: string | null): Fit {
  const folded = foldReference(shown ?? '');
  if (folded === '') return 'blank';
  if (folded === foldReference(sent)) return 'equal';
  if (!now || !allAccept(now, sent, folded)) return 'no';
  if (now.some((one) => isBlank(one, sent))) return 'blank';
  return now.some((one) => isLossy(one, sent)) ? 'lossy' : 'spelt';
}

/** Whether it may be shown so, by what is known now or was at any time. */
export function mayBeShown({ ever }: KnownSpellings, sent: string, shown: string): boolean {
  if (foldReference(shown) === foldReference(sent)) return true;
  return ever.some((one) => allAccept(one, sent, shown) && !one.some((way) => isBlank(way, sent)));
}

/** Whether it is known that ours is not shown so; undefined: that cannot be read. */
export function isUnlike(known: KnownSpellings, sent: string, shown: string | undefined): boolean {
  if (shown === undefined || !isTested(known, sent)) return false;
  return fitOf(known, sent, shown) === 'no' && !mayBeShown(known, sent, shown);
}

/** Whether every document is shown with this text, whatever its reference. */
export function tellsNothing({ now }: KnownSpellings, shown: string): boolean {
  return now?.some((one) => one.keep === 'none' && accepts(one, '', shown)) ?? false;
}

/** Texts under which a mirror may have it; not those that tell too little. */
export function textsFor({ now }: KnownSpellings, sent: string): string[] {
  const texts = (now ?? []).map((one) => (isLossy(one, sent) ? undefined : spell(one, sent)));
  const [text, ...others] = new Set(texts);
  return text === undefined || text === '' || others.length > 0 ? [] : [text];
}

/** Writes what holds now; undefined: nothing does. */
async function writeNow(
  tx: Tx,
  kind: string,
  spellings: Agreeing | undefined,
  { replaces, now }: { readonly replaces: boolean; readonly now: number },
): Promise<void> {
  const present = tx
    .updateTable('reference_spelling')
    .where('kind', '=', kind)
    .where('ended_at', 'is', null);
  const text = spellings && JSON.stringify(spellings);
  if (text !== undefined && replaces) {
    const { numUpdatedRows } = await present.set({ spellings: text }).executeTakeFirst();
    if (numUpdatedRows > 0n) return;
  }
  await present.set({ ended_at: now }).execute();
  if (text === undefined) return;
  const row = { kind, spellings: text, learned_at: now, ended_at: null };
  await tx.insertInto('reference_spelling').values(row).execute();
}

/** What is left to a person because a reference does not tell may be told by what is known now. */
async function haveLookedAgain(tx: Tx, kind: string, now: number): Promise<void> {
  const last = sql<string>`(select e.detail->>'$.found' from outbox_evidence e
    where e.outbox_id = outbox.outbox_id order by e.id desc limit 1)`;
  await tx
    .updateTable('outbox')
    .set({ blocked_reason: null, due_at: now })
    .where('kind', '=', kind)
    .where('state', '=', 'in_doubt')
    .where('ended_at', 'is', null)
    .where('blocked_reason', 'is not', null)
    .where(last, '=', 'maybe')
    .execute();
}

/**
 * Learns from a document that was answered, or that a person has recognised, and has just been
 * confirmed as it is shown.
 */
export async function learnSpelling(
  tx: Tx,
  kind: string,
  { sent, shown }: Pair,
  now: number,
): Promise<void> {
  const { present } = await written(tx, kind);
  if (present && allAccept(present, sent, shown)) return;
  const pairs = await answeredPairs(tx, kind);
  const { spellings, explained } = explainNewest(pairs);
  const isTaught = explained >= TAUGHT_BY;
  // What explains all that came before was only incomplete, and did not end.
  const replaces = explained === pairs.length;
  await writeNow(tx, kind, isTaught ? spellings : undefined, { replaces, now });
  if (isTaught) await haveLookedAgain(tx, kind, now);
}

// Pending refunds: some services show the order's reference in place of ours; then the reference
// tells nothing, and the lines must.

export interface RefundReferences {
  readonly known: KnownSpellings;
  /** References of the order itself, folded. */
  readonly ofOrder: ReadonlySet<string>;
}

export async function orderReferences(db: Db, orderId: number): Promise<ReadonlySet<string>> {
  const mirrored = await db
    .selectFrom('sales_order')
    .select('reference')
    .where('order_id', '=', orderId)
    .executeTakeFirst();
  const own = await db
    .selectFrom('outbox')
    .select('reference')
    .where('order_id', '=', orderId)
    .where(sql<string>`+kind`, '=', 'order')
    .executeTakeFirst();
  const texts = [mirrored?.reference, own?.reference].map((text) => foldReference(text ?? ''));
  return new Set(texts.filter((text) => text !== ''));
}

export function refundFit(
  { known, ofOrder }: RefundReferences,
  sent: string,
  shown: string | null | undefined,
): Fit {
  if (ofOrder.has(foldReference(shown ?? ''))) return 'blank';
  return fitOf(known, sent, shown ?? null);
}

/** Whether what is shown may be how the service shows ours: then it is no difference. */
export function isRefundReference(
  references: RefundReferences,
  sent: string,
  shown: string | null | undefined,
): boolean {
  const isOurs = refundFit(references, sent, shown) !== 'no';
  return isOurs || isPlausible({ sent, shown: shown ?? '' });
}
