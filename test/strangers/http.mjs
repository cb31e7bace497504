import http from 'node:http';
import { encode } from './php.mjs';

export class HttpError extends Error {
  constructor(status, message, extra = {}) {
    super(message);
    this.status = status;
    this.extra = extra; // invalid (V1 list), code and source (V2), bare (framework's own body)
  }
}

export function compile(routes) {
  return routes.map(([method, path, handler, open = false]) => ({
    method,
    handler,
    open,
    parts: path.split('/').filter(Boolean),
  }));
}

function matchParts(parts, given) {
  if (parts.length !== given.length) return null;
  const params = {};
  for (let i = 0; i < parts.length; i += 1) {
    if (parts[i].startsWith(':')) params[parts[i].slice(1)] = given[i];
    else if (parts[i] !== given[i]) return null;
  }
  return params;
}

// Routes are resolved before anything else, so an unknown path needs no token to be a 404.
export function findRoute(routes, method, path, whole) {
  const given = path.split('/').filter(Boolean).map(safeDecode);
  const allowed = [];
  for (const route of routes) {
    const params = matchParts(route.parts, given);
    if (!params) continue;
    if (route.method === method || (method === 'HEAD' && route.method === 'GET')) {
      return { route, params };
    }
    allowed.push(route.method === 'GET' ? 'GET, HEAD' : route.method);
  }
  const shown = whole.replace(/^\//, '');
  if (allowed.length === 0) {
    throw new HttpError(404, `The route ${shown} could not be found.`, { bare: true });
  }
  const list = allowed.join(', ');
  const text =
    `The ${method} method is not supported for route ${shown}. ` + `Supported methods: ${list}.`;
  throw new HttpError(405, text, { bare: true, headers: { allow: list } });
}

function safeDecode(text) {
  try {
    return decodeURIComponent(text);
  } catch {
    return text;
  }
}

export async function readBody(req, limit = 1_000_000) {
  const chunks = [];
  let size = 0;
  for await (const chunk of req) {
    size += chunk.length;
    if (size > limit) throw new HttpError(413, 'Payload Too Large', { bare: true });
    chunks.push(chunk);
  }
  return Buffer.concat(chunks).toString('utf8');
}

export function send(res, status, body, { php, type, headers = {} }) {
  for (const [name, value] of Object.entries(headers)) res.setHeader(name, value);
  if (body === undefined) {
    res.writeHead(status).end();
    return;
  }
  const text = typeof body === 'string' ? body : encode(body, php);
  res.writeHead(status, { 'content-type': type, 'cache-control': 'no-cache, private' });
  res.end(res.req.method === 'HEAD' ? undefined : text);
}

// Laravel's limiter: the window opens with the first hit and ends a second later.
export function limiter(rate, now) {
  const windows = {};
  return (key) => {
    if (!rate) return {};
    const at = now();
    const open = windows[key];
    if (!open || at - open.since >= 1000) windows[key] = { since: at, hits: 0 };
    const current = windows[key];
    const headers = { 'x-ratelimit-limit': String(rate) };
    if (current.hits >= rate) {
      const left = Math.max(1, Math.ceil((current.since + 1000 - at) / 1000));
      headers['x-ratelimit-remaining'] = '0';
      headers['retry-after'] = String(left);
      headers['x-ratelimit-reset'] = String(Math.ceil((current.since + 1000) / 1000));
      throw new HttpError(429, 'Too Many Attempts.', { bare: true, headers });
    }
    current.hits += 1;
    headers['x-ratelimit-remaining'] = String(rate - current.hits);
    return headers;
  };
}

// 127.0.0.1 only: a stand-in has no business on other interfaces.
export function listen(handler, port) {
  const server = http.createServer((req, res) => {
    Promise.resolve(handler(req, res)).catch(() => {
      if (!res.headersSent) res.writeHead(500, { 'content-type': 'application/json' });
      res.end('{"message":"Server Error"}');
    });
  });
  return new Promise((resolve, reject) => {
    server.once('error', reject);
    server.listen(port, '127.0.0.1', () => {
      server.off('error', reject);
      resolve({ server, origin: `http://127.0.0.1:${server.address().port}` });
    });
  });
}

export function shut(server) {
  return new Promise((resolve) => {
    server.close(() => resolve());
    server.closeAllConnections();
  });
}
