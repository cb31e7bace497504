import type { AddressInfo } from 'node:net';
import { createServer } from 'node:net';
import { describe, expect, it } from 'vitest';
import { isNotFound } from '../../src/client/http/answer.ts';
import type { HttpRequest } from '../../src/client/http/request.ts';
import { manualClock } from '../../src/lib/clock.ts';
import {
  ConfigError,
  ConflictError,
  InDoubtError,
  LoginAgainError,
  RefusedError,
  RetryLaterError,
} from '../../src/lib/errors.ts';
import {
  answerJson,
  envelope,
  type Handler,
  impatient,
  rejection,
  startFaulty,
} from './support.ts';

function get(url: string, path = '/x'): HttpRequest {
  return { method: 'GET', url: url + path, priority: 'read' };
}

function post(url: string, path = '/orders'): HttpRequest {
  return { method: 'POST', url: url + path, priority: 'push', json: { reference: 'R-1' } };
}

async function drained(body: AsyncIterable<Buffer>): Promise<number> {
  let bytes = 0;
  for await (const chunk of body) bytes += chunk.length;
  return bytes;
}

const HTML = '<html><body>Bad gateway</body></html>';

const reset: Handler = (request) => request.socket.resetAndDestroy();
const silence: Handler = () => undefined;
const html502: Handler = (_request, response) => {
  response.writeHead(502, { 'content-type': 'text/html' }).end(HTML);
};
const truncated: Handler = (request, response) => {
  response.writeHead(201, { 'content-length': '400' });
  response.write('{"status":201,"data":{"orderId":', () => request.socket.destroy());
};
const drip: Handler = (_request, response) => {
  response.writeHead(200);
  const timer = setInterval(() => response.write(' '), 20);
  response.on('close', () => clearInterval(timer));
};
const halfJson: Handler = (_request, response) => {
  response.writeHead(200).end('{"status":200,"data":');
};

/** Nothing may take too long but what a test wants to: a busy machine needs its time. */
const LONG = { connectMs: 60_000, firstByteMs: 60_000, idleMs: 60_000, totalMs: 60_000 };
const NO_ANSWER = { ...LONG, firstByteMs: 200 };
const NO_PROGRESS = { ...LONG, idleMs: 200 };

describe('transport', () => {
  it('sends query, headers and JSON, and tells when it started', async () => {
    await using server = await startFaulty((request, response) => {
      answerJson(response, 201, { headers: request.headers });
    });
    await using transport = impatient();
    const before = Date.now();
    const answer = await transport.request({
      ...post(server.url),
      query: { detailed: true, page: 2, brandName: 'Å & B', left: undefined },
      headers: { 'x-own': 'yes' },
    });
    expect(server.seen).toEqual(['POST /orders?detailed=true&page=2&brandName=%C3%85+%26+B']);
    expect(server.bodies).toEqual(['{"reference":"R-1"}']);
    expect(answer.status).toBe(201);
    expect(answer.startedAt).toBeGreaterThanOrEqual(before);
    expect(answer.json).toMatchObject({
      headers: {
        ...{ 'x-own': 'yes', 'user-agent': 'selvedge' },
        ...{ 'accept-encoding': 'gzip, br', 'cache-control': 'no-cache' },
      },
    });
  });

  it.each([
    ['a reset', reset, 'transport.broken_connection', LONG],
    ['silence', silence, 'transport.first_byte_timeout', NO_ANSWER],
    ['a slow drip', drip, 'transport.idle_timeout', NO_PROGRESS],
    ['a body that is cut off', truncated, 'transport.broken_connection', LONG],
    ['half a JSON document', halfJson, 'transport.broken_answer', LONG],
    ['an HTML error page', html502, 'service.fault', LONG],
  ])('asks again after %s and then gives up for now', async (_name, handler, code, deadlines) => {
    await using server = await startFaulty(handler);
    await using transport = impatient({ deadlines });
    const error = await rejection(transport.request(get(server.url)));
    expect(error).toBeInstanceOf(RetryLaterError);
    expect(error).toMatchObject({ code });
    expect(server.seen).toHaveLength(3);
    expect(transport.stats()).toMatchObject({ requests: 3, retries: 2 });
  });

  it('comes through when the fault passes', async () => {
    await using server = await startFaulty((request, response, nth) => {
      if (nth < 3) reset(request, response, nth);
      else answerJson(response, 200, { fine: true });
    });
    await using transport = impatient();
    expect((await transport.request(get(server.url))).json).toEqual({ fine: true });
  });

  it.each([
    ['a reset', reset, LONG],
    ['silence', silence, NO_ANSWER],
    ['a slow drip', drip, NO_PROGRESS],
    ['a 201 that is cut off', truncated, LONG],
    ['half a JSON document', halfJson, LONG],
    ['an HTML error page', html502, LONG],
  ])(
    'is in doubt after %s to a POST, and sends it once only',
    async (_name, handler, deadlines) => {
      await using server = await startFaulty(handler);
      await using transport = impatient({ deadlines });
      const error = await rejection(transport.request(post(server.url)));
      expect(error).toBeInstanceOf(InDoubtError);
      expect(error).toMatchObject({ code: 'transport.in_doubt' });
      expect(server.seen).toHaveLength(1);
    },
  );

  it.each([
    [400, envelope(400, {}), RefusedError, 'service.bad_request'],
    [401, envelope(401, {}), LoginAgainError, 'service.unauthorized'],
    [403, envelope(403, {}), RefusedError, 'service.forbidden'],
    [404, envelope(404, {}), RefusedError, 'service.not_found'],
    [409, envelope(409, {}), ConflictError, 'service.conflict'],
    [415, envelope(415, {}), RefusedError, 'service.bad_media_type'],
    [422, { status: 422, message: 'no', invalid_data: ['a: b'] }, RefusedError, 'service.invalid'],
    [429, envelope(429, {}), RetryLaterError, 'service.too_fast'],
    [503, envelope(503, {}), RetryLaterError, 'service.unavailable'],
    [503, HTML, InDoubtError, 'transport.in_doubt'],
    [429, HTML, RetryLaterError, 'service.too_fast'],
    [429, '', RetryLaterError, 'service.too_fast'],
    [404, HTML, InDoubtError, 'transport.in_doubt'],
    [404, { message: 'no route' }, InDoubtError, 'transport.in_doubt'],
    [409, { error: 'x', message: 'of a proxy' }, InDoubtError, 'transport.in_doubt'],
    [503, envelope(500, {}), InDoubtError, 'transport.in_doubt'],
    [429, envelope(200, {}), RetryLaterError, 'service.too_fast'],
    [404, envelope(201, { orderId: 7 }), InDoubtError, 'transport.in_doubt'],
    [500, envelope(500, {}), InDoubtError, 'transport.in_doubt'],
    [504, '', InDoubtError, 'transport.in_doubt'],
    [302, envelope(302, {}), InDoubtError, 'transport.in_doubt'],
    [400, { errors: [{ detail: 'x' }] }, RefusedError, 'service.bad_request'],
    [422, { errors: [{ status: '422' }, {}] }, RefusedError, 'service.invalid'],
    [400, { errors: [{ status: 404 }, { status: '422' }] }, RefusedError, 'service.bad_request'],
    [503, { errors: [{ status: '500' }] }, InDoubtError, 'transport.in_doubt'],
    [429, { errors: [{ status: '502' }] }, RetryLaterError, 'service.too_fast'],
    [404, { errors: [{ status: '201' }] }, InDoubtError, 'transport.in_doubt'],
    [401, { errors: [{ status: '504' }] }, InDoubtError, 'transport.in_doubt'],
    [400, { errors: [{ status: '400' }, { status: 500 }] }, RefusedError, 'service.bad_request'],
    [400, { errors: [{ status: '404' }, { status: 500 }] }, InDoubtError, 'transport.in_doubt'],
  ])('takes %i with %j to a POST for what it proves', async (status, body, type, code) => {
    await using server = await startFaulty((_request, response) => {
      if (typeof body === 'string') response.writeHead(status).end(body);
      else answerJson(response, status, body);
    });
    await using transport = impatient();
    const error = await rejection(transport.request(post(server.url)));
    expect(error).toBeInstanceOf(type);
    expect(error).toMatchObject({ code });
    expect(server.seen).toHaveLength(1);
  });

  it.each([
    [404, envelope(404, {}), true],
    [410, { errors: [{ status: '410' }] }, true],
    [404, HTML, false],
    [404, 'default backend - 404', false],
    [410, envelope(200, {}), false],
  ])('believes after %i with %j that there is no such thing: %j', async (status, body, isGone) => {
    await using server = await startFaulty((_request, response) => {
      if (typeof body === 'string') response.writeHead(status).end(body);
      else answerJson(response, status, body);
    });
    await using transport = impatient();
    const error = await rejection(transport.request(get(server.url)));
    expect(error).toBeInstanceOf(RefusedError);
    expect(isNotFound(error)).toBe(isGone);
  });

  it('keeps the lines of a 422 and of a list of errors', async () => {
    const bodies = [
      { status: 422, message: 'invalid', invalid_data: ['reference: is required'] },
      { errors: [{ detail: 'unknown', source: { parameter: 'include' } }] },
    ];
    await using server = await startFaulty((_request, response, nth) => {
      answerJson(response, 422, bodies[nth - 1]);
    });
    await using transport = impatient();
    const first = await rejection(transport.request(post(server.url)));
    const second = await rejection(transport.request(post(server.url)));
    expect(first).toMatchObject({ lines: ['reference: is required'] });
    expect(second).toMatchObject({ lines: ['include: unknown'] });
  });

  it('keeps the lines of a refusal that has one for each of 5,000 lines of an order', async () => {
    const line = (at: number) => `orderLineItems.${at}.barcode: is not a barcode of this season`;
    const lines = Array.from({ length: 5_000 }, (_, at) => line(at));
    await using server = await startFaulty((_request, response) => {
      answerJson(response, 422, { status: 422, message: 'invalid', invalid_data: lines });
    });
    await using transport = impatient();
    const error = await rejection(transport.request(post(server.url)));
    expect(error).toMatchObject({ code: 'service.invalid', lines });
  });

  it.each([422, 500])('cuts the message of a %i that is as long as a page', async (status) => {
    await using server = await startFaulty((_request, response) => {
      answerJson(response, status, { status, message: `no stock ${'at x '.repeat(100_000)}` });
    });
    await using transport = impatient();
    const error = await rejection(transport.request(post(server.url)));
    expect(error).toMatchObject({ message: expect.stringContaining('no stock at x') });
    expect(String(error).length).toBeLessThan(1_100);
  });

  it('knows that a request was not sent when nobody listens', async () => {
    const probe = createServer();
    await new Promise<void>((resolve) => probe.listen(0, '127.0.0.1', resolve));
    const { port } = probe.address() as AddressInfo;
    await new Promise((resolve) => probe.close(resolve));
    await using transport = impatient();
    const error = await rejection(transport.request(post(`http://127.0.0.1:${port}`)));
    expect(error).toBeInstanceOf(RetryLaterError);
    expect(error).toMatchObject({ code: 'transport.not_sent' });
    expect(error).toMatchObject({ hint: expect.stringContaining('nothing listens') });
  });

  it('knows that a request was not sent when TLS fails', async () => {
    // A server that speaks plain HTTP where TLS is expected.
    await using server = await startFaulty(html502);
    await using transport = impatient();
    const url = server.url.replace('http:', 'https:');
    expect(await rejection(transport.request(post(url)))).toMatchObject({
      code: 'transport.not_sent',
    });
  });

  it('knows that a request was not sent when the connection takes too long', async () => {
    // Accepts the connection and never answers the TLS greeting.
    const mute = createServer((socket) => socket.resume());
    await new Promise<void>((resolve) => mute.listen(0, '127.0.0.1', resolve));
    const { port } = mute.address() as AddressInfo;
    await using transport = impatient({
      deadlines: { ...LONG, connectMs: 100 },
    });
    const error = await rejection(transport.request(post(`https://127.0.0.1:${port}`)));
    expect(error).toMatchObject({ code: 'transport.not_sent', name: 'RetryLaterError' });
    await new Promise((resolve) => mute.close(resolve));
  });

  it('gives the reason of the caller when a GET is called off, and doubt for a POST', async () => {
    await using server = await startFaulty(silence);
    await using transport = impatient();
    const stop = new AbortController();
    const reason = new Error('enough');
    const read = rejection(transport.request({ ...get(server.url), signal: stop.signal }));
    const push = rejection(transport.request({ ...post(server.url), signal: stop.signal }));
    await expect.poll(() => server.seen.length).toBe(2);
    stop.abort(reason);
    expect(await read).toBe(reason);
    expect(await push).toBeInstanceOf(InDoubtError);
    const late = await rejection(transport.request({ ...post(server.url), signal: stop.signal }));
    expect(late).toMatchObject({ code: 'transport.not_sent' });
  });

  it.each([
    ['a number of seconds', () => '7', 7_000],
    ['a date', (now: number) => new Date(now + 9_000).toUTCString(), 9_000],
  ])('waits as long as Retry-After says, given as %s', async (_name, header, waitMs) => {
    const clock = manualClock();
    await using server = await startFaulty((_request, response, nth) => {
      if (nth > 1) answerJson(response, 200, {});
      else {
        response.setHeader('retry-after', header(clock.now()));
        answerJson(response, 429, envelope(429, {}));
      }
    });
    await using transport = impatient({}, clock);
    const answer = transport.request(get(server.url));
    await expect.poll(() => transport.stats().retries).toBe(1);
    await clock.advance(waitMs - 1);
    expect(server.seen).toHaveLength(1);
    await clock.advance(2);
    expect((await answer).status).toBe(200);
  });

  it.each([
    [503, '600', 'service.unavailable', 600_000],
    [502, '600', 'service.fault', 600_000],
    [408, '600', 'service.fault', 600_000],
    [503, '31536000', 'service.unavailable', 3_600_000],
  ])(
    'hands a long Retry-After on instead of sitting on it: %i after %s s',
    async (status, seconds, code, retryAfterMs) => {
      await using server = await startFaulty((_request, response) => {
        response.setHeader('retry-after', seconds);
        answerJson(response, status, envelope(status, {}));
      });
      await using transport = impatient();
      const error = await rejection(transport.request(get(server.url)));
      expect(error).toMatchObject({ name: 'RetryLaterError', code, retryAfterMs });
      expect(server.seen).toHaveLength(1);
    },
  );

  it('refuses an answer that is larger than allowed', async () => {
    await using server = await startFaulty((_request, response) => {
      response.writeHead(200).end(Buffer.alloc(100_000, ' '));
    });
    await using transport = impatient({ bodyBytesMax: 50_000 });
    const error = await rejection(transport.request(get(server.url)));
    expect(error).toMatchObject({ code: 'transport.too_large' });
    expect(server.seen).toHaveLength(1);
  });

  it.each([
    ['of a told length', true],
    ['of an untold length', false],
  ])("gives a body %s in memory that is nobody else's", async (_name, isTold) => {
    const whole = Buffer.from(Array.from({ length: 200_000 }, (_, at) => 32 + (at % 90)));
    await using server = await startFaulty((_request, response) => {
      response.writeHead(200, isTold ? { 'content-length': whole.length } : {});
      response.write(whole.subarray(0, 90_000), () => response.end(whole.subarray(90_000)));
    });
    await using transport = impatient();
    const { value } = await transport.send(get(server.url), (body) => body);
    expect(value.equals(whole)).toBe(true);
    expect(value.buffer.byteLength).toBe(whole.length);
  });

  it('reads of an endless error page only what its message needs', async () => {
    let closed = 0;
    await using server = await startFaulty((_request, response) => {
      response.on('close', () => {
        closed += 1;
      });
      response.writeHead(502, { 'content-type': 'text/html' });
      const more = (): void => {
        while (response.write(HTML.repeat(100)));
        response.once('drain', more);
      };
      more();
    });
    await using transport = impatient();
    const error = await rejection(transport.request(get(server.url)));
    expect(error).toMatchObject({ code: 'service.fault', message: expect.stringContaining(HTML) });
    await expect.poll(() => closed).toBe(3);
    expect(transport.limiter.active()).toBe(0);
  });

  it('does not follow redirects', async () => {
    await using server = await startFaulty((_request, response) => {
      response.writeHead(302, { location: '/elsewhere' }).end();
    });
    await using transport = impatient();
    const error = await rejection(transport.request(get(server.url)));
    expect(error).toMatchObject({ code: 'service.unexpected_status' });
    expect(server.seen).toEqual(['GET /x']);
  });

  it('streams a body in bounded memory at the pace of the consumer', async () => {
    const total = 30_000_000;
    let written = 0;
    await using server = await startFaulty((_request, response) => {
      const piece = Buffer.alloc(50_000, 'x');
      const more = (): void => {
        while (written < total) {
          written += piece.length;
          if (!response.write(piece)) {
            response.once('drain', more);
            return;
          }
        }
        response.end();
      };
      response.writeHead(200);
      more();
    });
    const clock = manualClock();
    await using transport = impatient(
      { deadlines: { ...LONG, idleMs: 200, totalMs: 3_600_000 } },
      clock,
    );
    const { body } = await transport.stream(get(server.url));
    const first = await body.next();
    // The consumer pauses for longer than the idle deadline: the server is held back meanwhile.
    await expect.poll(() => transport.stats().bytesReceived).toBeGreaterThan(1_000_000);
    await clock.advance(60_000);
    expect(written).toBeLessThan(total);
    expect((first.value?.length ?? 0) + (await drained(body))).toBe(total);
    expect(transport.stats().bytesReceived).toBe(total);
    expect(transport.limiter.active()).toBe(0);
  });

  it('says that a stream broke off, and frees its place when the reader leaves', async () => {
    await using server = await startFaulty((request, response, nth) => {
      response.writeHead(200);
      response.write('x'.repeat(5_000), () => {
        if (nth === 1) request.socket.resetAndDestroy();
      });
    });
    await using transport = impatient();
    const broken = await transport.stream(get(server.url));
    const error = await rejection(drained(broken.body));
    expect(error).toMatchObject({ name: 'RetryLaterError', code: 'transport.broken_connection' });
    const left = await transport.stream(get(server.url));
    for await (const _chunk of left.body) break;
    expect(transport.limiter.active()).toBe(0);
  });

  it('talks plain HTTP to this machine only', async () => {
    await using transport = impatient();
    const error = await rejection(transport.request(post('http://key.example.com')));
    expect(error).toBeInstanceOf(ConfigError);
    expect(transport.limiter.active()).toBe(0);
  });

  it.each(['{"status":404,"message":"Nothing fou', '\n[{"status"'])(
    'asks again where the answer 404 ends too early: %s',
    async (text) => {
      let answers = 0;
      await using server = await startFaulty((_request, response) => {
        answers += 1;
        if (answers > 1) answerJson(response, 200, { fine: true });
        else response.writeHead(404, { 'content-type': 'application/json' }).end(text);
      });
      await using transport = impatient();
      expect((await transport.request(get(server.url))).json).toEqual({ fine: true });
    },
  );

  it.each<[string, typeof RefusedError | typeof RetryLaterError]>([
    ['{"status":404,"message":"Nothing fou', RetryLaterError],
    ['{"error":"No route "x"",}', RefusedError],
    ['{"status":404}<br>Warning', RefusedError],
    ['[404] Not Found', RefusedError],
    [`{"trace":"${'.'.repeat(70_000)}`, RefusedError],
  ])('takes a 404 that always ends so for no word of the service: %.40s', async (text, kind) => {
    await using server = await startFaulty((_request, response) => {
      response.writeHead(404, { 'content-type': 'application/json' }).end(text);
    });
    await using transport = impatient();
    const error = await rejection(transport.request(get(server.url)));
    expect(error).toBeInstanceOf(kind);
    expect(error).toMatchObject({ code: 'service.no_such_page' });
  });

  it('reads over a byte order mark', async () => {
    await using server = await startFaulty((_request, response) => {
      response.writeHead(200).end('\ufeff{"fine":true}');
    });
    await using transport = impatient();
    expect((await transport.request(get(server.url))).json).toEqual({ fine: true });
  });

  it('measures how far the clock of the service is off', async () => {
    const clock = manualClock();
    await using server = await startFaulty((_request, response) => {
      response.setHeader('date', new Date(clock.now() + 90_000).toUTCString());
      answerJson(response, 200, {});
    });
    await using transport = impatient({}, clock);
    await transport.request(get(server.url));
    expect(transport.stats().clockOffsetMs).toBe(90_000);
  });
});
