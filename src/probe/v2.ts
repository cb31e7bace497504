/**
 * Probes V2: the paths of its collections, how they are paged, and whether it knows sparse
 * fieldsets.
 */
import type { PlainAnswer } from '../client/probe-client.ts';
import { modelledFields, RESOURCE_PATHS, type ResourceType } from '../client/v2/resources.ts';
import { V2_LISTS, V2_STREAMS } from '../config/lists.ts';
import type { Config } from '../config/schema.ts';
import { isJsonObject } from '../lib/json.ts';
import { isGood, isMissing, isShut, statusOf, textOf, wordsOf } from './answers.ts';
import type { Talk } from './talk.ts';

type V2 = Config['service']['dialect']['v2'];

const OTHER_PATHS: Readonly<Partial<Record<ResourceType, readonly string[]>>> = {
  styleColor: ['style-colors', 'styleColors', 'stylecolors', 'style_colors'],
  brand: ['brands'],
  type: ['types', 'style-types', 'styleTypes'],
  gender: ['genders', 'style-genders'],
  country: ['countries', 'countries-of-origin', 'country-of-origins'],
};

/** Resource types whose path is a setting. */
const SETTABLE = ['styleColor', 'brand', 'type', 'gender', 'country'] as const;
type Settable = (typeof SETTABLE)[number];

const isSettable = (type: ResourceType): type is Settable => SETTABLE.some((one) => one === type);

function rowsIn({ json }: PlainAnswer): readonly unknown[] | undefined {
  const data = isJsonObject(json) ? json.data : undefined;
  return Array.isArray(data) ? data : undefined;
}

/** Link to the next page; null: there is none, undefined: nothing says it. */
function nextOf({ json }: PlainAnswer): string | null | undefined {
  const links = isJsonObject(json) && isJsonObject(json.links) ? json.links : {};
  return links.next === null ? null : textOf(links.next);
}

function idsOf(answer: PlainAnswer): readonly string[] {
  return (rowsIn(answer) ?? []).map((row) => (isJsonObject(row) ? String(row.id) : ''));
}

async function findCollections(
  talk: Talk,
  own: V2,
): Promise<readonly (readonly [ResourceType, string])[]> {
  const { witness } = talk;
  const there: [ResourceType, string][] = [];
  for (const stream of V2_STREAMS) {
    const { type } = V2_LISTS[stream];
    const configured = isSettable(type) ? own.paths[type] : RESOURCE_PATHS[type];
    let missing: PlainAnswer | undefined;
    let path: string | undefined;
    for (const one of new Set([configured, ...(OTHER_PATHS[type] ?? [])])) {
      witness.looking(`/pdm/${one}`);
      const answer = await talk.get(`/pdm/${one}`, { 'page[limit]': 1 });
      if (!isGood(answer)) missing = answer;
      else path = one;
      if (path !== undefined || !isMissing(answer)) break;
    }
    if (path === undefined) {
      const seen = `GET /pdm/${configured}: ${missing ? wordsOf(missing).slice(0, 60) : ''}`;
      const doubt = missing && isMissing(missing) ? undefined : 'it may be a right that is missing';
      witness.absent(stream, seen, doubt);
      continue;
    }
    there.push([type, path]);
    const seen = `GET /pdm/${path}: 200`;
    if (isSettable(type))
      witness.found({ setting: `service.dialect.v2.paths.${type}`, value: path, seen });
  }
  return there;
}

/** How the pages of V2 are found: by a token, by links, or by offsets alone. */
interface Paging {
  readonly token: string | undefined;
  /** Whether offsets count pages. */
  readonly isByPage: boolean;
}

/**
 * Finds what the second offset gives: rows of the first page and one more where offsets count rows,
 * none of them where they count pages.
 */
async function findPaging(talk: Talk, own: V2, path: string): Promise<Paging> {
  const { witness } = talk;
  const setting = 'service.dialect.v2.paging';
  const few = { 'page[limit]': 2 };
  const first = await talk.get(path, few);
  const meta = isJsonObject(first.json) && isJsonObject(first.json.meta) ? first.json.meta : {};
  const token = textOf(meta.pageToken);
  const isLinked = typeof nextOf(first) === 'string';
  const at = { ...few, 'page[token]': token, 'page[offset]': 1 };
  const ids = idsOf(first);
  const second = ids.length < 2 ? undefined : await talk.get(path, at);
  const shown = second && isGood(second) ? idsOf(second) : undefined;
  const isRead = shown !== undefined && shown.join() !== ids.join();
  const isByPage = isRead && !shown.some((id) => ids.includes(id));
  const name = token === undefined ? 'page[offset]=1' : 'meta.pageToken and page[offset]=1';
  if (isByPage) {
    const seen = `${name} give no row of the first page: offsets count pages`;
    witness.found({ setting, value: 'pages', seen });
  } else if (isRead && (token !== undefined || !isLinked)) {
    witness.found({ setting, value: 'token', seen: `${name} give the second row` });
  } else if (isLinked) {
    const why = token === undefined ? 'there is no meta.pageToken' : 'its page token leads nowhere';
    witness.found({ setting, value: 'links', seen: `${why}, and links.next is given` });
  } else {
    const doubt = 'there is one page only, or none that leads on';
    witness.found({ setting, value: own.paging, seen: `GET ${path}`, doubt });
  }
  return { token, isByPage };
}

/** Finds the longest page: the account may refuse a longer one, or cut it. */
async function findPageLimit(talk: Talk, own: V2, path: string, paging: Paging): Promise<void> {
  const setting = 'service.dialect.v2.pageLimit';
  for (const limit of new Set([own.pageLimit, 250, 100, 50])) {
    const page = { 'page[limit]': limit };
    const answer = await talk.get(path, page);
    if (!isGood(answer)) continue;
    const ids = idsOf(answer);
    const offset = paging.isByPage ? 1 : ids.length;
    const at = { ...page, 'page[token]': paging.token, 'page[offset]': offset };
    const isShort = ids.length > 0 && ids.length < limit && nextOf(answer) !== null;
    const next = isShort ? await talk.get(path, at) : undefined;
    const isCut = next && isGood(next) && idsOf(next).some((id) => !ids.includes(id));
    const seen = `page[limit]=${limit} is ${isCut ? `cut to ${ids.length} rows` : 'taken'}`;
    talk.witness.found({ setting, value: isCut ? ids.length : limit, seen });
    return;
  }
}

async function findSparse(
  talk: Talk,
  own: V2,
  there: readonly (readonly [ResourceType, string])[],
): Promise<void> {
  const setting = 'service.dialect.v2.sparseFields';
  for (const [type, path] of there) {
    const fields = modelledFields(type).join(',');
    const answer = await talk.get(`/pdm/${path}`, { 'page[limit]': 1, [`fields_${type}`]: fields });
    if (isGood(answer)) continue;
    const seen = `fields_${type}=${fields}: ${wordsOf(answer)}`;
    talk.witness.found({ setting, value: false, seen });
    return;
  }
  if (there.length === 0) return;
  talk.witness.found({
    setting,
    value: own.sparseFields,
    seen: 'the fields that are mirrored may be named',
  });
}

export async function probeV2(talk: Talk, own: V2): Promise<void> {
  const { witness } = talk;
  const there = await findCollections(talk, own);
  const [first] = there;
  if (!first) {
    const shut = await talk.get('/pdm/styles', { 'page[limit]': 1 });
    const seen = isShut(shut) ? `GET /pdm/styles: ${statusOf(shut)}` : 'no collection was found';
    const doubt = 'V2 has nothing that this account may read';
    witness.found({ setting: 'service.v2.enabled', value: false, seen, doubt });
    return;
  }
  const path = `/pdm/${first[1]}`;
  await findPageLimit(talk, own, path, await findPaging(talk, own, path));
  await findSparse(talk, own, there);
  const seen = `${there.length} collections below /pdm were answered`;
  witness.found({ setting: 'service.v2.enabled', value: true, seen });
}
