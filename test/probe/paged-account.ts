/** Accounts that page otherwise, in front of a reference that pages as the contract says. */
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { isJsonObject } from '../../src/lib/json.ts';
import type { Reference } from '../../src/reference/reference.ts';
import type { AtEnd } from '../support/store.ts';
import { startAccount } from './support.ts';

export interface Kind {
  /** Most rows of a page, and those without a size. */
  readonly most: number;
  /** Number of the first page. */
  readonly first?: 0 | 1;
  readonly counts?: 'page' | 'list' | 'none';
  /** Whether a header tells the next page. */
  readonly links?: boolean;
  /** Status of a page behind the last; undefined: it is empty. */
  readonly behind?: number;
  /** Whether offsets of V2 count pages, of 8 rows and without links. */
  readonly offsets?: 'pages';
}

interface Paged {
  readonly status: number;
  readonly json: unknown;
  readonly link?: string | undefined;
}

interface Asked {
  readonly url: URL;
  readonly headers: Readonly<Record<string, string>>;
}

async function read({ url, headers }: Asked): Promise<[number, unknown]> {
  const answer = await fetch(url, { headers });
  return [answer.status, await answer.json()];
}

/** Page of a list of variants, cut out of the whole list. */
async function variantsOf(asked: Asked, { most, first = 1, ...kind }: Kind): Promise<Paged> {
  const { url } = asked;
  const { searchParams: query } = url;
  const size = Math.min(Number(query.get('limit') ?? most), most);
  const page = Number(query.get('page') ?? first) - first;
  for (const name of ['limit', 'page']) query.delete(name);
  const [status, json] = await read(asked);
  if (!isJsonObject(json) || !isJsonObject(json.data)) return { status, json };
  const all = Array.isArray(json.data.variants) ? json.data.variants : [];
  const variants = page < 0 ? [] : all.slice(page * size, (page + 1) * size);
  const isMore = (page + 1) * size < all.length;
  if (page < 0 || (variants.length === 0 && page > 0 && kind.behind)) {
    return { status: kind.behind ?? 422, json: { status: 422, message: 'no such page' } };
  }
  const counts = { page: variants.length, list: all.length, none: undefined };
  const data = { count: counts[kind.counts ?? 'none'], variants };
  const next = kind.links ? `<?page=${page + first + 1}&limit=${size}>; rel="next"` : undefined;
  return { status, json: { ...json, data }, link: isMore ? next : undefined };
}

/** Page of a collection of V2, cut out of the whole one. */
async function collectionOf(asked: Asked, { offsets, ...kind }: Kind): Promise<Paged> {
  const most = offsets === 'pages' ? 8 : kind.most;
  const { searchParams: query } = asked.url;
  const size = Math.min(Number(query.get('page[limit]') ?? most), most);
  const offset = Number(query.get('page[offset]') ?? 0) * (offsets === 'pages' ? size : 1);
  query.delete('page[offset]');
  query.delete('page[token]');
  query.set('page[limit]', '250');
  const [status, json] = await read(asked);
  if (!isJsonObject(json) || !Array.isArray(json.data)) return { status, json };
  return { status, json: { data: json.data.slice(offset, offset + size) } };
}

/** Starts an account of a kind; its address stands in place of the reference's. */
export async function startPaged(kind: Kind, atEnd: AtEnd): Promise<Reference> {
  const reference = await startAccount({}, atEnd);
  const { origin } = new URL(reference.v1Url);
  const server = createServer(async (request, response) => {
    const url = new URL(request.url ?? '', origin);
    const chunks: Buffer[] = [];
    for await (const chunk of request) chunks.push(chunk);
    const names = ['x-service-authorization', 'content-type'];
    const given = names.map((name): [string, string] => [name, String(request.headers[name])]);
    const headers = Object.fromEntries(given.filter(([, value]) => value !== 'undefined'));
    const isList = /\/variants\/(?:stock|season)$/.test(url.pathname);
    const isV2 = /\/pdm\/[\w-]+$/.test(url.pathname);
    if (isList || isV2) {
      const page = isList ? variantsOf : collectionOf;
      const { status, json, link } = await page({ url, headers }, kind);
      if (link !== undefined) response.setHeader('link', link);
      response.writeHead(status, { 'content-type': 'application/json' });
      response.end(JSON.stringify(json));
      return;
    }
    const { method = 'GET' } = request;
    const body = method === 'GET' ? {} : { body: Buffer.concat(chunks) };
    const answer = await fetch(url, { method, headers, ...body });
    const type = answer.headers.get('content-type') ?? 'application/json';
    response.writeHead(answer.status, { 'content-type': type });
    response.end(Buffer.from(await answer.arrayBuffer()));
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  atEnd(() => {
    server.closeAllConnections();
    server.close();
  });
  const address = server.address() as AddressInfo;
  const at = (text: string) => text.replace(origin, `http://127.0.0.1:${address.port}`);
  return { ...reference, v1Url: at(reference.v1Url), v2Url: at(reference.v2Url) };
}
