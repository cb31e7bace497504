import { clientOf, findClient, issueToken, portalLink, tokenOf } from './auth.mjs';
import { compile, findRoute, HttpError, limiter, readBody, send } from './http.mjs';
import { isoTime } from './php.mjs';
import { document, readQuery } from './v2document.mjs';
import { collection } from './v2paging.mjs';
import { byPath, RESOURCES } from './v2resources.mjs';
import { change, create, remove } from './v2write.mjs';

const BASE = '/api/v2';
const TITLES = {
  400: 'Bad Request',
  401: 'Unauthorized',
  403: 'Forbidden',
  404: 'Not Found',
  405: 'Method Not Allowed',
  409: 'Conflict',
  413: 'Payload Too Large',
  422: 'Unprocessable Entity',
  429: 'Too Many Requests',
  500: 'Server Error',
};

export function createV2(app) {
  const routes = compile([
    ['POST', '/auth/login', login, true],
    ['POST', '/webhook-portal', portal],
    ...Object.entries(RESOURCES).flatMap(([type, def]) => routesOf(type, def)),
  ]);
  const limit = limiter(app.opts.rate, app.now);
  return (req, res, url) => answer(app, { routes, limit }, req, res, url);
}

function routesOf(type, def) {
  const base = `/pdm/${def.path}`;
  const routes = [
    ['GET', base, (ctx) => list(ctx, type, def.rows(ctx.app.state))],
    ['GET', `${base}/:id`, (ctx) => one(ctx, type, must(ctx, type, ctx.params.id))],
    ['GET', `${base}/:id/:sub`, (ctx) => subList(ctx, type)],
    ['GET', `${base}/:id/:sub/:subId`, (ctx) => subOne(ctx, type)],
  ];
  if (def.creatable) routes.push(['POST', base, (ctx) => create(ctx, type)]);
  if (def.writable) {
    routes.push([
      'PATCH',
      `${base}/:id`,
      (ctx) => {
        return change(ctx, type, must(ctx, type, ctx.params.id));
      },
    ]);
  }
  if (def.creatable) {
    routes.push([
      'DELETE',
      `${base}/:id`,
      (ctx) => {
        return remove(ctx, type, must(ctx, type, ctx.params.id));
      },
    ]);
  }
  return routes;
}

async function answer(app, { routes, limit }, req, res, url) {
  const look = { php: app.opts.php, type: 'application/vnd.api+json', headers: {} };
  try {
    const raw = await readBody(req);
    const path = url.pathname.slice(BASE.length);
    const { route, params } = findRoute(routes, req.method, path, url.pathname);
    const token = tokenOf(req, 'v2', app.opts.v1Auth);
    look.headers = limit(token ?? req.socket.remoteAddress);
    const client = route.open ? null : clientOf(app, 'v2', token);
    const body = ['POST', 'PATCH'].includes(req.method) ? parse(raw) : null;
    const ctx = { app, url, params, body, client };
    const { status = 200, content, headers = {} } = route.handler(ctx);
    look.headers = { ...look.headers, ...headers };
    send(res, status, content, look);
  } catch (error) {
    fail(res, error, look);
  }
}

function parse(raw) {
  if (raw.trim() === '') return {};
  try {
    return JSON.parse(raw) ?? {};
  } catch {
    throw new HttpError(400, 'The request body is not valid JSON.', { code: 'malformed_json' });
  }
}

function fail(res, error, look) {
  const known = error instanceof HttpError;
  const status = known ? error.status : 500;
  const { headers = {}, problems, code, source } = known ? error.extra : {};
  const list = problems ?? [{ detail: known ? error.message : 'Server Error', code, source }];
  const errors = list.map((problem) => {
    const shown = { status: String(status), title: TITLES[status] ?? 'Error' };
    shown.code = problem.code ?? shown.title.toLowerCase().replaceAll(' ', '_');
    shown.detail = problem.detail;
    if (problem.source) shown.source = problem.source;
    return shown;
  });
  send(res, status, { errors }, { ...look, headers: { ...look.headers, ...headers } });
}

function login({ app, body }) {
  const problems = ['clientId', 'clientSecret']
    .filter((name) => !body[name])
    .map((name) => ({
      detail: `The ${name} field is required.`,
      code: 'required',
      source: { pointer: `/${name}` },
    }));
  if (problems.length > 0) throw new HttpError(422, 'Invalid', { problems });
  const client = findClient(app.state, 'v2', body.clientId, body.clientSecret);
  if (!client) throw new HttpError(401, 'Invalid credentials.', { code: 'invalid_credentials' });
  const { token, expiresAt } = issueToken(app, client);
  const given = { token, expiresAt: isoTime(expiresAt) };
  if (app.opts.v2Login === 'flat') return { content: given };
  if (app.opts.v2Login === 'jsonapi') {
    const id = String(app.state.clients.indexOf(client) + 1);
    return { content: { data: { type: 'authToken', id, attributes: given } } };
  }
  return { content: { data: given } };
}

function portal({ app }) {
  return { content: { data: { url: portalLink(app) } } };
}

// --- reading

function must({ app }, type, id) {
  const row = RESOURCES[type].rows(app.state).find((item) => String(item.id) === String(id));
  if (!row) throw new HttpError(404, `No ${type} with id ${id}.`, { code: 'not_found' });
  return row;
}

function list(ctx, type, rows) {
  const query = readQuery(ctx.url, type, true);
  const { links, meta, found } = collection(ctx, type, rows, query);
  return { content: document(ctx.app, type, found, query, { links, meta }) };
}

function one(ctx, type, row) {
  const query = readQuery(ctx.url, type, false);
  return { content: document(ctx.app, type, row, query) };
}

function relation(type, sub) {
  const rel = byPath(type, sub);
  if (!rel) throw new HttpError(404, `${type} has no ${sub}.`, { code: 'not_found' });
  return rel;
}

function related(ctx, type) {
  const rel = relation(type, ctx.params.sub);
  const parent = must(ctx, type, ctx.params.id);
  const ids = [rel.ids(parent, ctx.app.state)]
    .flat()
    .filter((id) => id !== null)
    .map(String);
  const rows = RESOURCES[rel.type].rows(ctx.app.state).filter((r) => ids.includes(String(r.id)));
  return { rel, rows };
}

function subList(ctx, type) {
  const { rel, rows } = related(ctx, type);
  if (rel.many) return list(ctx, rel.type, rows);
  if (!rows[0]) return { content: { data: null } };
  return one(ctx, rel.type, rows[0]);
}

function subOne(ctx, type) {
  const { rel, rows } = related(ctx, type);
  const row = rows.find((item) => String(item.id) === ctx.params.subId);
  if (!rel.many || !row) throw new HttpError(404, 'Not found.', { code: 'not_found' });
  return one(ctx, rel.type, row);
}
