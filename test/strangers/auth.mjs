import { HttpError } from './http.mjs';

export function findClient(state, kind, id, secret) {
  return state.clients.find((c) => c.kind === kind && c.id === id && c.secret === secret) ?? null;
}

export function issueToken(app, client) {
  const { opts, random, state, now } = app;
  const seconds = client.kind === 'v1' ? opts.tokenTtl : opts.v2TokenTtl;
  const expiresAt = now() + seconds * 1000;
  const token = client.kind === 'v1' ? sanctum(app) : jwtLike(random, client, expiresAt);
  state.tokens[token] = { kind: client.kind, clientId: client.id, expiresAt };
  return { token, expiresAt, seconds };
}

// Sanctum's plain text tokens carry their row number and a pipe in front.
function sanctum(app) {
  app.state.counters.token += 1;
  return `${app.state.counters.token}|${app.random.text(40)}`;
}

function jwtLike(random, client, expiresAt) {
  const part = (value) => Buffer.from(JSON.stringify(value)).toString('base64url');
  const claims = { sub: client.id, exp: Math.floor(expiresAt / 1000), jti: random.text(16) };
  const head = part({ typ: 'JWT', alg: 'HS256' });
  return `${head}.${part(claims)}.${random.bytes(32).toString('base64url')}`;
}

export function tokenOf(req, kind, v1Auth) {
  const own = req.headers['x-service-authorization'] ?? null;
  const bearer = /^Bearer\s+(.+)$/i.exec(req.headers.authorization ?? '')?.[1] ?? null;
  if (kind === 'v2' || v1Auth === 'header') return own;
  return v1Auth === 'bearer' ? bearer : (own ?? bearer);
}

export function clientOf(app, kind, token) {
  const row = token ? app.state.tokens[token] : null;
  if (!row || row.kind !== kind) {
    throw new HttpError(401, 'Unauthenticated.', { code: 'unauthenticated' });
  }
  if (row.expiresAt <= app.now()) {
    throw new HttpError(401, 'Token has expired.', { code: 'token_expired' });
  }
  return app.state.clients.find((c) => c.id === row.clientId && c.kind === kind);
}

export function expireTokens(app) {
  for (const row of Object.values(app.state.tokens)) row.expiresAt = 0;
}

// Single-use link into the relay's portal, the same for V1 and V2.
export function portalLink(app) {
  if (!app.opts.webhooksEnabled) {
    const text = 'Webhooks are not enabled for this system.';
    throw new HttpError(403, text, { code: 'webhooks_not_enabled' });
  }
  const key = app.random.text(48);
  app.state.portalLinks[key] = { used: false, at: app.now() };
  return `${app.addresses.relay}/portal/${key}`;
}
