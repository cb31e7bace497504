import { expireTokens } from './auth.mjs';
import { compile, findRoute, HttpError, readBody, send } from './http.mjs';
import * as life from './life.mjs';
import { renderDelivery, renderOrder, renderPendingRefund, renderRefund } from './render.mjs';

// Functions of the back office and of the relay's operator. The same functions are offered to an
// importing program and, as POST /control/<name>, to one that only knows the address.

export function controls(app) {
  const { relay } = app;
  return {
    packOrder: (id, how) => renderDelivery(app, life.packOrder(app, id, how)),
    shipDelivery: (id) => renderDelivery(app, life.shipDelivery(app, id)),
    cancelDelivery: (id) => renderDelivery(app, life.cancelDelivery(app, id)),
    endOrder: (id) => renderOrder(app, life.endOrder(app, id)),
    confirmRefund: (id, how) => renderRefund(app, life.confirmRefund(app, id, how)),
    cancelPendingRefund: (id) => renderPendingRefund(app, life.cancelPendingRefund(app, id)),
    createRefund: (id, lines) => renderRefund(app, life.createRefund(app, id, lines)),
    cancelRefund: (id) => renderRefund(app, life.cancelRefund(app, id)),
    expireTokens: () => expireTokens(app),
    setEndpoint: relay.setEndpoint,
    removeEndpoint: relay.removeEndpoint,
    rotateSecret: relay.rotateSecret,
    history: relay.history,
    resend: relay.resend,
    replayMissing: relay.replayMissing,
    pause: relay.pause,
    resume: relay.resume,
    flush: relay.flush,
  };
}

// The JSON body is the list of arguments: POST /control/packOrder with [48201].
export function createRelayListener(app, functions) {
  const routes = compile([
    ['GET', '/portal/:key', portalPage],
    ['POST', '/control/:name', runControl],
  ]);
  return async (req, res) => {
    const look = { php: false, type: 'application/json' };
    try {
      const url = new URL(req.url, 'http://127.0.0.1');
      const { route, params } = findRoute(routes, req.method, url.pathname, url.pathname);
      const raw = await readBody(req);
      const { body, type } = await route.handler({ app, functions, params, raw });
      send(res, 200, body, { ...look, type: type ?? look.type });
    } catch (error) {
      const status = error instanceof HttpError ? error.status : 400;
      send(res, status, { error: error.message }, look);
    }
  };
}

async function runControl({ functions, params, raw }) {
  if (!Object.hasOwn(functions, params.name)) throw new HttpError(404, 'no such control');
  const args = raw.trim() ? JSON.parse(raw) : [];
  const result = await functions[params.name](...[args].flat());
  return { body: { result: result ?? null } };
}

function portalPage({ app, params }) {
  const link = app.state.portalLinks[params.key];
  if (!link) throw new HttpError(404, 'unknown link');
  if (link.used) throw new HttpError(410, 'This link has been used.');
  link.used = true;
  const rows = app.relay.state.endpoints.map((e) => `<li>${e.url}</li>`).join('');
  return {
    body: `<!doctype html><title>Webhooks</title><h1>Endpoints</h1><ul>${rows}</ul>`,
    type: 'text/html; charset=utf-8',
  };
}
