import { writeFileSync } from 'node:fs';
import { getGlobalDispatcher, ProxyAgent, setGlobalDispatcher } from 'undici';
import { expect, it, onTestFinished } from 'vitest';
import { EXIT } from '../../src/lib/errors.ts';
import { askHere, localFile } from '../../src/local-api/ask.ts';
import { selvedge } from '../cli/support.ts';
import { startFaulty } from '../client/support.ts';
import { ENV, MINIMAL, writeConfig } from '../config/support.ts';
import { startTestReference } from '../support/house.ts';
import { temporaryFolder } from '../support/store.ts';

it('asks this machine without the proxy that Node was told to use for everything', async () => {
  const before = getGlobalDispatcher();
  onTestFinished(() => setGlobalDispatcher(before));
  // NODE_USE_ENV_PROXY and HTTP_PROXY do the same; nobody listens there.
  setGlobalDispatcher(new ProxyAgent('http://127.0.0.1:9'));
  const { v1Url } = await startTestReference();
  const answer = await askHere(`${v1Url}/brands`, { headersTimeout: 5_000 });
  expect(answer.statusCode).toBe(401);
});

it.each([
  ['another program', 404, '<html>'],
  ['one that has a page for everything', 200, '<html>'],
  ['the daemon of another brand', 401, '{"code":"local.no_token","message":"no"}'],
])('says that %s has the address that a killed daemon left behind', async (_, status, body) => {
  await using other = await startFaulty((_request, response) => {
    response.writeHead(status).end(body);
  });
  const dataDir = temporaryFolder();
  writeFileSync(localFile(dataDir), JSON.stringify({ url: other.url, token: 'old' }));
  const file = writeConfig(`dataDir: ${dataDir}\n${MINIMAL}`);
  const { code, stderr } = await selvedge(['rules', 'reload', '--config', file], ENV);
  expect(stderr).toContain(`selvedge: at ${other.url} answers another program, and not the daemon`);
  expect(code).toBe(EXIT.temporary.code);
});
