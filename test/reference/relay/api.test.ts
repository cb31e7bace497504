/** Svix' own client against the management API: the shapes are right when it is content. */
import { Svix } from 'svix';
import { describe, expect, it, onTestFinished } from 'vitest';
import { systemClock } from '../../../src/lib/clock.ts';
import { silentLogger } from '../../../src/lib/log.ts';
import { seededRandom } from '../../../src/lib/random.ts';
import { createPortal } from '../../../src/reference/portal/portal.ts';
import { startRelayServer } from '../../../src/reference/relay/server.ts';
import { answering } from './receiver.ts';
import { type Bench, DELIVERY, startBench } from './support.ts';

const TOKEN = 'testsk_relay';
const APP = 'reference';

interface ApiBench extends Bench {
  readonly svix: Svix;
  readonly url: string;
}

async function startApi(): Promise<ApiBench> {
  const bench = await startBench();
  const server = await startRelayServer({
    relay: bench.relay,
    portal: createPortal({ clock: systemClock(), random: seededRandom(1) }),
    host: '127.0.0.1',
    port: 0,
    log: silentLogger(),
    authToken: TOKEN,
  });
  onTestFinished(() => server.close());
  return { ...bench, url: server.url, svix: new Svix(TOKEN, { serverUrl: server.url }) };
}

const send = { eventType: 'sales_order.delivery_created', payload: { type: 'x', data: DELIVERY } };

/** The status and body of a refusal. */
async function refusal(asked: Promise<unknown>): Promise<{ code: number; body: unknown }> {
  return asked.then(
    () => ({ code: 0, body: 'was not refused' }),
    (error: { code: number; body: unknown }) => ({ code: error.code, body: error.body }),
  );
}

describe('the official client', () => {
  it('creates, reads, changes and deletes an endpoint', async () => {
    const { svix, receiver } = await startApi();
    const created = await svix.endpoint.create(APP, {
      url: receiver.url,
      description: 'ERP',
      eventTypes: ['ping', 'sales_order.order_created'],
    });
    expect(created).toMatchObject({
      id: expect.stringMatching(/^ep_/),
      url: receiver.url,
      description: 'ERP',
      eventTypes: ['ping', 'sales_order.order_created'],
      disabled: false,
      createdAt: expect.any(Date),
    });
    expect(await svix.endpoint.get(APP, created.id)).toEqual(created);
    const patched = await svix.endpoint.patch(APP, created.id, { disabled: true });
    expect(patched).toMatchObject({ disabled: true, description: 'ERP', url: receiver.url });
    const updated = await svix.endpoint.upsert(APP, created.id, { url: `${receiver.url}/2` });
    expect(updated).toMatchObject({ disabled: false, description: '', eventTypes: null });
    expect((await svix.endpoint.list(APP)).data.map(({ id }) => id)).toEqual([created.id]);
    await svix.endpoint.delete(APP, created.id);
    expect(await svix.endpoint.list(APP)).toMatchObject({ data: [], done: true });
    expect(await refusal(svix.endpoint.get(APP, created.id))).toMatchObject({ code: 404 });
  });

  it('reads and rotates a secret: both sign, the new one first, until the grace ends', async () => {
    const bench = await startApi();
    const { svix, relay, receiver, clock } = bench;
    const { id } = await svix.endpoint.create(APP, { url: receiver.url });
    const before = (await svix.endpoint.getSecret(APP, id)).key;
    await svix.endpoint.rotateSecret(APP, id, { gracePeriodSeconds: 60 });
    const after = (await svix.endpoint.getSecret(APP, id)).key;
    expect(after).not.toBe(before);
    const live = () => relay.liveSecrets(id).map(({ secret }) => secret);
    expect(live()).toEqual([after, before]);
    await svix.message.create(APP, send);
    await relay.idle();
    expect(receiver.requests[0]?.headers['svix-signature']?.split(' ')).toHaveLength(2);
    await clock.advance(60_000);
    expect(live()).toEqual([after]);
    const own = `whsec_${Buffer.alloc(32, 7).toString('base64')}`;
    await svix.endpoint.rotateSecret(APP, id, { key: own });
    expect((await svix.endpoint.getSecret(APP, id)).key).toBe(own);
    const wrong = await refusal(svix.endpoint.rotateSecret(APP, id, { key: 'whsec_short' }));
    expect(wrong).toMatchObject({ code: 400, body: { code: 'relay.secret_invalid' } });
  });

  it('sends a message, lists its attempts, sends it again', async () => {
    const { svix, relay, receiver } = await startApi();
    const endpoint = await svix.endpoint.create(APP, { url: receiver.url });
    const message = await svix.message.create(APP, { ...send, eventId: 'own-1' });
    await relay.idle();
    expect(JSON.parse(String(receiver.requests[0]?.body))).toEqual(send.payload);
    expect(await svix.message.get(APP, message.id)).toEqual(message);
    const again = await refusal(svix.message.create(APP, { ...send, eventId: 'own-1' }));
    expect(again).toMatchObject({ code: 409, body: { code: 'relay.event_id_used' } });
    await svix.messageAttempt.resend(APP, message.id, endpoint.id);
    await relay.idle();
    const attempts = await svix.messageAttempt.listByMsg(APP, message.id);
    expect(attempts.data).toMatchObject([
      { status: 0, triggerType: 1, responseStatusCode: 204, msgId: message.id },
      { status: 0, triggerType: 0, endpointId: endpoint.id, statusText: 'success' },
    ]);
    const [newest] = attempts.data;
    expect(await svix.messageAttempt.get(APP, message.id, newest?.id ?? '')).toMatchObject({
      id: newest?.id,
      timestamp: expect.any(Date),
    });
    const byEndpoint = await svix.messageAttempt.listByEndpoint(APP, endpoint.id, {
      status: 0,
      withMsg: true,
    });
    expect(byEndpoint.data.map(({ msg }) => msg?.id)).toEqual([message.id, message.id]);
    const destinations = await svix.messageAttempt.listAttemptedDestinations(APP, message.id);
    expect(destinations.data).toMatchObject([{ id: endpoint.id, status: 0, nextAttempt: null }]);
    const messages = await svix.messageAttempt.listAttemptedMessages(APP, endpoint.id);
    expect(messages.data).toMatchObject([{ id: message.id, status: 0 }]);
  });

  it('recovers what failed and replays what was missed', async () => {
    const { svix, relay, receiver, clock } = await startApi();
    const since = new Date(clock.now());
    await svix.message.create(APP, send);
    const endpoint = await svix.endpoint.create(APP, { url: receiver.url });
    receiver.respond = answering(400, { 'webhook-delivery': 'abort-message' });
    const failed = await svix.message.create(APP, send);
    await relay.idle();
    const destinations = await svix.messageAttempt.listAttemptedDestinations(APP, failed.id);
    expect(destinations.data).toMatchObject([{ status: 2, statusText: 'fail' }]);
    receiver.respond = answering(200);
    receiver.requests.length = 0;
    const task = await svix.endpoint.recover(APP, endpoint.id, { since });
    expect(task).toMatchObject({ status: 'finished', task: 'endpoint.recover' });
    await relay.idle();
    expect(receiver.requests.map(({ headers }) => headers['svix-id'])).toEqual([failed.id]);
    await svix.endpoint.replayMissing(APP, endpoint.id, { since });
    await relay.idle();
    expect(receiver.requests).toHaveLength(2);
    const old = new Date(clock.now() - 15 * 86_400_000);
    const tooFar = await refusal(svix.endpoint.recover(APP, endpoint.id, { since: old }));
    expect(tooFar).toMatchObject({ code: 400, body: { code: 'relay.recover_window' } });
  });

  it('pages through a list both ways', async () => {
    const { svix, relay } = await startApi();
    for (let count = 0; count < 7; count += 1) relay.publish('ping', { ping: count });
    const numbers = (page: { data: { payload: { data?: { ping: number } } }[] }) =>
      page.data.map(({ payload }) => payload.data?.ping);
    const options = { limit: 3, withContent: true };
    const first = await svix.message.list(APP, options);
    expect([numbers(first), first.done]).toEqual([[6, 5, 4], false]);
    const second = await svix.message.list(APP, { ...options, iterator: first.iterator ?? '' });
    expect([numbers(second), second.done]).toEqual([[3, 2, 1], false]);
    const third = await svix.message.list(APP, { ...options, iterator: second.iterator ?? '' });
    expect([numbers(third), third.done]).toEqual([[0], true]);
    const back = await svix.message.list(APP, { ...options, iterator: third.prevIterator ?? '' });
    expect(numbers(back)).toEqual([3, 2, 1]);
    const none = await svix.message.list(APP, { eventTypes: ['other'] });
    expect(none).toMatchObject({ data: [], done: true });
  });

  it('finds the one application, the event types and a portal link', async () => {
    const { svix } = await startApi();
    const app = await svix.application.getOrCreate({ name: 'Reference service', uid: APP });
    expect(app.id).toBe('app_reference');
    expect((await svix.application.get(app.id)).uid).toBe(APP);
    expect(await refusal(svix.application.get('other'))).toMatchObject({ code: 404 });
    const types = await svix.eventType.list({ limit: 250 });
    expect(types.data.map(({ name }) => name)).toContain('sales_order.delivery_canceled');
    const { url, token } = await svix.authentication.appPortalAccess(APP, {});
    expect(url).toMatch(/\/portal\/login#key=/);
    expect(url.endsWith(token)).toBe(true);
    await svix.health.get();
  });

  it('sends an example to one endpoint', async () => {
    const { svix, relay, receiver } = await startApi();
    const { id } = await svix.endpoint.create(APP, { url: receiver.url });
    await svix.endpoint.sendExample(APP, id, { eventType: 'sales_order.refund_created' });
    await relay.idle();
    expect(JSON.parse(String(receiver.requests[0]?.body))).toMatchObject({
      type: 'sales_order.refund_created',
      data: { salesOrderRefund: { status: 'pending' } },
    });
  });

  it('hears what is wrong', async () => {
    const { svix, url } = await startApi();
    const wrongBody = await refusal(svix.message.create(APP, { ...send, payload: 'text' }));
    expect(wrongBody).toMatchObject({ code: 422, body: { detail: [{ loc: ['payload'] }] } });
    const wrongUrl = await refusal(svix.endpoint.create(APP, { url: 'ftp://example.com' }));
    expect(wrongUrl).toMatchObject({ code: 400, body: { code: 'relay.url_refused' } });
    const stranger = new Svix('another token', { serverUrl: url });
    expect(await refusal(stranger.endpoint.list(APP))).toMatchObject({ code: 401 });
    const broken = await fetch(`${url}/api/v1/app/${APP}/msg`, {
      method: 'POST',
      headers: { authorization: `Bearer ${TOKEN}`, 'content-type': 'application/json' },
      body: '{"eventType":',
    });
    expect(broken.status).toBe(400);
  });
});
