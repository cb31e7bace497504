import { describe, expect, it } from 'vitest';
import type { HttpRequest } from '../../src/client/http/request.ts';
import {
  createLoginGate,
  createSession,
  type LoginCredential,
  type LoginSpacing,
} from '../../src/client/session.ts';
import type { Sender, Transport } from '../../src/client/transport.ts';
import { type Clock, manualClock, systemClock } from '../../src/lib/clock.ts';
import { RetryLaterError } from '../../src/lib/errors.ts';
import { createScrubber, Secret } from '../../src/lib/secret.ts';
import { answerJson, envelope, impatient, rejection, startFaulty } from './support.ts';

interface Service {
  readonly url: string;
  readonly logins: number[];
  readonly work: string[];
  valid: string | undefined;
  acceptsNothing: boolean;
  /** Answers of the next log-ins in place of a token. */
  readonly refusals: { status: number; headers?: Record<string, string> }[];
  close(): Promise<void>;
}

async function startService(clock: Clock): Promise<Service> {
  const logins: number[] = [];
  const work: string[] = [];
  const server = await startFaulty((request, response) => {
    if (request.url === '/auth/login') {
      logins.push(clock.now());
      const refusal = service.refusals.shift();
      if (refusal) {
        for (const [name, value] of Object.entries(refusal.headers ?? {})) {
          response.setHeader(name, value);
        }
        answerJson(response, refusal.status, envelope(refusal.status, {}, 'no'));
        return;
      }
      service.valid = `token-${logins.length}`;
      answerJson(response, 200, envelope(200, { token: service.valid }));
      return;
    }
    const token = String(request.headers['x-service-authorization']);
    work.push(`${request.method} ${request.url} ${token}`);
    const accepted = token === service.valid && !service.acceptsNothing;
    const status = accepted ? 200 : 401;
    answerJson(response, status, envelope(status, {}));
  });
  const service: Service = {
    url: server.url,
    logins,
    work,
    valid: undefined,
    acceptsNothing: false,
    refusals: [],
    close: async () => server[Symbol.asyncDispose](),
  };
  return service;
}

function inMemory(last?: number): LoginSpacing & { last: number | undefined } {
  const kept = {
    last,
    lastLoginAt: () => kept.last,
    recordLogin(at: number) {
      kept.last = at;
    },
  };
  return kept;
}

function loginAt(url: string): LoginCredential {
  return {
    kind: 'login',
    url: `${url}/auth/login`,
    header: 'x-service-authorization',
    idMember: 'clientID',
    secretMember: 'clientSecret',
    clientId: 'erp',
    clientSecret: new Secret('client secret', 'open sesame'),
    tokenPointers: ['/token', '/data/token'],
  };
}

interface House {
  readonly session: Sender;
  readonly service: Service;
  readonly transport: Transport;
  readonly scrub: (text: string) => string;
}

async function house(
  use: (house: House) => Promise<void>,
  options: { clock?: Clock; spacing?: LoginSpacing } = {},
): Promise<void> {
  const clock = options.clock ?? systemClock();
  const service = await startService(clock);
  const scrubber = createScrubber();
  const transport = impatient({}, clock, scrubber);
  // The system clock cannot be stepped: there the spacing is as good as none.
  const spacingMs = options.clock ? 6_000 : 1;
  const gate = createLoginGate(clock, options.spacing ?? inMemory(), spacingMs);
  const credential = loginAt(service.url);
  const session = createSession(credential, { transport, clock, scrubber, gate });
  try {
    await use({ session, service, transport, scrub: scrubber.scrub });
  } finally {
    await transport[Symbol.asyncDispose]();
    await service.close();
  }
}

const read = (url: string): HttpRequest => ({ method: 'GET', url: `${url}/r`, priority: 'read' });
const push = (url: string): HttpRequest => ({
  method: 'POST',
  url: `${url}/p`,
  priority: 'push',
  json: {},
});

describe('session', () => {
  it('logs in once for all who wait, and the token is a secret from then on', async () => {
    await house(async ({ session, service, scrub }) => {
      await Promise.all(Array.from({ length: 20 }, () => session.request(read(service.url))));
      expect(service.logins).toHaveLength(1);
      expect(service.work).toHaveLength(20);
      expect(scrub('header token-1!')).toBe('header [secret token]!');
    });
  });

  it('logs in once more when the token dies, and repeats reads and writes once', async () => {
    await house(async ({ session, service }) => {
      await session.request(read(service.url));
      service.valid = 'revoked';
      const calls = [read, read, push, read].map((make) => session.request(make(service.url)));
      await Promise.all(calls);
      expect(service.logins).toHaveLength(2);
      expect(service.work.filter((line) => line.startsWith('POST'))).toEqual([
        'POST /p token-1',
        'POST /p token-2',
      ]);
    });
  });

  it('gives up for now when a fresh token is refused as well', async () => {
    await house(async ({ session, service }) => {
      service.acceptsNothing = true;
      const error = await rejection(session.request(push(service.url)));
      expect(error).toMatchObject({ name: 'RetryLaterError', code: 'session.token_refused' });
      expect(service.work).toEqual(['POST /p token-1', 'POST /p token-2']);
    });
  });

  it('keeps log-ins six seconds apart, also after a restart', async () => {
    const clock = manualClock();
    const spacing = inMemory(clock.now() - 2_000);
    await house(
      async ({ session, service }) => {
        const first = session.request(read(service.url));
        await clock.advance(3_999);
        expect(service.logins).toHaveLength(0);
        await clock.advance(1);
        await first;
        expect(spacing.last).toBe(clock.now());
        service.valid = 'revoked';
        const second = session.request(read(service.url));
        await expect.poll(() => service.work.length).toBe(2);
        await clock.advance(5_999);
        expect(service.logins).toHaveLength(1);
        await clock.advance(1);
        await second;
        expect(service.logins).toHaveLength(2);
      },
      { clock, spacing },
    );
  });

  it('is not locked out by a clock that was set back', async () => {
    const clock = manualClock();
    await house(
      async ({ session, service }) => {
        const call = session.request(read(service.url));
        await clock.advance(6_000);
        await call;
        expect(service.logins).toHaveLength(1);
      },
      { clock, spacing: inMemory(clock.now() + 86_400_000) },
    );
  });

  it('waits as long as the service asks before it logs in again', async () => {
    const clock = manualClock();
    await house(
      async ({ session, service }) => {
        service.refusals.push({ status: 429, headers: { 'retry-after': '20' } });
        const call = session.request(read(service.url));
        await expect.poll(() => service.logins.length).toBe(1);
        await clock.advance(19_000);
        expect(service.logins).toHaveLength(1);
        await clock.advance(2_000);
        await call;
        expect(service.logins).toHaveLength(2);
      },
      { clock },
    );
  });

  it('tells its waiters when the service asks for a long wait, instead of hanging', async () => {
    const clock = manualClock();
    await house(
      async ({ session, service }) => {
        service.refusals.push({ status: 429, headers: { 'retry-after': '600' } });
        const first = await rejection(session.request(read(service.url)));
        expect(first).toMatchObject({ code: 'service.too_fast', retryAfterMs: 600_000 });
        const next = rejection(session.request(push(service.url)));
        await clock.advance(6_000);
        expect(await next).toMatchObject({ code: 'session.login_held', retryAfterMs: 594_000 });
        expect(service.logins).toHaveLength(1);
      },
      { clock },
    );
  });

  it('does not try refused credentials again for a minute, and nothing was sent', async () => {
    const clock = manualClock();
    await house(
      async ({ session, service }) => {
        service.refusals.push({ status: 401 });
        const error = await rejection(session.request(push(service.url)));
        expect(error).toBeInstanceOf(RetryLaterError);
        expect(error).toMatchObject({
          code: 'session.login_refused',
          hint: expect.stringContaining('client secret'),
        });
        await clock.advance(30_000);
        await rejection(session.request(read(service.url)));
        expect(service.logins).toHaveLength(1);
        await clock.advance(31_000);
        await session.request(read(service.url));
        expect(service.logins).toHaveLength(2);
        expect(service.work).toHaveLength(1);
      },
      { clock },
    );
  });

  it('sends a log-in when its time is durable, and the next one in its own time', async () => {
    const clock = manualClock();
    const durable = Promise.withResolvers<void>();
    const spacing = inMemory();
    const recordLogin = async (): Promise<void> => {
      await durable.promise;
      spacing.last = clock.now();
    };
    const gate = createLoginGate(clock, { ...spacing, recordLogin }, 6_000);
    const passed: number[] = [];
    for (const _ of [1, 2]) void gate.pass().then(() => passed.push(clock.monotonic()));
    await clock.advance(10_000);
    expect(passed).toEqual([]);
    durable.resolve();
    await clock.advance(10_000);
    expect(passed).toEqual([10_000, 16_000]);
  });

  it('holds log-ins for the longest of the waits that were asked for', async () => {
    const clock = manualClock();
    const gate = createLoginGate(clock, inMemory(), 6_000);
    gate.hold(20_000);
    gate.hold(0);
    let hasPassed = false;
    void gate.pass().then(() => {
      hasPassed = true;
    });
    await clock.advance(19_000);
    gate.hold(10_000);
    await clock.advance(9_999);
    expect(hasPassed).toBe(false);
    await clock.advance(1);
    expect(hasPassed).toBe(true);
  });

  it('tells its waiters after the third log-in that failed, each sent in its time', async () => {
    const clock = manualClock();
    const begin = clock.now();
    await house(
      async ({ session, service }) => {
        service.refusals.push({ status: 503 }, { status: 503 }, { status: 503 });
        const call = rejection(session.request(push(service.url)));
        for (const nth of [1, 2, 3]) {
          await expect.poll(() => service.logins.length).toBe(nth);
          if (nth < 3) await clock.advance(6_000);
        }
        expect(await call).toMatchObject({ code: 'service.unavailable' });
        expect(service.logins.map((at) => at - begin)).toEqual([0, 6_000, 12_000]);
      },
      { clock },
    );
  });

  it('takes no empty token, and says where it looked and when to try again', async () => {
    await using server = await startFaulty((_request, response) => {
      answerJson(response, 200, envelope(200, { token: '' }));
    });
    await using transport = impatient();
    const clock = systemClock();
    const gate = createLoginGate(clock, inMemory(), 1);
    const deps = { transport, clock, scrubber: createScrubber(), gate };
    const session = createSession(loginAt(server.url), deps);
    expect(await rejection(session.request(push(server.url)))).toMatchObject({
      code: 'session.login_refused',
      retryAfterMs: 55_000,
      hint: expect.stringContaining('/token, /data/token'),
    });
  });

  it('keeps the token that came after one that is refused late', async () => {
    const late = Promise.withResolvers<void>();
    let logins = 0;
    const keys: unknown[] = [];
    await using server = await startFaulty(async (request, response) => {
      if (request.url === '/auth/login') {
        logins += 1;
        answerJson(response, 200, envelope(200, { token: `token-${logins}` }));
        return;
      }
      keys.push(request.headers['idempotency-key']);
      const isFirst = request.headers['x-service-authorization'] === 'token-1';
      if (isFirst && request.method === 'POST') await late.promise;
      answerJson(response, isFirst ? 401 : 200, envelope(isFirst ? 401 : 200, {}));
    });
    await using transport = impatient();
    const clock = systemClock();
    const gate = createLoginGate(clock, inMemory(), 1);
    const deps = { transport, clock, scrubber: createScrubber(), gate };
    const session = createSession(loginAt(server.url), deps);
    const headers = { 'idempotency-key': 'k' };
    const slow = session.request({ ...push(server.url), headers });
    await expect.poll(() => keys.length).toBe(1);
    await session.request(read(server.url));
    late.resolve();
    expect((await slow).status).toBe(200);
    expect([logins, keys]).toEqual([2, ['k', undefined, undefined, 'k']]);
  });

  it('stops waiting for a log-in when the process stops', async () => {
    const clock = manualClock();
    const stop = new AbortController();
    const gate = createLoginGate(clock, inMemory(clock.now()), 6_000, stop.signal);
    const passing = rejection(gate.pass());
    await clock.advance(1_000);
    stop.abort(new Error('SIGTERM'));
    expect(await passing).toMatchObject({ name: 'RetryLaterError', code: 'session.stopped' });
    expect(clock.pending()).toBe(0);
  });

  it('lets one waiter leave without stopping the log-in of the others', async () => {
    const clock = manualClock();
    await house(
      async ({ session, service }) => {
        const stop = new AbortController();
        const leaves = rejection(session.request({ ...read(service.url), signal: stop.signal }));
        const stays = session.request(read(service.url));
        const write = rejection(session.request({ ...push(service.url), signal: stop.signal }));
        stop.abort(new Error('left'));
        expect(await leaves).toMatchObject({ message: 'left' });
        expect(await write).toMatchObject({ code: 'transport.not_sent', message: 'left' });
        const late = session.request({ ...read(service.url), signal: stop.signal });
        expect(await rejection(late)).toMatchObject({ message: 'left' });
        await clock.advance(6_000);
        await stays;
        expect(service.logins).toHaveLength(1);
      },
      { clock, spacing: inMemory(clock.now()) },
    );
  });

  it('sends a static key as it is and says which key was refused', async () => {
    const results: string[] = [];
    await house(async ({ service, transport }) => {
      const clock = systemClock();
      const key = new Secret('api key', 'key-1');
      const session = createSession(
        { kind: 'key', header: 'x-service-authorization', key },
        {
          transport,
          clock,
          scrubber: createScrubber(),
          gate: createLoginGate(clock, inMemory(), 0),
          onLogin: (result) => void results.push(result),
        },
      );
      service.valid = 'key-1';
      expect((await session.request(read(service.url))).status).toBe(200);
      service.valid = 'key-2';
      const error = await rejection(session.request(push(service.url)));
      expect(error).toBeInstanceOf(RetryLaterError);
      expect(error).toMatchObject({ code: 'session.key_refused', retryAfterMs: 55_000 });
      expect(service.logins).toHaveLength(0);
      service.valid = 'key-1';
      for (const _again of [1, 2]) await session.request(read(service.url));
      expect(results).toEqual(['refused', 'done']);
    });
  });

  it('puts the word before a token where the account wants it, and never twice', async () => {
    const sent: unknown[] = [];
    await using server = await startFaulty((request, response) => {
      sent.push(request.headers.authorization);
      const token = sent.length > 2 ? 'Bearer t-2' : 't-1';
      answerJson(response, 200, envelope(200, { token }));
    });
    await using transport = impatient();
    const clock = systemClock();
    const deps = { transport, clock, scrubber: createScrubber() };
    const scheme = 'bearer' as const;
    const header = 'authorization';
    const login = { ...loginAt(server.url), header, scheme };
    for (const credential of [
      login,
      { kind: 'key' as const, header, scheme, key: new Secret('k', 'key-1') },
      login,
    ]) {
      const gate = createLoginGate(clock, inMemory(), 0);
      await createSession(credential, { ...deps, gate }).request(read(server.url));
    }
    expect(sent).toEqual([...[undefined, 'Bearer t-1', 'Bearer key-1', undefined, 'Bearer t-2']]);
  });

  it('finds the token of a log-in without an envelope', async () => {
    await using server = await startFaulty((_request, response) => {
      answerJson(response, 200, { token: 't-1' });
    });
    await using transport = impatient();
    const clock = systemClock();
    const gate = createLoginGate(clock, inMemory(), 0);
    const deps = { transport, clock, scrubber: createScrubber(), gate };
    const credential = { ...loginAt(server.url), tokenPointers: ['/data/token'] };
    expect((await createSession(credential, deps).request(read(server.url))).status).toBe(200);
  });

  it('lets no request leave with a dead token, however long it has queued', async () => {
    const clock = manualClock();
    const service = await startService(clock);
    const scrubber = createScrubber();
    await using transport = impatient({ requestsPerSecond: 2, concurrencyMax: 4 }, clock, scrubber);
    const gate = createLoginGate(clock, inMemory(), 100);
    const session = createSession(loginAt(service.url), { transport, clock, scrubber, gate });
    const first = session.request(read(service.url));
    await expect
      .poll(async () => {
        await clock.advance(100);
        return service.work.length;
      })
      .toBe(1);
    await first;
    const queued = Array.from({ length: 30 }, (_, nth) =>
      session.request(nth % 3 === 0 ? push(service.url) : read(service.url)),
    );
    service.valid = 'revoked';
    await expect
      .poll(
        async () => {
          await clock.advance(250);
          return service.work.filter((line) => line.endsWith('token-2')).length;
        },
        { timeout: 20_000 },
      )
      .toBe(30);
    await Promise.all(queued);
    // Only the requests that were under way when the token died have it.
    const dead = service.work.slice(1).filter((line) => line.endsWith('token-1'));
    expect(dead.length).toBeLessThanOrEqual(4);
    expect(service.work.slice(1 + dead.length).every((line) => line.endsWith('token-2'))).toBe(
      true,
    );
    expect(service.logins).toHaveLength(2);
    await service.close();
  });
});
