import assert from 'node:assert/strict';
import { createHmac } from 'node:crypto';
import http from 'node:http';
import { startStranger } from './service.mjs';

// Shared parts of the tests: a service that ends with its test, callers and a webhook receiver.

const json = { 'content-type': 'application/json' };

export async function start(t, options = {}) {
  const service = await startStranger({ seed: 3, rate: 0, ...options });
  t.after(() => service.close());
  return service;
}

const OWN = 'x-service-authorization';

export async function call(base, method, path, { token, body, header = OWN } = {}) {
  const answer = await fetch(base + path, {
    method,
    headers: { ...json, ...(token ? { [header]: token } : {}) },
    body: body === undefined ? undefined : JSON.stringify(body),
  });
  const text = await answer.text();
  const parsed = text ? JSON.parse(text) : null;
  return { status: answer.status, headers: answer.headers, text, body: parsed };
}

export async function v1(service, who = 'v1') {
  const login = await call(service.v1, 'POST', '/auth/login', { body: service.credentials[who] });
  assert.equal(login.status, 200);
  const { token } = login.body.data;
  return {
    token,
    get: (path) => call(service.v1, 'GET', path, { token }),
    post: (path, body) => call(service.v1, 'POST', path, { token, body }),
  };
}

export async function v2(service) {
  const login = await call(service.v2, 'POST', '/auth/login', { body: service.credentials.v2 });
  const { token } = login.body.data;
  return {
    token,
    get: (path) => call(service.v2, 'GET', path, { token }),
    send: (method, path, body) => call(service.v2, method, path, { token, body }),
  };
}

// A receiver that answers with the given codes, then 204, and lets a test wait for n requests.
export async function receiver(t, codes = []) {
  const seen = [];
  const waiting = [];
  const server = http.createServer(async (req, res) => {
    let text = '';
    for await (const chunk of req) text += chunk;
    seen.push({ headers: req.headers, text, body: JSON.parse(text) });
    res.writeHead(codes.shift() ?? 204).end();
    for (const w of waiting) if (seen.length >= w.count) w.resolve();
  });
  await new Promise((resolve) => {
    server.listen(0, '127.0.0.1', resolve);
  });
  t.after(() => {
    server.close();
    server.closeAllConnections();
  });
  const arrived = (count) => {
    if (seen.length >= count) return Promise.resolve();
    return new Promise((resolve) => {
      waiting.push({ count, resolve });
    });
  };
  return { url: `http://127.0.0.1:${server.address().port}/webhooks`, seen, arrived };
}

export function verify(secret, { headers, text }) {
  const key = Buffer.from(secret.slice('whsec_'.length), 'base64');
  const signed = `${headers['svix-id']}.${headers['svix-timestamp']}.${text}`;
  const wanted = `v1,${createHmac('sha256', key).update(signed).digest('base64')}`;
  return headers['svix-signature'].split(' ').includes(wanted);
}
