/**
 * Asks the service for articles that the mirror does not know: they may be new, or back, since the
 * last pull. Articles that it has enter the mirror; only the answer "there is no such barcode"
 * proves an absence. One check asks for a limited number; for more, and if the service does not
 * answer for single articles, the next complete pull of the list decides.
 */
import type { CallOptions } from '../../client/calls.ts';
import { isNotFound } from '../../client/http/answer.ts';
import type { Listing } from '../../client/v1/calls.ts';
import type { StockLevel, VariantLevel } from '../../client/v1/catalog.ts';
import type { V1Client } from '../../client/v1/client.ts';
import type { Variant } from '../../client/v1/schemas.ts';
import type { ShortListName } from '../../client/v1/short-lists.ts';
import type { Clock } from '../../lib/clock.ts';
import { RetryLaterError } from '../../lib/errors.ts';
import { formatDuration } from '../../lib/units.ts';
import {
  writeSeasonVariants,
  writeShortList,
  writeStockVariants,
} from '../../mirror/catalog/out-of-band.ts';
import type { ReadSequence } from '../../store/state.ts';
import type { Store } from '../../store/store.ts';
import { isUnreadable, messageOf } from '../service.ts';

export interface ArticlesDeps {
  readonly store: Store;
  readonly clock: Clock;
  readonly v1: Pick<V1Client, 'stockVariant' | 'seasonVariant'>;
  readonly sequence: ReadSequence;
  /** Detail levels of the pulls: a read with less detail would empty columns of the mirror. */
  readonly levels: { readonly stock: StockLevel; readonly season: VariantLevel };
  readonly requestRun: (stream: 'stock' | 'season') => Promise<void>;
}

export interface Asked {
  /** Barcodes that the service has, even if their rows could not be read, with its answers. */
  readonly vouched: ReadonlyMap<string, string>;
  /** Barcodes that could not be asked for yet, with the reasons. */
  readonly open: ReadonlyMap<string, string>;
}

export interface Articles {
  /**
   * Asks the service for articles. Absences seen before `since`, when the order came, prove
   * nothing. Rejects when the service cannot be reached.
   */
  ask(
    barcodes: readonly string[],
    seasonName: string | undefined,
    since: number,
    signal: AbortSignal,
  ): Promise<Asked>;
}

export const ASKED_MAX = 200;
const BATCH = 10;
/** Milliseconds for which an absence counts for any order. */
const FRESH_MS = 5_000;
const ABSENCES_MAX = 10_000;
const SOURCE = 'refresh:preflight';

type Answer =
  | { readonly barcode: string; readonly is: 'there'; readonly variant: Variant }
  | { readonly barcode: string; readonly is: 'absent' }
  | { readonly barcode: string; readonly is: 'unanswered'; readonly why: string };

/**
 * Tells whether what was read at `at` counts for an order that came at `since`. A time in the
 * future is one from before the clock was set back, and says nothing.
 */
function countsStill(at: number, since: number, now: number): boolean {
  return at <= now && at >= Math.min(since, now - FRESH_MS);
}

/**
 * Remembers absences that the service has stated, by season and barcode, with the start of the
 * read.
 */
function createAbsences(clock: Clock) {
  const seen = new Map<string, number>();
  const keyOf = (barcode: string, seasonName: string | undefined): string =>
    JSON.stringify([seasonName ?? null, barcode]);
  return {
    has(barcode: string, seasonName: string | undefined, since: number): boolean {
      const at = seen.get(keyOf(barcode, seasonName)) ?? Number.NEGATIVE_INFINITY;
      return countsStill(at, since, clock.now());
    },
    note(barcode: string, seasonName: string | undefined, at: number): void {
      const key = keyOf(barcode, seasonName);
      seen.delete(key);
      seen.set(key, at);
      const [oldest] = seen.keys();
      if (seen.size > ABSENCES_MAX && oldest !== undefined) seen.delete(oldest);
    },
    forget: (barcode: string, seasonName: string | undefined) =>
      seen.delete(keyOf(barcode, seasonName)),
  };
}

async function read(
  { v1, levels }: ArticlesDeps,
  barcode: string,
  seasonName: string | undefined,
  signal: AbortSignal,
): Promise<Answer> {
  const call = { priority: 'read', signal } as const;
  try {
    const { value } =
      seasonName === undefined
        ? await v1.stockVariant(barcode, levels.stock, call)
        : await v1.seasonVariant(seasonName, barcode, levels.season, call);
    return { barcode, is: 'there', variant: value };
  } catch (error) {
    if (isNotFound(error)) return { barcode, is: 'absent' };
    if (!isUnreadable(error)) throw error;
    return { barcode, is: 'unanswered', why: messageOf(error) };
  }
}

/** Whether the list was pulled completely, from its first row on, after the order came. */
async function isListNewer({ db }: Store, stream: string, since: number): Promise<boolean> {
  const row = await db
    .selectFrom('stream_state')
    .select('complete_at')
    .where('stream', '=', stream)
    .executeTakeFirst();
  return (row?.complete_at ?? Number.NEGATIVE_INFINITY) >= since;
}

export function createArticles(deps: ArticlesDeps): Articles {
  const { store, clock, sequence, requestRun } = deps;
  const absences = createAbsences(clock);

  const readBatch = async (
    barcodes: readonly string[],
    seasonName: string | undefined,
    signal: AbortSignal,
  ): Promise<readonly Answer[]> => {
    const startedAt = clock.now();
    const readSeq = await sequence.next();
    const answers = await Promise.all(
      barcodes.map((barcode) => read(deps, barcode, seasonName, signal)),
    );
    const variants = answers.flatMap((one) => (one.is === 'there' ? [one.variant] : []));
    if (variants.length > 0) {
      await store.transaction(async (tx) => {
        const provenance = { source: SOURCE, readSeq, at: clock.now() };
        if (seasonName === undefined) await writeStockVariants(tx, variants, provenance);
        else await writeSeasonVariants(tx, seasonName, variants, provenance);
      });
    }
    for (const { barcode, is } of answers) {
      if (is === 'absent') absences.note(barcode, seasonName, startedAt);
      if (is === 'there') absences.forget(barcode, seasonName);
    }
    return answers;
  };

  return {
    async ask(barcodes, seasonName, since, signal) {
      const stream = seasonName === undefined ? 'stock' : 'season';
      const unknown = barcodes.filter((one) => !absences.has(one, seasonName, since));
      const wanted = unknown.slice(0, ASKED_MAX);
      const vouched = new Map<string, string>();
      const unanswered = new Map<string, string>();
      for (let start = 0; start < wanted.length; start += BATCH) {
        const batch = wanted.slice(start, start + BATCH);
        const answers = await readBatch(batch, seasonName, signal);
        for (const answer of answers) {
          const { barcode } = answer;
          if (answer.is === 'unanswered') unanswered.set(barcode, answer.why);
          if (answer.is !== 'there') continue;
          const { barcode: shown } = answer.variant;
          vouched.set(barcode, `the service has it${shown === barcode ? '' : ` as ${shown}`}`);
        }
        if (!answers.every(({ is }) => is === 'unanswered')) continue;
        const why = unanswered.get(batch[0] ?? '') ?? '';
        for (const one of wanted.slice(start)) unanswered.set(one, why);
        break;
      }
      if (unanswered.size > 0 && (await isListNewer(store, stream, since))) unanswered.clear();
      const beyond = unknown.slice(ASKED_MAX);
      const why = `one check asks the service for ${ASKED_MAX} articles`;
      const open = new Map([...unanswered, ...beyond.map((one) => [one, why] as const)]);
      if (open.size > 0) await requestRun(stream);
      return { vouched, open };
    },
  };
}

// Short lists (seasons, freight) are read once more before an order is refused for a name that the
// mirror does not have, because the name may be new since the last pull.

export interface ShortListsDeps {
  readonly store: Store;
  readonly clock: Clock;
  readonly read: (name: ShortListName, call: CallOptions) => Promise<Listing<unknown>>;
  readonly sequence: ReadSequence;
}

export interface ShortLists {
  /**
   * Reads a short list, unless it was read after `since`, when the order came. Rejects when the
   * service cannot be reached, or a cache on the way answers with an older list.
   */
  refresh(name: ShortListName, since: number, signal: AbortSignal): Promise<void>;
}

/** Waits for the work, but no longer than until the signal aborts; then rejects with its reason. */
async function unlessAborted(work: Promise<void>, signal: AbortSignal): Promise<void> {
  const aborted = Promise.withResolvers<never>();
  const onAbort = (): void => aborted.reject(signal.reason);
  if (signal.aborted) onAbort();
  signal.addEventListener('abort', onAbort, { once: true });
  try {
    await Promise.race([work, aborted.promise]);
  } finally {
    signal.removeEventListener('abort', onAbort);
  }
}

function outOfCache(name: ShortListName, ageMs: number): RetryLaterError {
  const age = formatDuration(Math.max(0, ageMs));
  const text = `a cache on the way answers with the list of ${name} as it was ${age} ago`;
  return new RetryLaterError('outbox.list_from_cache', text, {
    hint: `let no proxy keep answers of the service; the order waits for a newer list`,
  });
}

export function createShortLists({
  store,
  clock,
  read: readList,
  sequence,
}: ShortListsDeps): ShortLists {
  const readAt = new Map<ShortListName, number>();
  const reading = new Map<ShortListName, Promise<void>>();

  const read = async (name: ShortListName): Promise<void> => {
    const readSeq = await sequence.next();
    const call = { priority: 'read' } as const;
    const list = await readList(name, call);
    await store.transaction(async (tx) => {
      const provenance = { source: 'refresh:preflight', readSeq, at: clock.now() };
      await writeShortList(tx, name, list, provenance);
    });
    readAt.set(name, list.startedAt);
  };

  return {
    async refresh(name, since, signal) {
      const isFresh = (): boolean =>
        countsStill(readAt.get(name) ?? Number.NEGATIVE_INFINITY, since, clock.now());
      // A read that is in progress may have begun before the order came; the next one has not.
      const before = reading.get(name);
      if (before && !isFresh()) await unlessAborted(before, signal);
      if (isFresh()) return;
      // The shared read has no signal of an order: one order that gives up must not end it for the
      // others.
      const shared = reading.get(name) ?? read(name).finally(() => reading.delete(name));
      reading.set(name, shared);
      await unlessAborted(shared, signal);
      if (!isFresh()) throw outOfCache(name, clock.now() - (readAt.get(name) ?? since));
    },
  };
}
