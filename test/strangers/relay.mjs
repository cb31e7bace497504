import { createHmac } from 'node:crypto';
import { encode } from './php.mjs';
import { generator } from './random.mjs';

// The relay is Svix: it signs, sends, retries on its schedule and keeps a history. It promises
// at-least-once and no order, so messages go out side by side.

const SECOND = 1000;
const WAITS = [5, 300, 1800, 7200, 18000, 36000, 36000].map((s) => s * SECOND);
const TIMEOUT = 15 * SECOND;

export function signature(secret, id, timestamp, body) {
  const key = Buffer.from(secret.replace(/^whsec_/, ''), 'base64');
  return `v1,${createHmac('sha256', key).update(`${id}.${timestamp}.${body}`).digest('base64')}`;
}

export function createRelay(opts) {
  const random = generator(opts.seed + 7919);
  const relay = {
    opts,
    random,
    state: { endpoints: [], messages: [] },
    timers: new Set(),
    inFlight: new Set(),
    held: null,
    closed: false,
  };
  return {
    state: relay.state,
    publish: (type, rest) => publish(relay, type, rest),
    setEndpoint: (url, secret, types) => setEndpoint(relay, url, secret, types),
    removeEndpoint: () => {
      relay.state.endpoints.length = 0;
    },
    rotateSecret: (secret) => rotateSecret(relay, secret),
    history: () => structuredClone(relay.state.messages),
    resend: (id) => resend(relay, id),
    replayMissing: () => replayMissing(relay),
    pause: () => {
      relay.held ??= [];
    },
    resume: () => resume(relay),
    flush: () => flush(relay),
    close: () => close(relay),
  };
}

function newSecret(relay) {
  return `whsec_${relay.random.bytes(24).toString('base64')}`;
}

// A single endpoint is enough for a stand-in: setting it again replaces the former one.
function setEndpoint(relay, url, secret = null, types = null) {
  if (secret && !/^whsec_[A-Za-z0-9+/=]+$/.test(secret)) throw new Error('secret is not whsec_');
  const endpoint = {
    id: `ep_${relay.random.text(27)}`,
    url,
    types,
    secrets: [secret ?? newSecret(relay)],
  };
  relay.state.endpoints = [endpoint];
  return { url, secret: endpoint.secrets[0], types };
}

// Svix goes on signing with the former secret for a day, so that receivers can change over.
function rotateSecret(relay, secret = null) {
  const [endpoint] = relay.state.endpoints;
  if (!endpoint) throw new Error('no endpoint');
  endpoint.secrets = [secret ?? newSecret(relay), endpoint.secrets[0]];
  return endpoint.secrets[0];
}

function publish(relay, type, rest) {
  const message = {
    id: `msg_${relay.random.text(27)}`,
    type,
    attempts: [],
    body: encode({ type, ...rest }, relay.opts.php),
  };
  relay.state.messages.push(message);
  dispatch(relay, message);
  return message.id;
}

function dispatch(relay, message, again = false) {
  for (const endpoint of relay.state.endpoints) {
    const wanted = !endpoint.types || endpoint.types.includes(message.type);
    if (wanted) queue(relay, { message, endpoint, number: again ? WAITS.length : 0 });
  }
}

function queue(relay, job) {
  if (relay.closed) return;
  if (relay.held) {
    relay.held.push(job);
    return;
  }
  const running = attempt(relay, job).finally(() => relay.inFlight.delete(running));
  relay.inFlight.add(running);
}

function resume(relay) {
  const held = relay.held ?? [];
  relay.held = null;
  for (const job of held) queue(relay, job);
}

async function attempt(relay, job) {
  const { message, endpoint, number } = job;
  const at = relay.opts.now();
  const result = await post(endpoint, message, Math.floor(at / SECOND));
  message.attempts.push({ at, url: endpoint.url, ...result });
  // A replaced endpoint is not tried any further; its messages can be resent by hand.
  const current = relay.state.endpoints.includes(endpoint);
  if (result.ok || number >= WAITS.length || relay.closed || !current) return;
  const timer = setTimeout(() => {
    relay.timers.delete(timer);
    queue(relay, { message, endpoint, number: number + 1 });
  }, WAITS[number] * relay.opts.retryScale);
  timer.unref();
  relay.timers.add(timer);
}

async function post(endpoint, { id, body }, timestamp) {
  const headers = {
    'content-type': 'application/json',
    'user-agent': 'Svix-Webhooks/1.62.0 (+https://www.svix.com/http-sender/)',
    'svix-id': id,
    'svix-timestamp': String(timestamp),
    'svix-signature': endpoint.secrets.map((s) => signature(s, id, timestamp, body)).join(' '),
  };
  try {
    const answer = await fetch(endpoint.url, {
      method: 'POST',
      headers,
      body,
      redirect: 'manual',
      signal: AbortSignal.timeout(TIMEOUT),
    });
    await answer.arrayBuffer();
    return { ok: answer.status >= 200 && answer.status < 300, status: answer.status };
  } catch (error) {
    return { ok: false, status: 0, error: String(error?.cause?.code ?? error?.name) };
  }
}

// A hand-made resend keeps the id, gets a new timestamp and is tried once.
function resend(relay, id) {
  const message = relay.state.messages.find((m) => m.id === id);
  if (!message) throw new Error(`no message ${id}`);
  dispatch(relay, message, true);
  return flush(relay);
}

function replayMissing(relay) {
  const missing = relay.state.messages.filter((m) => !m.attempts.some((a) => a.ok));
  for (const message of missing) dispatch(relay, message, true);
  return flush(relay);
}

// Waits for what is on its way now; retries that wait for their time are not waited for.
async function flush(relay) {
  while (relay.inFlight.size > 0) await Promise.all(relay.inFlight);
}

function close(relay) {
  relay.closed = true;
  for (const timer of relay.timers) clearTimeout(timer);
  relay.timers.clear();
}
