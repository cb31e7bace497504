import { expect, it } from 'vitest';
import { DIRECT } from '../../src/client/http/tunnel.ts';
import { createRelayApi, type RelayApiOptions } from '../../src/client/relay-api.ts';
import { manualClock, systemClock } from '../../src/lib/clock.ts';
import { Secret } from '../../src/lib/secret.ts';
import { startTestReference } from '../support/house.ts';
import { rejection, startFaulty } from './support.ts';

const SECRET = `whsec_${Buffer.alloc(24, 7).toString('base64')}`;

/** A relay, and what asks it; nobody listens at its endpoints. */
async function start() {
  const reference = await startTestReference({ world: { styles: 2, orders: 0 } });
  const apiUrl = `${reference.relayUrl}/api/v1`;
  const token = new Secret('relay token', reference.relayToken);
  const usual: RelayApiOptions = {
    ...{ apiUrl, token, application: null, endpoint: null },
    ...DIRECT,
  };
  const api = (options: Partial<RelayApiOptions> = {}) =>
    createRelayApi({ ...usual, ...options }, systemClock());
  const subscribe = () =>
    reference.relay.createEndpoint({ url: 'http://127.0.0.1:9/hooks', secret: SECRET }).id;
  return { api, subscribe, relay: reference.relay };
}

it('asks the only endpoint, or the one that is named', async () => {
  const { api, subscribe } = await start();
  await expect(api().sendExample('ping')).rejects.toMatchObject({ code: 'relay.which_endpoint' });
  const first = subscribe();
  expect(await api().sendExample('ping')).toMatchObject({ endpoint: first });
  const second = subscribe();
  await expect(api().sendExample('ping')).rejects.toMatchObject({
    code: 'relay.which_endpoint',
    hint: expect.stringContaining(second),
  });
  const sent = await api({ endpoint: second }).sendExample('ping');
  expect(sent).toMatchObject({ endpoint: second, eventId: expect.stringMatching(/^msg_/) });
});

it('says that an endpoint is disabled instead of waiting for it', async () => {
  const { api, subscribe, relay } = await start();
  relay.updateEndpoint(subscribe(), { disabled: true });
  await expect(api().sendExample('ping')).rejects.toMatchObject({ code: 'relay.disabled' });
});

it('tells a refusal from a relay that is not there, and never the token', async () => {
  const { api } = await start();
  const wrong = api({ token: new Secret('relay token', 'canary-wrong-token') });
  const refused = await wrong.sendExample('ping').catch((error: unknown) => error);
  expect(refused).toMatchObject({
    code: 'relay.refused',
    message: expect.stringContaining('answers 401'),
  });
  expect(JSON.stringify(refused)).not.toContain('canary');
  await expect(api({ application: 'nobody' }).sendExample('ping')).rejects.toMatchObject({
    code: 'relay.refused',
    message: expect.stringContaining('404'),
  });
  const nowhere = api({ apiUrl: 'http://127.0.0.1:9/api/v1' });
  await expect(nowhere.sendExample('ping')).rejects.toMatchObject({ code: 'relay.unreachable' });
});

it('ends with an answer that has no end, and with one that breaks off', async () => {
  const token = new Secret('relay token', 'x');
  const named = { token, application: 'a', endpoint: 'b', ...DIRECT };
  let closed = 0;
  await using server = await startFaulty((_request, response, nth) => {
    response.on('close', () => {
      closed += 1;
    });
    response.writeHead(200);
    const more = (): void => {
      if (closed > 0) return;
      while (response.write(' '.repeat(65_536)));
      response.once('drain', more);
    };
    if (nth === 1) more();
    else response.write(' ', () => response.destroy());
  });
  const api = createRelayApi({ ...named, apiUrl: server.url }, systemClock());
  expect(await rejection(api.lastAttempt('e'))).toMatchObject({ code: 'relay.odd_answer' });
  await expect.poll(() => closed).toBe(1);
  expect(await rejection(api.lastAttempt('e'))).toMatchObject({ code: 'relay.unreachable' });
});

it('does not wait for a body that trickles', async () => {
  await using server = await startFaulty((_request, response) => {
    response.writeHead(200);
    response.write(' ');
  });
  const clock = manualClock();
  const named = {
    token: new Secret('relay token', 'x'),
    application: 'a',
    endpoint: 'b',
    ...DIRECT,
  };
  const asked = rejection(createRelayApi({ ...named, apiUrl: server.url }, clock).lastAttempt('e'));
  await expect.poll(() => server.seen.length).toBe(1);
  await clock.advance(30_000);
  expect(await asked).toMatchObject({ code: 'relay.unreachable' });
});
