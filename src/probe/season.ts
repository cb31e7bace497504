/** Probes seasons, and the parameter that names one in the list of variants for pre-orders. */
import type { PlainAnswer } from '../client/probe-client.ts';
import { countOf, isGood, isMissing, rowsOf, statusOf, textOf, wordsOf } from './answers.ts';
import type { LevelSign } from './level.ts';
import { namesIn, type Query, type Talk } from './talk.ts';

const PARAMETERS = ['seasonName', 'season', 'SeasonName', 'season_name', 'seasonCode'];
const LIST = '/variants/season';
const NO_SEASON = 'selvedge-probe-no-such-season';
const PAGE = 50;
/** Maximum of seasons that are tried, because some may have no variant. */
const SEASONS_TRIED_MAX = 3;

export interface SeasonSeen {
  /** Barcodes of a season's variants, which exist whether they are in stock or not. */
  readonly barcodes: readonly string[];
  readonly signs: readonly LevelSign[];
}

const setting = 'service.dialect.v1.seasonParameter';

/** Whether two answers show the same list of variants. */
function isSame(one: PlainAnswer, other: PlainAnswer): boolean {
  const texts = [one, other].map((answer) => {
    const rows = rowsOf(answer, 'variants') ?? [];
    return `${countOf(answer)} ${rows.map(({ barcode }) => textOf(barcode)).join()}`;
  });
  return texts[0] === texts[1];
}

interface Tried {
  readonly answer: PlainAnswer;
  readonly seen: string;
}

/** Tries a season parameter; it counts only when its value makes a difference in the answer. */
async function tryParameter(
  talk: Talk,
  name: string,
  seasons: readonly string[],
  bare: PlainAnswer,
): Promise<Tried | undefined> {
  const ask = (query: Query) => talk.getBranded('season', LIST, { ...query, page: 1, limit: PAGE });
  for (const season of seasons.slice(0, SEASONS_TRIED_MAX)) {
    const right = await ask({ [name]: season });
    if (!isGood(right)) return undefined;
    const rows = rowsOf(right, 'variants')?.length ?? 0;
    const told = `${LIST}?${name}=${season} has ${rows >= PAGE ? `${PAGE} or more` : rows} rows`;
    if (rows === 0) continue;
    if (!isGood(bare)) return { answer: right, seen: `${told}; without it ${statusOf(bare)}` };
    const wrong = await ask({ [name]: NO_SEASON });
    if (isGood(wrong) && isSame(right, wrong)) return undefined;
    const other = isGood(wrong)
      ? `${rowsOf(wrong, 'variants')?.length ?? 0} rows`
      : statusOf(wrong);
    return { answer: right, seen: `${told}; for a season that is none: ${other}` };
  }
  return undefined;
}

export async function probeSeasons(
  talk: Talk,
  own: string,
  described: readonly string[],
): Promise<SeasonSeen> {
  const { witness } = talk;
  witness.looking('seasons');
  const listed = await talk.getBranded('seasons', '/seasons');
  if (!isGood(listed)) {
    const words = `GET /seasons: ${wordsOf(listed)}`;
    const signs = isMissing(listed) ? [{ since: '1.4.0', has: false, seen: words }] : [];
    const doubt = 'pre-orders are not possible, and the streams seasons and season stay empty';
    witness.found({ setting: undefined, value: 'no seasons', seen: words, doubt });
    return { barcodes: [], signs };
  }
  const rows = rowsOf(listed, 'seasons') ?? [];
  const seasons = namesIn(rows, 'seasonName', 'name', 'season');
  const signs = [{ since: '1.4.0', has: true, seen: `GET /seasons: ${seasons.length} seasons` }];
  if (seasons.length === 0) {
    const doubt = 'there is no season to try it with';
    const seen = rows.length > 0 ? 'GET /seasons: rows without a name' : 'GET /seasons is empty';
    witness.found({ setting, value: own, seen, doubt });
    return { barcodes: [], signs };
  }
  // The newest seasons are tried first, as the likeliest to have variants.
  const newest = seasons.toReversed();
  const bare = await talk.getBranded('season', LIST, { page: 1, limit: PAGE });
  if (isMissing(bare) && !/season/i.test(bare.text)) {
    const seen = `GET ${LIST}: ${wordsOf(bare)}`;
    witness.found({ setting: undefined, value: 'no list of season', seen });
  }
  for (const name of new Set([own, ...described, ...PARAMETERS])) {
    witness.looking(`the parameter that names a season: ${name}`);
    const tried = await tryParameter(talk, name, newest, bare);
    if (!tried) continue;
    witness.found({ setting, value: name, seen: tried.seen });
    return { barcodes: namesIn(rowsOf(tried.answer, 'variants') ?? [], 'barcode'), signs };
  }
  const doubt = 'no known name of the parameter makes a difference';
  witness.found({ setting, value: own, seen: `GET ${LIST}: ${wordsOf(bare)}`, doubt });
  return { barcodes: [], signs };
}
