/** What the probe says when no log-in works: it is what somebody tries first of all. */
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { selvedge } from '../cli/support.ts';
import { answerJson, envelope, startFaulty } from '../client/support.ts';
import { WEBHOOK_SECRET } from '../support/house.ts';
import { temporaryFolder } from '../support/store.ts';

/** Refuses every log-in: these names of the body with one status, other names with another. */
async function probeRefused(known: number, others = known) {
  const folder = temporaryFolder();
  await using service = await startFaulty((_request, response) => {
    const body = service.bodies.at(-1) ?? '';
    const status = body.includes('"clientId"') ? known : others;
    answerJson(response, status, envelope(status, null, status === 401 ? 'no such client' : 'no'));
  });
  writeFileSync(join(folder, 'secret'), 'not-the-secret', { mode: 0o600 });
  writeFileSync(join(folder, 'hook'), WEBHOOK_SECRET, { mode: 0o600 });
  const file = join(folder, 'selvedge.yaml');
  writeFileSync(
    file,
    `dataDir: data
service:
  v1: { baseUrl: "${service.url}", login: { clientId: us, clientSecret: { file: secret } } }
  limits: { loginSpacing: 0s }
listener: { secrets: [{ secret: { file: hook } }] }
`,
  );
  return await selvedge(['--config', file, 'probe']);
}

it('tells of a wrong secret, not of the names that the service does not know', async () => {
  const { code, stderr } = await probeRefused(401, 422);
  expect(stderr).toContain('HTTP 401: no such client');
  expect(stderr).toContain('check the client id and the client secret');
  expect(code).toBe(1);
});

it.each([404, 405])('names the base URL where a log-in is answered with %s', async (status) => {
  const { code, stderr } = await probeRefused(status);
  expect(stderr).toContain('check the base URL, the client id and the client secret');
  expect(code).toBe(1);
});
