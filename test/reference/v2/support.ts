/** A V2 client as thin as curl: logs in once, asks, gives back what came. */
import { expect } from 'vitest';
import { problemOfAnswer } from '../../support/answers.ts';
import type { Answered, Rig } from '../support.ts';

export interface V2Client {
  get(path: string): Promise<Answered>;
  send(method: 'POST' | 'PATCH' | 'DELETE', path: string, body?: unknown): Promise<Answered>;
  /** Any request, with these headers only. */
  raw(method: string, path: string, headers: Record<string, string>): Promise<Answered>;
  /** A link of a document. */
  follow(link: string): Promise<Answered>;
}

async function answered(response: Response, method = 'GET'): Promise<Answered> {
  const text = await response.text();
  const { status, headers } = response;
  const body = text === '' ? undefined : JSON.parse(text);
  expect(problemOfAnswer(method, response.url, status, body)).toBeUndefined();
  return { status, headers, text, body };
}

async function logIn(rig: Rig, name: string): Promise<string> {
  const { clientId, clientSecret } = rig.reference.credentials[name] ?? {};
  const response = await fetch(`${rig.reference.v2Url}/auth/login`, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify({ clientId, clientSecret }),
  });
  return (await answered(response, 'POST')).body.data.token;
}

export async function v2Client(rig: Rig, name = 'plain'): Promise<V2Client> {
  const headers = { 'x-service-authorization': await logIn(rig, name) };
  const base = rig.reference.v2Url;
  return {
    get: async (path) => answered(await fetch(base + path, { headers })),
    follow: async (link) => answered(await fetch(link, { headers })),
    raw: async (method, path, only) =>
      answered(await fetch(base + path, { method, headers: only }), method),
    async send(method, path, body) {
      const response = await fetch(base + path, {
        method,
        headers:
          body === undefined ? headers : { ...headers, 'content-type': 'application/vnd.api+json' },
        ...(body === undefined ? {} : { body: JSON.stringify(body) }),
      });
      return answered(response, method);
    },
  };
}
