import { describe, expect, it } from 'vitest';
import { answering } from './receiver.ts';
import { type Bench, pass, startBench } from './support.ts';

const HOUR = 3_600_000;
const STEPS = [5_000, 300_000, 1_800_000, 2 * HOUR, 5 * HOUR, 10 * HOUR, 10 * HOUR];

/** Publishes a message and lets its whole schedule pass (27 h 35 min 5 s). */
async function exhaust(bench: Bench): Promise<void> {
  bench.relay.publish('ping', { ping: 1 });
  await bench.relay.idle();
  for (const step of STEPS) await pass(bench, step);
}

function statusOf({ relay }: Bench, messageIndex = 0): string | undefined {
  const message = relay.messages().data[messageIndex];
  return message && relay.deliveriesOf(message.id)[0]?.status;
}

describe('an endpoint', () => {
  it('is disabled by 410, and what waits for it is given up', async () => {
    const bench = await startBench();
    const { relay, receiver } = bench;
    const { id } = relay.createEndpoint({ url: receiver.url });
    receiver.respond = answering(500);
    relay.publish('ping', { ping: 1 });
    await relay.idle();
    receiver.respond = answering(410);
    relay.publish('ping', { ping: 2 });
    await relay.idle();
    expect(relay.endpoint(id).disabledReason).toBe('the receiver answered 410 Gone');
    relay.publish('ping', { ping: 3 });
    await pass(bench, 100 * HOUR);
    expect(receiver.requests).toHaveLength(2);
    expect([statusOf(bench, 0), statusOf(bench, 1), statusOf(bench, 2)]).toEqual([
      undefined,
      'failed',
      'failed',
    ]);
  });

  it('is disabled when 120 h have passed since its first exhausted message', async () => {
    const bench = await startBench();
    const { relay, receiver, clock } = bench;
    const { id } = relay.createEndpoint({ url: receiver.url });
    receiver.respond = answering(500);
    await exhaust(bench);
    const failingSince = clock.now();
    expect(relay.endpoint(id)).toMatchObject({ failingSince, disabledReason: null });
    await pass(bench, 90 * HOUR);
    await exhaust(bench);
    expect(clock.now() - failingSince).toBeLessThan(120 * HOUR);
    expect(relay.endpoint(id).disabledReason).toBeNull();
    await exhaust(bench);
    expect(relay.endpoint(id).disabledReason).toBe('every message failed for 120 hours');
  });

  it('is not disabled when something succeeded in between', async () => {
    const bench = await startBench();
    const { relay, receiver } = bench;
    const { id } = relay.createEndpoint({ url: receiver.url });
    receiver.respond = answering(500);
    await exhaust(bench);
    await pass(bench, 100 * HOUR);
    receiver.respond = answering(200);
    relay.publish('ping', { ping: 1 });
    await relay.idle();
    expect(relay.endpoint(id).failingSince).toBeNull();
    receiver.respond = answering(500);
    await exhaust(bench);
    expect(relay.endpoint(id).disabledReason).toBeNull();
  });

  it('starts with a clean slate when it is enabled again, and recovers', async () => {
    const bench = await startBench();
    const { relay, receiver, clock } = bench;
    const { id } = relay.createEndpoint({ url: receiver.url });
    const since = clock.now();
    receiver.respond = answering(410);
    relay.publish('ping', { ping: 1 });
    await relay.idle();
    relay.publish('ping', { ping: 2 });
    receiver.respond = answering(204);
    expect(relay.enable(id)).toMatchObject({ disabledReason: null, failingSince: null });
    expect(relay.recover(id, since)).toBe(1);
    expect(relay.replayMissing(id, since)).toBe(1);
    await relay.idle();
    expect([statusOf(bench, 0), statusOf(bench, 1)]).toEqual(['success', 'success']);
    expect([relay.recover(id, since), relay.replayMissing(id, since)]).toEqual([0, 0]);
  });

  it('that is deleted while a message is on its way leaves nothing behind', async () => {
    const bench = await startBench();
    const { relay, receiver } = bench;
    const { id } = relay.createEndpoint({ url: receiver.url });
    relay.publish('ping', { ping: 1 });
    const asked = new Promise<void>((resolve) => {
      receiver.respond = (response) => {
        relay.deleteEndpoint(id);
        response.writeHead(500).end();
        resolve();
      };
    });
    await asked;
    await pass(bench, 100 * HOUR);
    expect(receiver.requests).toHaveLength(1);
    expect(relay.attempts().data).toEqual([]);
    expect(relay.messages().data).toHaveLength(1);
  });

  it('may steer the relay: give up a message, or disable', async () => {
    const bench = await startBench();
    const { relay, receiver } = bench;
    const { id } = relay.createEndpoint({ url: receiver.url });
    receiver.respond = answering(400, { 'webhook-delivery': 'abort-message' });
    relay.publish('ping', { ping: 1 });
    await pass(bench, 100 * HOUR);
    expect(receiver.requests).toHaveLength(1);
    expect(statusOf(bench)).toBe('failed');
    receiver.respond = answering(400, { 'webhook-delivery': 'disable' });
    relay.publish('ping', { ping: 2 });
    await relay.idle();
    expect(relay.endpoint(id).disabledReason).toBe('the receiver asked to be disabled');
  });
});

describe('a re-send', () => {
  it('is not repeated when it fails, and leaves the schedule alone', async () => {
    const bench = await startBench();
    const { relay, receiver } = bench;
    const { id } = relay.createEndpoint({ url: receiver.url });
    receiver.respond = answering(500);
    relay.publish('ping', { ping: 1 });
    await relay.idle();
    const message = relay.messages().data[0]?.id ?? '';
    await pass(bench, 1_000);
    relay.resend(message, id);
    await relay.idle();
    expect(statusOf(bench)).toBe('pending');
    await pass(bench, 3_999);
    expect(receiver.requests).toHaveLength(2);
    await pass(bench, 1);
    expect(receiver.requests).toHaveLength(3);
  });

  it('that arrives ends the schedule', async () => {
    const bench = await startBench();
    const { relay, receiver } = bench;
    const { id } = relay.createEndpoint({ url: receiver.url });
    receiver.respond = answering(500);
    relay.publish('ping', { ping: 1 });
    await relay.idle();
    receiver.respond = answering(204);
    relay.resend(relay.messages().data[0]?.id ?? '', id);
    await relay.idle();
    await pass(bench, 100 * HOUR);
    expect(receiver.requests).toHaveLength(2);
    expect(statusOf(bench)).toBe('success');
  });

  it('names what it does not know', async () => {
    const { relay, receiver } = await startBench();
    const { id } = relay.createEndpoint({ url: receiver.url });
    expect(() => relay.resend('msg_none', id)).toThrow('no such message');
    relay.publish('ping', { ping: 1 });
    const message = relay.messages().data[0]?.id ?? '';
    expect(() => relay.resend(message, 'ep_none')).toThrow('no such endpoint');
    expect(() => relay.recover('ep_none', relay.now())).toThrow('no such endpoint');
  });
});
