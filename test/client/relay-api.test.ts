import { expect, it } from 'vitest';
import { createRelayApi, type RelayApiOptions } from '../../src/client/relay-api.ts';
import { Secret } from '../../src/lib/secret.ts';
import { startTestReference } from '../support/house.ts';

const SECRET = `whsec_${Buffer.alloc(24, 7).toString('base64')}`;

/** A relay, and what asks it; nobody listens at its endpoints. */
async function start() {
  const reference = await startTestReference({ world: { styles: 2, orders: 0 } });
  const apiUrl = `${reference.relayUrl}/api/v1`;
  const token = new Secret('relay token', reference.relayToken);
  const usual: RelayApiOptions = { apiUrl, token, application: null, endpoint: null };
  const api = (options: Partial<RelayApiOptions> = {}) => createRelayApi({ ...usual, ...options });
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
