/**
 * The stream `season`: what can be ordered ahead, one part for each season that the service has
 * right now. The parts are read one after the other; a stop goes on in the middle of one. A season
 * that has gone since it was listed keeps the run from being complete, and no other season back.
 */
import { isNotFound } from '../../client/http/answer.ts';
import { seasonNameOf, type VariantLevel } from '../../client/v1/catalog.ts';
import type { V1Client } from '../../client/v1/client.ts';
import { toError } from '../../lib/errors.ts';
import type { JsonObject } from '../../lib/json.ts';
import { seasonOfKey, seasonVariants } from '../../mirror/catalog/variant.ts';
import { countsIn, doubtsIn, type Fuse, type Stream, type StreamRun } from '../stream.ts';
import { doubtsOfPull, type ListPaging } from './stock.ts';

export interface SeasonOptions extends ListPaging {
  readonly level: Required<VariantLevel>;
  readonly fuse: Fuse;
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
  v1: Pick<V1Client, 'seasons' | 'seasonVariants'>,
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
    },
    async pull(context) {
      const { run, call } = context;
      const { rows, rejects, count } = await v1.seasons(call);
      const doubts = doubtsIn(run.checkpoint);
      // Its name is all that is needed here; what else is odd is a matter of the stream `seasons`.
      const odd = rejects.map(({ raw }) => seasonNameOf(raw));
      if (odd.includes(undefined)) doubts.push('a season has no name that can be read');
      const came = rows.length + rejects.length;
      if (count !== undefined && count !== came) {
        doubts.push(`the service counts ${count} seasons, ${came} came`);
      }
      const readable = odd.filter((name) => name !== undefined);
      const names = new Set([...rows.map(({ seasonName }) => seasonName), ...readable]);
      // Rows of the seasons that have been read to their end.
      const done = new Map(Object.entries(countsIn(run.checkpoint.done)));
      for (const name of names) {
        if (done.has(name)) continue;
        const soFar = { done: Object.fromEntries(done), doubts: [...doubts] };
        try {
          const end = await pullSeason(v1, level, context, name, soFar);
          doubts.push(...doubtsOfPull(end, name));
          done.set(name, end.rows);
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
      return { expectedRows: isWhole ? rowsOfAll : undefined, doubts, parts };
    },
  };
}
