import { once } from 'node:events';
import { mkdirSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:http';
import { join } from 'node:path';
import { expect, it, onTestFinished } from 'vitest';
import { localFile } from '../../../src/console/api.ts';
import { temporaryFolder } from '../../support/store.ts';
import { selvedge } from '../support.ts';

it('says what a broken answer of the daemon means, instead of showing a stack', async () => {
  const dataDir = temporaryFolder();
  const server = createServer((_request, response) => {
    response.writeHead(200, { 'content-type': 'application/json', 'content-length': '1000' });
    response.write('{"answers": [');
    setImmediate(() => response.destroy());
  });
  server.listen(0, '127.0.0.1');
  onTestFinished(() => void server.close());
  await once(server, 'listening');
  const address = server.address();
  const port = typeof address === 'object' ? address?.port : undefined;
  mkdirSync(join(dataDir, 'rules'));
  const local = { url: `http://127.0.0.1:${port}`, token: 'of-a-daemon-that-dies' };
  writeFileSync(localFile(dataDir), JSON.stringify(local));
  const config = join(dataDir, 'selvedge.yaml');
  writeFileSync(join(dataDir, 'key'), 'a-key-of-nobody-0123456789', { mode: 0o600 });
  const v1 = { baseUrl: 'http://127.0.0.1:9/api/v1', apiKey: { file: join(dataDir, 'key') } };
  const written = { dataDir, rules: { directory: join(dataDir, 'rules') }, service: { v1 } };
  writeFileSync(config, JSON.stringify(written));
  const file = join(dataDir, 'order.json');
  writeFileSync(file, '{"reference": "SO-1", "lines": []}');
  const { code, stderr } = await selvedge(['--config', config, 'orders', 'push', file]);
  expect(stderr).toMatch(/^selvedge: the daemon broke off its answer: .+\nhint: .+\n$/);
  expect(code).toBe(1);
});
