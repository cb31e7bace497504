/** Findings of the probe about an account, and about one where no log-in works. */
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { selvedge } from '../cli/support.ts';
import { answerJson, envelope, startFaulty } from '../client/support.ts';
import { accountOf, type Knobs, startAccount, writeAccount } from '../probe/support.ts';
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

/** A configuration for the reference, and what `probe` says with it. */
async function probeReference(knobs: Knobs, more = '') {
  const reference = await startAccount(knobs);
  const { clientId } = accountOf(reference);
  const v2 = `  v2:
    enabled: true
    baseUrl: ${reference.v2Url}
    login: { clientId: ${clientId}, clientSecret: { file: secret } }
  limits: { loginSpacing: 0s }`;
  const { file } = writeAccount(reference, `${more}\n${v2}`);
  return { reference, file, run: await selvedge(['--config', file, 'probe']) };
}

it('has nothing to say of an account that is as it is configured', async () => {
  const { run } = await probeReference({});
  expect(run).toMatchObject({ code: 0, stdout: '' });
  expect(run.stderr).toContain('the configuration fits');
});

it('prints what differs from the configuration, and where it was seen', async () => {
  const knobs = { dialect: { brandRequired: true }, v1: { level: '1.4.4' } };
  const { run } = await probeReference(knobs, '    seasonParameter: season');
  expect(run.code, run.stderr).toBe(0);
  expect(run.stdout).toContain('perBrand: always');
  expect(run.stdout).toContain('level: 1.4.4');
  expect(run.stdout).toMatch(/# .*without brandName: HTTP 422/);
  expect(run.stdout).toContain('seasonParameter: seasonName');
  expect(run.stderr).toContain('GET /orders/{}/pending-refunds: is not described');
});

it('holds a description against what the daemon does, and asks the account nothing', async () => {
  const { reference, file } = await probeReference({ dialect: { freightSpelling: 'Freight' } });
  const before = reference.edge.journal.list().length;
  const source = `${reference.v1Url}/openapi.json`;
  const run = await selvedge(['--config', file, 'probe', '--description', source, '--json']);
  expect(run.code, run.stderr).toBe(0);
  expect(JSON.parse(run.stdout)).toContainEqual({
    where: 'POST /orders',
    what: "the body's freight is sent, and is not described",
    hint: 'service.dialect.v1.freightSpelling: Freight',
  });
  const asked = reference.edge.journal.list().slice(before);
  expect(asked.map(({ path }) => path)).toEqual(['/api/v1/openapi.json']);
  const lost = await selvedge(['--config', file, 'probe', '--description', '/none.json']);
  expect(lost.code).toBe(1);
  expect(lost.stderr).toContain('name a file or an address');
});
