/**
 * The stream `season`: what can be ordered ahead, one part for each season that the service has
 * right now. The parts are read one after the other; a stop goes on in the middle of one. A season
 * that has gone since it was listed keeps the run from being complete, and no other season back.
 */
import { isNotFound } from '../../client/http/answer.ts';
import { seasonNameOf, type VariantLevel } from '../../client/v1/catalog.ts';
import type { V1Client } from '../../client/v1/client.ts';
import { toError } from '../../lib/errors.ts';
import { isJsonObject, type JsonObject } from '../../lib/json.ts';
import { SEASON } from '../../mirror/catalog/names.ts';
import { barcodeOfKey, seasonOfKey, seasonVariants } from '../../mirror/catalog/variant.ts';
import { writeRows } from '../../mirror/entity.ts';
import { copied } from '../../mirror/members.ts';
import { countsIn, doubtsIn, type Fuse, type Stream, type StreamRun } from '../stream.ts';
import { withoutNameless } from './short-list.ts';
import { countOfPull, type ListPaging } from './stock.ts';

export interface SeasonOptions extends ListPaging {
  readonly level: Required<VariantLevel>;
  readonly fuse: Fuse;
}

/** The list of the seasons themselves, as a part of the counts; no season has that name. */
const ALL_SEASONS = { part: '/', what: 'the list of seasons', unit: 'seasons' };

type Counted = readonly [first: number | null, last: number | null, shortPages: number];

/** What the service counted of each season, as the checkpoint has it. */
function countedIn(member: unknown): Record<string, Counted> {
  if (!isJsonObject(member)) return {};
  const of = (value: unknown): number | null => (typeof value === 'number' ? value : null);
  const pairs = Object.entries(member).map(([name, pair]) => {
    const [first, last, short]: readonly unknown[] = Array.isArray(pair) ? pair : [];
    return [name, [of(first), of(last), of(short) ?? 0]] as const;
  });
  return Object.fromEntries(pairs);
}

async function pullSeason(
  v1: Pick<V1Client, 'seasonVariants'>,
  level: Required<VariantLevel>,
  { run, known, variantPage, call, progress }: StreamRun,
  seasonName: string,
  soFar: JsonObject,
) {
  const { at, next } = run.checkpoint;
  const from = at === seasonName && typeof next === 'number' ? next : undefined;
  const season = { kind: 'season', seasonName } as const;
  const about = { from, known: known(season), onPage: progress };
  const list = v1.seasonVariants(seasonName, level, { ...call, ...about });
  for await (const batch of list.batches) {
    const checkpoint = { ...soFar, at: seasonName, next: batch.next };
    await variantPage(checkpoint, season, batch);
  }
  return list.end();
}

export function createSeasonStream(
  v1: Pick<V1Client, 'seasons' | 'seasonVariant' | 'seasonVariants'>,
  options: SeasonOptions,
): Stream {
  const { mode, pageRows, level, fuse } = options;
  return {
    name: 'season',
    options: { ...level, mode, pageRows },
    list: {
      entity: seasonVariants(''),
      fuse,
      isPaged: mode === 'pages',
      isLong: true,
      partOf: seasonOfKey,
      async lookUp(key, call) {
        const seasonName = seasonOfKey(key);
        const barcode = barcodeOfKey(key);
        const { value } = await v1.seasonVariant(seasonName, barcode, level, call);
        const entity = seasonVariants(seasonName);
        const row = entity.toRow(copied(value));
        return {
          write: (tx, provenance) => writeRows(tx, entity, [row], provenance),
          isSoldOut: value.quantity !== null && value.quantity <= 0,
        };
      },
    },
    async pull(context) {
      const { run, call } = context;
      const { rows, rejects, count } = await v1.seasons(call);
      const doubts = doubtsIn(run.checkpoint);
      // Its name is all that is needed here; what else is odd is a matter of the stream `seasons`.
      const named = withoutNameless({ rows, rejects }, SEASON.wireKey);
      const odd = named.map(({ raw }) => seasonNameOf(raw));
      if (odd.includes(undefined)) doubts.push('a season has no name that can be read');
      const came = rows.length + rejects.length;
      const readable = odd.filter((name) => name !== undefined);
      const names = new Set([...rows.map(({ seasonName }) => seasonName), ...readable]);
      // Rows of the seasons that have been read to their end.
      const done = new Map(Object.entries(countsIn(run.checkpoint.done)));
      const counted = new Map(Object.entries(countedIn(run.checkpoint.counted)));
      for (const name of names) {
        if (done.has(name)) continue;
        const [ended, sums] = [Object.fromEntries(done), Object.fromEntries(counted)];
        const soFar = { done: ended, counted: sums, doubts: [...doubts] };
        try {
          const end = await pullSeason(v1, level, context, name, soFar);
          done.set(name, end.rows);
          counted.set(name, [end.countFirst ?? null, end.count ?? null, end.shortPages]);
        } catch (error) {
          if (!isNotFound(error)) throw error;
          const lost = `${name} is listed, and cannot be found: ${toError(error).message}`;
          if (!doubts.includes(lost)) doubts.push(lost);
        }
      }
      const parts = new Map([...done].filter(([name]) => names.has(name)));
      // What has come of a season before it went is in no count.
      const isWhole = [...names].every((name) => done.has(name));
      const rowsOfAll = [...done.values()].reduce((sum, of) => sum + of, 0);
      const ofSeasons = [...parts].map(([name, rows]) => {
        const [first, last, shortPages = 0] = counted.get(name) ?? [];
        const told = { countFirst: first ?? undefined, count: last ?? undefined, rows, shortPages };
        return countOfPull(told, name, name);
      });
      const counts = [{ ...ALL_SEASONS, first: count, last: count, came }, ...ofSeasons];
      return { expectedRows: isWhole ? rowsOfAll : undefined, counts, doubts, parts };
    },
  };
}
