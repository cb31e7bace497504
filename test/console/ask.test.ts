import { getGlobalDispatcher, ProxyAgent, setGlobalDispatcher } from 'undici';
import { expect, it, onTestFinished } from 'vitest';
import { askHere } from '../../src/console/ask.ts';
import { startTestReference } from '../support/house.ts';

it('asks this machine without the proxy that Node was told to use for everything', async () => {
  const before = getGlobalDispatcher();
  onTestFinished(() => setGlobalDispatcher(before));
  // As NODE_USE_ENV_PROXY and HTTP_PROXY do; nobody listens there.
  setGlobalDispatcher(new ProxyAgent('http://127.0.0.1:9'));
  const { v1Url } = await startTestReference();
  const answer = await askHere(`${v1Url}/brands`, { headersTimeout: 5_000 });
  expect(answer.statusCode).toBe(401);
});
