import { clientOf, findClient, issueToken, portalLink, tokenOf } from './auth.mjs';
import { compile, findRoute, HttpError, limiter, readBody, send } from './http.mjs';
import { localTime, money, normalise, says } from './php.mjs';
import { orderRoutes } from './v1orders.mjs';
import { refundRoutes } from './v1refunds.mjs';
import { variantRoutes } from './v1variants.mjs';

// V1: everything in an envelope {status, message, data}. What the framework answers by itself
// (no route, wrong method, too many attempts) never sees that envelope.

const BASE = '/api/v1';

export function createV1(app) {
  const routes = compile([
    ['POST', '/auth/login', login, true],
    ['GET', '/brands', brands],
    ['GET', `/${app.opts.freightPath}`, freight],
    ['GET', '/seasons', seasons],
    ['POST', '/webhook-portal', portal],
    ...variantRoutes,
    ...orderRoutes,
    ...refundRoutes,
  ]);
  const limit = limiter(app.opts.rate, app.now);
  return (req, res, url) => answer(app, { routes, limit }, req, res, url);
}

async function answer(app, { routes, limit }, req, res, url) {
  const look = { php: app.opts.php, type: 'application/json', headers: {} };
  try {
    const raw = await readBody(req);
    const path = url.pathname.slice(BASE.length);
    const { route, params } = findRoute(routes, req.method, path, url.pathname);
    const token = tokenOf(req, 'v1', app.opts.v1Auth);
    look.headers = limit(token ?? req.socket.remoteAddress);
    const client = route.open ? null : clientOf(app, 'v1', token);
    const customer = app.state.customers.find((c) => c.id === client?.customerId);
    const ctx = { app, params, query: url.searchParams, body: input(raw), client, customer };
    const { data, message = 'OK', headers = {} } = route.handler(ctx);
    look.headers = { ...look.headers, ...headers };
    send(res, 200, { status: 'success', message, data }, look);
  } catch (error) {
    fail(res, error, look);
  }
}

// A body that is no JSON is an empty input for Laravel: the rules complain, not the parser.
function input(raw) {
  try {
    const value = normalise(JSON.parse(raw));
    return value && typeof value === 'object' && !Array.isArray(value) ? value : {};
  } catch {
    return {};
  }
}

function fail(res, error, look) {
  if (!(error instanceof HttpError)) {
    send(res, 500, { message: 'Server Error' }, look);
    return;
  }
  const { bare, headers = {}, invalid } = error.extra;
  const body = { status: 'error', message: error.message, data: [] };
  if (invalid) Object.assign(body, { message: 'Invalid data', invalid_data: invalid });
  const shown = bare ? { message: error.message } : body;
  send(res, error.status, shown, { ...look, headers: { ...look.headers, ...headers } });
}

function login({ app, body }) {
  const invalid = ['clientID', 'clientSecret'].filter((k) => !body[k]).map(says.required);
  if (invalid.length > 0) throw new HttpError(422, 'Invalid data', { invalid });
  const client = findClient(app.state, 'v1', body.clientID, body.clientSecret);
  if (!client) throw new HttpError(401, 'Invalid credentials');
  const { token, expiresAt } = issueToken(app, client);
  return { message: 'Logged in', data: { token, expires: localTime(expiresAt, app.opts.zone) } };
}

function brands({ app }) {
  const data = app.state.brands.map(({ id, brandName }) => ({ brandId: id, brandName }));
  return { data };
}

function freight({ app, customer }) {
  const data = app.state.freights.map((row) => ({
    freightType: row.freightType,
    freightAmount: money(row.freightAmount, app.opts.php),
    currency: customer.currency,
    warehouseCode: row.warehouseCode,
  }));
  return { data };
}

function seasons({ app }) {
  return { data: app.state.seasons };
}

function portal({ app }) {
  return { data: { url: portalLink(app) } };
}
