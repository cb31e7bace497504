import { describe, expect, it, vi } from 'vitest';
import { systemClock } from '../../src/lib/clock.ts';
import { writeDeliveries } from '../../src/mirror/sales-order.ts';
import { deliveryCreated, KEY, secret, sign, startInbox, talk } from './support.ts';

const FIRST_SENT_AT = Date.UTC(2026, 0, 5, 8);
const OTHER_KEY = `whsec_${Buffer.alloc(24, 8).toString('base64')}`;

describe('an event', () => {
  it('is durable, with the wish to read its order, before it is acknowledged (R1)', async () => {
    const inbox = await startInbox();
    const body = deliveryCreated(4711);
    const answer = await inbox.post(body, sign(body, { id: 'msg_1' }));
    expect(answer.status).toBe(204);
    expect(answer.headers.get('cache-control')).toBe('no-store');
    const event = await inbox.store.db.selectFrom('webhook_event').selectAll().executeTakeFirst();
    expect(event).toMatchObject({
      event_id: 'msg_1',
      type: 'sales_order.delivery_created',
      order_id: 4711,
      secret_name: 'current',
      duplicates: 0,
      outcome: 'refresh',
    });
    expect(event?.body.toString()).toBe(body);
    const refresh = await inbox.store.db.selectFrom('refresh').selectAll().execute();
    expect(refresh).toMatchObject([{ order_id: 4711, generation: 1, cause: 'event:msg_1' }]);
    expect(inbox.nudges()).toBe(1);
  });

  it('that comes again is acknowledged, counted, and read again (R3)', async () => {
    const inbox = await startInbox();
    const body = deliveryCreated(4711);
    for (let attempt = 0; attempt < 3; attempt += 1) {
      expect((await inbox.post(body, sign(body, { id: 'msg_1' }))).status).toBe(204);
    }
    const events = await inbox.store.db.selectFrom('webhook_event').selectAll().execute();
    expect(events).toMatchObject([{ duplicates: 2 }]);
    expect(events[0]?.last_duplicate_at).toBeGreaterThan(0);
    const refresh = await inbox.store.db.selectFrom('refresh').selectAll().execute();
    expect(refresh).toMatchObject([{ order_id: 4711, generation: 3 }]);
    expect(inbox.meter.stats()).toMatchObject({ accepted: 3, duplicates: 2 });
  });

  it('that comes again with another body is told, and both orders are read', async () => {
    const inbox = await startInbox();
    const told = vi.spyOn(inbox.meter, 'changedBody');
    const [one, other] = [deliveryCreated(4711), deliveryCreated(4712)];
    await inbox.post(one, sign(one, { id: 'msg_1' }));
    await inbox.post(one, sign(one, { id: 'msg_1' }));
    expect(told.mock.calls).toEqual([]);
    await inbox.post(other, sign(other, { id: 'msg_1' }));
    expect(told.mock.calls).toEqual([['msg_1']]);
    const [event] = await inbox.store.db.selectFrom('webhook_event').selectAll().execute();
    expect(event?.body.toString()).toBe(one);
    const refresh = await inbox.store.db.selectFrom('refresh').select('order_id').execute();
    expect(refresh.map((row) => row.order_id).sort()).toEqual([4711, 4712]);
  });

  it('is known to be refused when each of the last ones was answered 503', async () => {
    let isWritable = false;
    const inbox = await startInbox({ writable: () => isWritable });
    for (let times = 0; times < 3; times += 1) {
      expect(inbox.meter.refusesAll()).toBeUndefined();
      expect((await inbox.post(deliveryCreated(1))).status).toBe(503);
    }
    expect(inbox.meter.refusesAll()).toBe('unwritable');
    isWritable = true;
    expect((await inbox.post(deliveryCreated(1))).status).toBe(204);
    expect(inbox.meter.refusesAll()).toBeUndefined();
  });

  it('is taken with every way to write its media type, and with many headers', async () => {
    const inbox = await startInbox();
    const many = Array.from({ length: 50 }, (_, index) => [`x-${index}`, '1'] as const);
    const status = async (mediaType: string): Promise<number> => {
      const headers = { ...sign('{}'), ...Object.fromEntries(many), 'content-type': mediaType };
      return (await inbox.post('{}', headers)).status;
    };
    for (const mediaType of ['application/json; charset=utf-8', 'Application/JSON']) {
      expect(await status(mediaType), mediaType).toBe(204);
    }
    expect(await status('application/jsonp')).toBe(415);
  });

  it('of an unknown type is stored and acknowledged (R5)', async () => {
    const inbox = await startInbox();
    const body = JSON.stringify({ type: 'inventory.changed', data: { anything: [1] } });
    expect((await inbox.post(body)).status).toBe(204);
    const events = await inbox.store.db.selectFrom('webhook_event').selectAll().execute();
    expect(events).toMatchObject([
      { type: 'inventory.changed', order_id: null, outcome: 'stored' },
    ]);
    expect(inbox.meter.stats()).toMatchObject({ accepted: 1, unknownType: 1 });
    expect(inbox.nudges()).toBe(0);
  });

  it('whose signed body is not JSON is stored, acknowledged and counted (R5)', async () => {
    const inbox = await startInbox();
    expect((await inbox.post('{"type":')).status).toBe(204);
    expect(inbox.meter.stats()).toMatchObject({ accepted: 1, unknownType: 0 });
    const events = await inbox.store.db.selectFrom('webhook_event').selectAll().execute();
    expect(events).toMatchObject([{ type: null, outcome: 'stored' }]);
    expect(events[0]?.body.toString()).toBe('{"type":');
  });
});

describe('a request that is no event of ours', () => {
  it.each([
    ['forged', () => sign('{}', { key: OTHER_KEY }), 401],
    ['too old', () => sign('{}', { at: 1_700_000_000_000 }), 401],
    ['unsigned', () => ({ 'content-type': 'application/json' }), 400],
    ['not declared as JSON', () => ({ ...sign('{}'), 'content-type': 'text/plain' }), 415],
    ['compressed', () => ({ ...sign('{}'), 'content-encoding': 'gzip' }), 415],
  ])(
    'because it is %s is refused without a word of why (R7, L8)',
    async (_why, headers, status) => {
      const inbox = await startInbox();
      const answer = await inbox.post('{}', headers());
      expect(answer.status).toBe(status);
      expect(answer.headers.get('cache-control')).toBe('no-store');
      expect(answer.headers.get('server')).toBeNull();
      expect(await answer.text()).toMatch(
        /^\{"error":"(unauthorized|bad request|unsupported.*)"\}$/,
      );
      expect(await inbox.store.db.selectFrom('webhook_event').selectAll().execute()).toEqual([]);
    },
  );

  it('tells how far the clocks are apart, if the relay has signed it (R9)', async () => {
    const clock = { ...systemClock(), now: () => FIRST_SENT_AT };
    const inbox = await startInbox({ clock });
    const send = async (key: string, at: number): Promise<number | undefined> => {
      expect((await inbox.post('{}', sign('{}', { key, at }))).status).toBe(401);
      return inbox.meter.stats().clockOffsetMs;
    };
    expect(await send(OTHER_KEY, FIRST_SENT_AT - 900_000)).toBeUndefined();
    expect(await send(KEY, FIRST_SENT_AT - 400_000)).toBe(400_000);
  });

  it('because it is of 3 MiB is answered 413, and the next one is served (L4)', async () => {
    const inbox = await startInbox();
    const big = Buffer.alloc(3 * 1_048_576, 'x');
    const answer = await inbox.post(big);
    expect(answer.status).toBe(413);
    // Nobody reads the rest of the body.
    expect(answer.headers.get('connection')).toBe('close');
    expect((await inbox.post(deliveryCreated(1))).status).toBe(204);
  });

  it('because of its path or method gets 404 or 405 (L4, L10)', async () => {
    const inbox = await startInbox();
    const at = async (suffix: string, method: string): Promise<Response> =>
      fetch(inbox.url + suffix, { method, redirect: 'manual' });
    for (const suffix of ['/', '/x', '?a=1', 'x']) {
      expect((await at(suffix, 'POST')).status, suffix).toBe(404);
    }
    for (const method of ['GET', 'HEAD', 'PUT', 'DELETE', 'OPTIONS', 'PATCH']) {
      const answer = await at('', method);
      expect(answer.status, method).toBe(405);
      expect(answer.headers.get('allow')).toBe('POST');
    }
  });
});

describe('whatever is asked', () => {
  it('no answer disables the endpoint, redirects or steers the relay (R6)', async () => {
    let writable = true;
    const inbox = await startInbox({ writable: () => writable });
    const [event, stale] = [deliveryCreated(1), { at: 1_700_000_000_000 }];
    const ask = (headers: Record<string, string>, method = 'POST', url = inbox.url) =>
      fetch(url, {
        method,
        headers,
        redirect: 'manual',
        ...(method === 'POST' && { body: event }),
      });
    const asked = [
      () => ask(sign(event)),
      () => ask(sign(event, { key: OTHER_KEY })),
      () => ask(sign(event, stale)),
      () => ask({}),
      () => ask({ ...sign(event), 'content-type': 'text/xml' }),
      () => ask(sign(event), 'GET'),
      () => ask(sign(event), 'POST', `${inbox.url}/x`),
    ];
    const answers = await Promise.all(asked.map((one) => one()));
    writable = false;
    answers.push(await ask(sign(event)));
    expect(answers.map(({ status }) => status)).toEqual([204, 401, 401, 415, 415, 405, 404, 503]);
    for (const { headers } of answers) expect(headers.get('webhook-delivery')).toBeNull();
  });

  it('a captured request counts again in its time, and not later (R10, L3)', async () => {
    let late = 0;
    const clock = { ...systemClock(), now: () => FIRST_SENT_AT + late };
    const inbox = await startInbox({ clock });
    const body = deliveryCreated(1);
    const captured = sign(body, { at: clock.now(), id: 'msg_1' });
    expect((await inbox.post(body, captured)).status).toBe(204);
    late = 300_000;
    expect((await inbox.post(body, captured)).status).toBe(204);
    late = 301_000;
    expect((await inbox.post(body, captured)).status).toBe(401);
    const events = await inbox.store.db.selectFrom('webhook_event').selectAll().execute();
    expect(events).toMatchObject([{ event_id: 'msg_1', duplicates: 1 }]);
  });

  it('a body is a hint: it changes nothing but the wish to read its order (R4)', async () => {
    const inbox = await startInbox();
    const { db } = inbox.store;
    const delivery = { orderDeliveryId: 10, orderId: 1, fulfilledLineItems: [] };
    const known = { ...delivery, status: 'accepted' };
    const provenance = { source: 'run:1', readSeq: 1, at: 1 };
    await inbox.store.transaction((tx) => writeDeliveries(tx, [known], provenance));
    const before = await db.selectFrom('delivery').selectAll().execute();
    const salesOrderDelivery = { ...delivery, status: 'canceled' };
    const type = 'sales_order.delivery_canceled';
    const { status } = await inbox.post(JSON.stringify({ type, data: { salesOrderDelivery } }));
    expect(status).toBe(204);
    expect(await db.selectFrom('delivery').selectAll().execute()).toEqual(before);
    expect(await db.selectFrom('change').select('seq').execute()).toHaveLength(1);
    expect(await db.selectFrom('refresh').select('order_id').execute()).toEqual([{ order_id: 1 }]);
  });
});

describe('when the event cannot be kept', () => {
  it('the relay is asked to send it again later (R6)', async () => {
    let writable = false;
    const inbox = await startInbox({ writable: () => writable });
    const body = deliveryCreated(1);
    const headers = sign(body, { id: 'msg_1' });
    const refused = await inbox.post(body, headers);
    expect(refused.status).toBe(503);
    expect(refused.headers.get('retry-after')).toBe('30');
    writable = true;
    expect((await inbox.post(body, headers)).status).toBe(204);
  });

  it('a failing commit is a 503 for everybody who waited for it (R6)', async () => {
    const inbox = await startInbox();
    await inbox.store.db.schema.alterTable('refresh').renameTo('gone').execute();
    const answers = await Promise.all([1, 2, 3].map((id) => inbox.post(deliveryCreated(id))));
    expect(answers.map(({ status }) => status)).toEqual([503, 503, 503]);
    expect(await inbox.store.db.selectFrom('webhook_event').selectAll().execute()).toEqual([]);
    await inbox.store.db.schema.alterTable('gone').renameTo('refresh').execute();
    expect((await inbox.post(deliveryCreated(1))).status).toBe(204);
  });

  it('a mistake of ours is no mistake of the relay (R6)', async () => {
    const accept = () => Promise.reject(new TypeError('undefined is not a function'));
    const inbox = await startInbox({ eventStore: { accept } });
    const answer = await inbox.post(deliveryCreated(1));
    expect([answer.status, answer.headers.get('retry-after')]).toEqual([503, '30']);
  });
});

describe('during a rotation', () => {
  it('both secrets are good, and it shows which one the relay still uses (R8)', async () => {
    const inbox = await startInbox({ secrets: [secret('new', OTHER_KEY), secret('old', KEY)] });
    for (const key of [KEY, OTHER_KEY, OTHER_KEY]) {
      const body = deliveryCreated(1);
      expect((await inbox.post(body, sign(body, { key }))).status).toBe(204);
    }
    const events = await inbox.store.db.selectFrom('webhook_event').selectAll().execute();
    expect(events.map((row) => row.secret_name).sort()).toEqual(['new', 'new', 'old']);
  });
});

/** A request head; the connection ends after the answer. */
function head(path: string, ...lines: string[]): string {
  return [`POST ${path} HTTP/1.1`, 'Host: a', 'Connection: close', ...lines, '', ''].join('\r\n');
}

const MANY = Array.from({ length: 65 }, (_, index) => `X-${index}: 1`);
const TEN_MEGABYTES = ['Content-Type: application/json', 'Content-Length: 10000000'];

describe('bytes that are no good HTTP', () => {
  it.each([
    ['no request line', 'hello\r\n\r\n', 400],
    ['two content lengths', head('/events', 'Content-Length: 1', 'Content-Length: 2'), 400],
    ['length and chunks', head('/events', 'Content-Length: 1', 'Transfer-Encoding: chunked'), 400],
    ['bare line feeds', 'POST /events HTTP/1.1\nHost: a\n\n', 400],
    ['no host', 'POST /events HTTP/1.1\r\n\r\n', 400],
    ['40 kB of headers', head('/events', `X: ${'x'.repeat(40_000)}`), 431],
    ['65 headers', head('/events', ...MANY), 431],
    ['a path that cannot be decoded', head('/%zz'), 400],
    ['a patient 10 MB body', head('/events', ...TEN_MEGABYTES, 'Expect: 100-continue'), 413],
  ])('with %s are refused and the connection ends (L4)', async (_what, bytes, status) => {
    const inbox = await startInbox();
    const answer = await talk(inbox.port, bytes);
    expect(answer).toMatch(new RegExp(`^HTTP/1.1 ${status} `));
    expect(answer).not.toMatch(/zz|FST|stack/);
    expect((await inbox.post(deliveryCreated(1))).status).toBe(204);
  });
});
