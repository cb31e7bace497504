import { HttpError } from './http.mjs';

// Paging walks over a snapshot: the token stands for the ids that were found on the first page,
// so rows created meanwhile do not shift the pages and deleted ones only make a page shorter.

const LIMIT = 50;
const MOST = 250;

const bad = (name, detail, code = 'invalid_parameter') =>
  new HttpError(400, detail, {
    code,
    source: { parameter: name },
  });

function whole(page, name, low, high, otherwise) {
  if (page[name] === undefined) return otherwise;
  const value = /^\d+$/.test(page[name]) ? Number(page[name]) : NaN;
  if (!(value >= low && value <= high)) {
    const range = high === Infinity ? `at least ${low}` : `between ${low} and ${high}`;
    throw bad(`page[${name}]`, `page[${name}] must be an integer ${range}.`);
  }
  return value;
}

// All that must not change between two pages, in a fixed order.
function mark(url) {
  const pairs = [...url.searchParams]
    .filter(([name]) => name !== 'page[token]' && name !== 'page[offset]')
    .map(([name, value]) => `${name}=${value}`);
  return `${url.pathname}?${pairs.sort().join('&')}`;
}

function snapshot({ app, url }, rows, query) {
  const { token } = query.page;
  if (token === undefined) {
    const ids = rows
      .filter((row) => query.filters.every((keep) => keep(row)))
      .map((row) => row.id)
      .sort((a, b) => a - b);
    const fresh = app.random.text(43);
    const expiresAt = app.now() + app.opts.pageTokenTtl * 1000;
    app.state.pageTokens[fresh] = { ids, mark: mark(url), expiresAt };
    return { ids, token: fresh, first: true };
  }
  const known = app.state.pageTokens[token];
  if (!known || known.expiresAt <= app.now()) {
    throw bad('page[token]', 'The page token is unknown or has expired.', 'invalid_page_token');
  }
  if (known.mark !== mark(url)) {
    const text = 'Only page[token] and page[offset] may be changed while paginating.';
    throw bad('page[token]', text, 'page_parameters_changed');
  }
  return { ids: known.ids, token, first: false };
}

export function collection(ctx, _type, rows, query) {
  const { app, url } = ctx;
  const limit = whole(query.page, 'limit', 1, MOST, LIMIT);
  const offset = whole(query.page, 'offset', 0, Infinity, 0);
  const { ids, token, first } = snapshot(ctx, rows, query);
  const link = (at) => {
    const params = new URLSearchParams(url.searchParams);
    params.set('page[token]', token);
    params.set('page[offset]', String(at));
    return `${app.addresses.v2Origin}${url.pathname}?${params}`;
  };
  const lastOffset = Math.max(0, Math.floor((ids.length - 1) / limit) * limit);
  const links = {
    first: link(0),
    last: app.opts.lastLink ? link(lastOffset) : null,
    prev: offset > 0 ? link(Math.max(0, offset - limit)) : null,
    next: offset + limit < ids.length ? link(offset + limit) : null,
  };
  const page = ids.slice(offset, offset + limit);
  const found = page.map((id) => rows.find((row) => row.id === id)).filter(Boolean);
  // The token is told once; later pages are reached with it or over the links.
  return { links, meta: first ? { pageToken: token } : undefined, found };
}
