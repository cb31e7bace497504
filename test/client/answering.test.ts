/** Answers that show that the service is there, and what else a request may end with. */
import { expect, it } from 'vitest';
import { createAnswering, type Heard } from '../../src/client/answering.ts';
import type { HttpRequest } from '../../src/client/http/request.ts';
import { createTransport, TRANSPORT_DEFAULTS } from '../../src/client/transport.ts';
import { manualClock, systemClock } from '../../src/lib/clock.ts';
import { seededRandom } from '../../src/lib/random.ts';
import { createScrubber } from '../../src/lib/secret.ts';
import { envelope, type Handler, startFaulty } from './support.ts';

const says =
  (status: number, body: unknown, headers: Readonly<Record<string, string>> = {}): Handler =>
  (_request, response) => {
    const text = typeof body === 'string' ? body : JSON.stringify(body);
    response.writeHead(status, headers).end(text);
  };
const PAGE = '<html><body>Bad gateway</body></html>';

/** Ends of one request to a server that behaves like this, as `kind: why`. */
async function heardFrom(url: string, more: Partial<HttpRequest> = {}): Promise<string[]> {
  const heard: Heard[] = [];
  const options = { ...TRANSPORT_DEFAULTS, requestsPerSecond: undefined, retryWaitsMs: [] };
  await using transport = createTransport(
    { ...options, deadlines: { ...options.deadlines, firstByteMs: 200, idleMs: 200 } },
    {
      ...{ clock: systemClock(), random: seededRandom(1), scrubber: createScrubber() },
      onAsked: () => (one) => one && heard.push(one),
    },
  );
  const request: HttpRequest = { method: 'GET', url, priority: 'read', ...more };
  await transport.request(request).catch(() => undefined);
  return heard.map((one) => (one.kind === 'nothing' ? `nothing: ${one.why}` : one.kind));
}

const own = (status: number) => envelope(status, null, 'no');
const halted: Handler = (_request, response) => {
  response.writeHead(200, { 'content-length': '99' }).write('{');
};

it.each<[string, Handler, string]>([
  ['an answer', says(200, envelope(200, [])), 'answer'],
  ['an answer that is no list', says(200, '{"a":'), 'answer'],
  ['a refusal', says(422, own(422)), 'answer'],
  ['a refusal in other JSON', says(403, { message: 'no' }), 'answer'],
  ['a refused token without a word', says(401, ''), 'answer'],
  ['a fault of its own', says(500, own(500)), 'answer'],
  ['a fault of its framework', says(500, { message: 'Server Error' }), 'answer'],
  ['too fast, whoever says so', says(429, PAGE), 'wait'],
  ['its wish to wait', says(503, own(503), { 'retry-after': '9' }), 'wait'],
  ['a gateway that reaches nobody', says(502, PAGE), 'nothing: HTTP 502, not of the service'],
  ['a gateway in JSON', says(504, { message: 'x' }), 'nothing: HTTP 504, not of the service'],
  ['a balancer', says(503, '', { 'retry-after': '9' }), 'nothing: HTTP 503, not of the service'],
  ['an edge', says(522, 'timed out'), 'nothing: HTTP 522, not of the service'],
  ['a router', says(404, '404 page not found'), 'nothing: HTTP 404, not of the service'],
  ['a firewall', says(403, PAGE), 'nothing: HTTP 403, not of the service'],
  ['a portal', says(302, '', { location: '/sign-in' }), 'nothing: HTTP 302, not of the service'],
  ['a page of maintenance', says(200, PAGE), 'nothing: a page came, not the answer of the service'],
  ['silence', () => undefined, 'nothing: no answer in time'],
  ['half an answer', halted, 'nothing: the answer came to a halt'],
  [
    'a reset',
    (request) => request.socket.resetAndDestroy(),
    'nothing: the connection failed (ECONNRESET)',
  ],
])('hears in %s whether the service is there', async (_what, handler, heard) => {
  await using server = await startFaulty(handler);
  expect(await heardFrom(`${server.url}/x`)).toEqual([heard]);
});

it('hears nobody where no connection comes about, and nothing of what was called off', async () => {
  const { url, [Symbol.asyncDispose]: stop } = await startFaulty(() => undefined);
  const signal = AbortSignal.timeout(50);
  expect(await heardFrom(`${url}/x`, { signal })).toEqual([]);
  await stop();
  expect(await heardFrom(`${url}/x`)).toEqual(['nothing: the connection failed (ECONNREFUSED)']);
  expect(await heardFrom('https://nobody.invalid/x')).toEqual([
    expect.stringMatching(/^nothing: the connection failed \((?:ENOTFOUND|EAI_AGAIN)\)$/),
  ]);
  await using plain = await startFaulty(says(200, 'x'));
  const secure = plain.url.replace('http:', 'https:');
  expect(await heardFrom(`${secure}/x`)).toEqual([expect.stringMatching(/^nothing: .*SSL/)]);
});

it('counts as silent from the first request that nobody answered to the next answer', async () => {
  const clock = manualClock(1_000);
  let changes = 0;
  const onChange = () => {
    changes += 1;
  };
  const answering = createAnswering({ clock, onChange });
  expect(answering.state()).toBeUndefined();
  answering.asked()({ kind: 'answer' });
  expect(answering.state()).toMatchObject({ state: 'answers', since: 1_000, unansweredMs: 0 });
  await clock.advance(1_000);
  const slow = answering.asked();
  await clock.advance(1_000);
  const first = answering.asked();
  await clock.advance(30_000);
  first({ kind: 'nothing', why: 'a' });
  const silent = { state: 'silent', since: 3_000, unansweredMs: 30_000, why: 'a' };
  expect(answering.state()).toMatchObject(silent);
  // Nobody asks at night: the silence gets no longer by that.
  await clock.advance(36_000_000);
  expect(answering.state()).toMatchObject(silent);
  answering.asked()({ kind: 'nothing', why: 'b' });
  expect(answering.state()).toMatchObject({ since: 3_000, unansweredMs: 36_030_000, why: 'b' });
  const again = createAnswering({ clock, before: answering.state() });
  expect(again.state()).toMatchObject({ state: 'silent', since: 3_000 });
  answering.asked()({ kind: 'answer' });
  // Sent long before the answer, it says nothing of now.
  slow({ kind: 'nothing', why: 'late' });
  expect(answering.state()).toMatchObject({ state: 'answers', since: clock.now() });
  expect(changes).toBe(4);
});

it('tells refused credentials and a wish to wait from silence', async () => {
  const clock = manualClock(1_000);
  const answering = createAnswering({ clock });
  answering.asked()({ kind: 'wait', ms: 60_000 });
  expect(answering.state()).toMatchObject({ state: 'waits', untilAt: 61_000 });
  await clock.advance(60_000);
  expect(answering.state()).toMatchObject({ state: 'answers', untilAt: null });
  answering.credentials('login', 'refused');
  answering.asked()({ kind: 'answer' });
  expect(answering.state()).toMatchObject({ state: 'login_refused', why: 'refused' });
  const again = createAnswering({ clock, before: answering.state() });
  expect(again.state()).toMatchObject({ state: 'login_refused' });
  answering.asked()({ kind: 'nothing', why: 'a' });
  expect(answering.state()?.state).toBe('silent');
  answering.asked()({ kind: 'answer' });
  answering.credentials('login', undefined);
  expect(answering.state()).toMatchObject({ state: 'answers', why: null });
});
