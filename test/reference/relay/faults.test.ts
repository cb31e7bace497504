import { Webhook } from 'standardwebhooks';
import { describe, expect, it } from 'vitest';
import {
  type WebhookFaults,
  webhookFaultSchema,
} from '../../../src/reference/control/fault-knobs.ts';
import { answering, type Received } from './receiver.ts';
import { type Bench, pass, startBench } from './support.ts';

const MESSAGES = 60;
const NO_FAULTS = webhookFaultSchema.parse({});

function pings({ receiver }: Bench): number[] {
  return receiver.requests.map(({ body }) => JSON.parse(String(body)).data.ping);
}

/** Returns the arrivals of 60 numbered messages, published one by one. */
async function arrivals(faults: Partial<WebhookFaults>): Promise<Bench> {
  const bench = await startBench({ faults: { ...NO_FAULTS, seed: 5, ...faults } });
  bench.relay.createEndpoint({ url: bench.receiver.url });
  for (let number = 0; number < MESSAGES; number += 1) {
    bench.relay.publish('ping', { ping: number });
    await pass(bench, 100);
  }
  return bench;
}

const inOrder = Array.from({ length: MESSAGES }, (_, number) => number);

describe('faults of webhooks', () => {
  it('are absent by default: each message once, as published', async () => {
    expect(pings(await arrivals({}))).toEqual(inOrder);
  });

  it('lose messages, which a replay brings', async () => {
    const bench = await arrivals({ lost: 0.3 });
    const arrived = pings(bench);
    expect(arrived.length).toBeGreaterThan(30);
    expect(arrived.length).toBeLessThan(55);
    const [endpoint] = bench.relay.listEndpoints();
    const missing = bench.relay.messages({ status: 'unsent', limit: 100 }).data.length;
    expect(missing).toBe(MESSAGES - arrived.length);
    expect(bench.relay.replayMissing(endpoint?.id ?? '', bench.clock.now() - 60_000)).toBe(missing);
    await bench.relay.idle();
    expect(pings(bench).sort((a, b) => a - b)).toEqual(inOrder);
  });

  it('send messages twice with the same id', async () => {
    const bench = await arrivals({ duplicated: 0.3 });
    const ids = bench.receiver.requests.map(({ headers }) => headers['svix-id']);
    expect(new Set(ids).size).toBe(MESSAGES);
    expect(ids.length).toBeGreaterThan(MESSAGES + 5);
    expect(ids.length).toBeLessThan(MESSAGES + 30);
  });

  it('shuffle messages within a window, and lose none', async () => {
    const bench = await arrivals({ reordered: 0.5, reorderMax: 1_000 });
    await pass(bench, 1_000);
    const arrived = pings(bench);
    expect(arrived).not.toEqual(inOrder);
    expect([...arrived].sort((a, b) => a - b)).toEqual(inOrder);
  });

  it('hold messages back', async () => {
    const bench = await arrivals({ late: 0.5, lateBy: 3_600_000 });
    const early = pings(bench).length;
    expect(early).toBeLessThan(45);
    await pass(bench, 3_600_000);
    expect(pings(bench).sort((a, b) => a - b)).toEqual(inOrder);
  });

  it('sign with a wrong key or an old time stamp at first, and rightly when retried', async () => {
    const bench = await startBench({ faults: { ...NO_FAULTS, wrongSignature: 1 } });
    const { relay, receiver } = bench;
    const { id } = relay.createEndpoint({ url: receiver.url });
    const accepts = ({ body, headers }: Received): boolean => {
      const named = Object.entries(headers).map(([name, value]) => [
        name.replace('svix-', 'webhook-'),
        value,
      ]);
      try {
        new Webhook(relay.secret(id)).verify(body, Object.fromEntries(named));
        return true;
      } catch {
        return false;
      }
    };
    receiver.respond = (response, received) =>
      response.writeHead(accepts(received) ? 204 : 401).end();
    const verdicts = async () => {
      receiver.requests.length = 0;
      relay.publish('ping', { ping: 1 });
      await relay.idle();
      await pass(bench, 5_000);
      return receiver.requests.map(accepts);
    };
    expect(await verdicts()).toEqual([false, true]);
    relay.setFaults({ ...NO_FAULTS, staleTimestamp: 1 });
    expect(await verdicts()).toEqual([false, true]);
    expect(Number(receiver.requests[0]?.headers['svix-timestamp'])).toBeLessThan(
      Number(receiver.requests[1]?.headers['svix-timestamp']) - 3_000,
    );
    relay.setFaults(NO_FAULTS);
    expect(await verdicts()).toEqual([true]);
  });

  it('happen to the same messages for the same seed, whatever the other knobs are', async () => {
    const lost = async (faults: Partial<WebhookFaults>) => {
      const bench = await arrivals({ lost: 0.4, ...faults });
      return inOrder.filter((number) => !pings(bench).includes(number));
    };
    const first = await lost({});
    expect(await lost({})).toEqual(first);
    expect(await lost({ duplicated: 0.5, wrongSignature: 0.5 })).toEqual(first);
    expect(await lost({ seed: 6 })).not.toEqual(first);
  });

  it('do not retry a duplicate that fails', async () => {
    const bench = await startBench({ faults: { ...NO_FAULTS, duplicated: 1 } });
    bench.relay.createEndpoint({ url: bench.receiver.url });
    bench.receiver.respond = answering(500);
    bench.relay.publish('ping', { ping: 1 });
    await bench.relay.idle();
    expect(bench.receiver.requests).toHaveLength(2);
    await pass(bench, 5_000);
    expect(bench.receiver.requests).toHaveLength(3);
  });
});
