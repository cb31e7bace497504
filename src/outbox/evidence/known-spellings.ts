/**
 * Learns how the service spells references, from documents that it answered or that a person
 * recognised: each gives a pair of a sent and a shown reference. Two pairs teach a spelling; a pair
 * that contradicts it ends it until two agree again. Earlier spellings stay known for documents of
 * their time.
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

/**
 * Equally simple spellings of the same pairs: known is only the text on which all of them agree.
 */
type Agreeing = readonly Spelling[];

export interface KnownSpellings {
  /** Current spellings; undefined: none was learned yet, or the last one was contradicted. */
  readonly now: Agreeing | undefined;
  readonly ever: readonly Agreeing[];
  /** Properties of the references that were answered; how the service shows others is not known. */
  readonly tested: {
    readonly length: number;
    /** Characters in the answered references other than plain letters and digits. */
    readonly signs: ReadonlySet<string>;
  };
}

/**
 * How a shown reference fits a sent one. `equal`: the same text. `spelt`: as the known spelling
 * shows it. `lossy`: letters or digits are lost, so another reference may be shown the same.
 * `blank`: it tells nothing. `no`: it is another reference.
 */
export type Fit = 'equal' | 'spelt' | 'lossy' | 'blank' | 'no';

const PAIRS_MAX = 32;
const GENERATIONS_MAX = 8;
const TAUGHT_BY = 2;

const listSchema = z.array(spellingSchema).min(1);

interface Written {
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

/**
 * Lists the pairs of sent and shown reference of answered or recognised documents, the newest
 * first.
 */
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
  // Without stored spellings, the pairs of answered documents teach directly.
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
 * Whether it is certain how the service shows this reference: references as long, with all of its
 * special characters, were answered.
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

/** Whether the shown reference may be the sent one in another spelling, which is no difference. */
export function isOurs(
  known: KnownSpellings,
  sent: string,
  shown: string | null | undefined,
): boolean {
  return fitOf(known, sent, shown ?? null) !== 'no' || isPlausible({ sent, shown: shown ?? '' });
}

/** Whether the service may show the sent reference like this, now or under an earlier spelling. */
export function mayBeShown({ ever }: KnownSpellings, sent: string, shown: string): boolean {
  if (foldReference(shown) === foldReference(sent)) return true;
  return ever.some((one) => allAccept(one, sent, shown) && !one.some((way) => isBlank(way, sent)));
}

/**
 * Whether the service certainly does not show the sent reference like this; `shown` undefined: it
 * is unreadable, so nothing is certain.
 */
export function isUnlike(known: KnownSpellings, sent: string, shown: string | undefined): boolean {
  if (shown === undefined || !isTested(known, sent)) return false;
  return fitOf(known, sent, shown) === 'no' && !mayBeShown(known, sent, shown);
}

/** Whether the service shows this text for every document, whatever its reference. */
export function tellsNothing({ now }: KnownSpellings, shown: string): boolean {
  return now?.some((one) => one.keep === 'none' && accepts(one, '', shown)) ?? false;
}

/** Texts under which the mirror may have the sent reference, if they identify it. */
export function textsFor({ now }: KnownSpellings, sent: string): string[] {
  const texts = (now ?? []).map((one) => (isLossy(one, sent) ? undefined : spell(one, sent)));
  const [text, ...others] = new Set(texts);
  return text === undefined || text === '' || others.length > 0 ? [] : [text];
}

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

/** Has lookups repeated that were left to a person because a reference did not tell: now it may. */
async function haveLookedAgain(tx: Tx, kind: string, now: number): Promise<void> {
  const last = sql<string>`(select e.detail->>'$.outcome' from outbox_evidence e
    where e.outbox_id = outbox.outbox_id order by e.id desc limit 1)`;
  await tx
    .updateTable('outbox')
    .set({ blocked_reason: null, due_at: now })
    .where('kind', '=', kind)
    .where('state', '=', 'in_doubt')
    .where('ended_at', 'is', null)
    .where('blocked_reason', 'is not', null)
    .where(last, '=', 'possible')
    .execute();
}

/** Learns from a confirmed document, which the service answered or a person recognised. */
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
  // Spellings that explain all earlier pairs as well refine the last ones, so those stay valid.
  const replaces = explained === pairs.length;
  await writeNow(tx, kind, isTaught ? spellings : undefined, { replaces, now });
  if (isTaught) await haveLookedAgain(tx, kind, now);
}

// Pending refunds: some services show the order's reference in place of ours; then the reference
// tells nothing, and the lines must.

export interface RefundReferences {
  readonly known: KnownSpellings;
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

export function isRefundReference(
  references: RefundReferences,
  sent: string,
  shown: string | null | undefined,
): boolean {
  return refundFit(references, sent, shown) === 'blank' || isOurs(references.known, sent, shown);
}
