import { pathToFileURL } from 'node:url';
import { controls, createRelayListener } from './control.mjs';
import { makeHistory } from './history.mjs';
import { listen, shut } from './http.mjs';
import { defaults, parseFlags, usage } from './options.mjs';
import { generator } from './random.mjs';
import { createRelay } from './relay.mjs';
import { createV1 } from './v1.mjs';
import { createV2 } from './v2.mjs';
import { makeWorld } from './world.mjs';

const SYSTEM_KEY = 'nordlys';

export async function startStranger(options = {}) {
  const opts = defaults(options);
  const { state } = makeWorld(opts);
  const app = {
    opts,
    state,
    now: opts.now,
    timers: new Set(),
    addresses: {},
    random: generator(opts.seed + 104729),
  };
  const silent = { publish() {} }; // the past is not announced again
  app.relay = silent;
  const byHand = { syncDelivery: false, packAfter: null, shipAfter: null, lag: 0 };
  makeHistory({ ...app, opts: { ...opts, ...byHand } });
  app.relay = createRelay(opts);
  if (opts.webhook) app.relay.setEndpoint(opts.webhook, opts.webhookSecret);
  const functions = controls(app);
  const servers = await open(app, functions);
  return {
    v1: app.addresses.v1,
    v2: app.addresses.v2,
    relay: app.addresses.relay,
    credentials: credentialsOf(state),
    webhookSecret: app.relay.state.endpoints[0]?.secrets[0] ?? null,
    state,
    ...functions,
    close: () => closeAll(app, servers),
  };
}

async function open(app, functions) {
  const { opts } = app;
  const handlers = { v1: createV1(app), v2: createV2(app) };
  const split = opts.v2Port !== null;
  const servers = [];
  const start = async (handler, port) => {
    const { server, origin } = await listen(handler, port);
    servers.push(server);
    return origin;
  };
  try {
    const first = split ? { v1: handlers.v1 } : handlers;
    const v1Origin = await start(front(first), opts.port);
    const v2Origin = split ? await start(front({ v2: handlers.v2 }), opts.v2Port) : v1Origin;
    const relay = await start(createRelayListener(app, functions), opts.relayPort);
    Object.assign(app.addresses, {
      v1: `${v1Origin}/api/v1`,
      v2: `${v2Origin}/api/v2`,
      v2Origin,
      relay,
    });
  } catch (error) {
    await Promise.all(servers.map(shut)); // a taken port must not leave the others open
    throw error;
  }
  return servers;
}

function front(handlers) {
  return (req, res) => {
    const url = new URL(req.url, 'http://127.0.0.1');
    const version = /^\/api\/(v[12])(\/|$)/.exec(url.pathname)?.[1];
    if (version && handlers[version]) return handlers[version](req, res, url);
    res.writeHead(404, { 'content-type': 'text/html; charset=utf-8' });
    res.end('<!doctype html><title>Not Found</title><h1>404 | Not Found</h1>');
    return undefined;
  };
}

function credentialsOf(state) {
  const [main, plain, v2] = state.clients;
  return {
    systemKey: SYSTEM_KEY,
    v1: { clientID: main.id, clientSecret: main.secret },
    v1Plain: { clientID: plain.id, clientSecret: plain.secret },
    v2: { clientId: v2.id, clientSecret: v2.secret },
  };
}

async function closeAll(app, servers) {
  for (const timer of app.timers) clearTimeout(timer);
  app.timers.clear();
  app.relay.close();
  await Promise.all(servers.map(shut));
}

async function main() {
  const argv = process.argv.slice(2);
  if (argv.includes('--help')) {
    process.stdout.write(`${usage()}\n`);
    return;
  }
  const running = await startStranger(parseFlags(argv));
  const { v1, v2, relay, credentials, webhookSecret } = running;
  process.stdout.write(`${JSON.stringify({ v1, v2, relay, credentials, webhookSecret })}\n`);
  const stop = () => running.close().then(() => process.exit(0));
  process.once('SIGTERM', stop);
  process.once('SIGINT', stop);
}

if (process.argv[1] && import.meta.url === pathToFileURL(process.argv[1]).href) {
  main().catch((error) => {
    process.stderr.write(`${error.message}\n`);
    process.exitCode = 1;
  });
}
