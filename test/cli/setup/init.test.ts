/** From an address and its credentials to a file that works; and what becomes of it if not. */
import { mkdirSync, readdirSync, readFileSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { loadConfig } from '../../../src/config/load.ts';
import type { Reference } from '../../../src/reference/reference.ts';
import { startAccount } from '../../probe/support.ts';
import { WEBHOOK_SECRET } from '../../support/house.ts';
import { type AtEnd, temporaryFolder } from '../../support/store.ts';
import { selvedge } from '../support.ts';

interface Given {
  readonly folder: string;
  readonly file: string;
  readonly secret: string;
  readonly args: readonly string[];
}

function given(reference: Reference, atEnd: AtEnd, secret?: string): Given {
  const folder = temporaryFolder(atEnd);
  const [key] = Object.values(reference.credentials);
  const value = secret ?? key?.clientSecret ?? '';
  mkdirSync(join(folder, 'secrets'));
  writeFileSync(join(folder, 'secrets', 'client'), value, { mode: 0o600 });
  writeFileSync(join(folder, 'secrets', 'hook'), WEBHOOK_SECRET, { mode: 0o600 });
  const file = join(folder, 'selvedge.yaml');
  const args = [
    ...['init', '--url', reference.v1Url, '--client-id', key?.clientId ?? ''],
    ...['--client-secret-file', join(folder, 'secrets', 'client'), '--output', file],
    ...['--webhook-secret-file', join(folder, 'secrets', 'hook'), '--login-spacing', '0s'],
  ];
  return { folder, file, secret: value, args };
}

// Probes wait between their requests: the tests run side by side.
describe.concurrent('selvedge init', () => {
  it('writes a short configuration that is right, and says where each line was seen', async ({
    onTestFinished: atEnd,
  }) => {
    const reference = await startAccount(
      {
        world: { brands: 2 },
        dialect: { bearer: true, brandRequired: true, detailNames: { size: 'size_name' } },
        paging: { variantsDefault: 50 },
      },
      atEnd,
    );
    const { folder, file, secret, args } = given(reference, atEnd);
    const { code, stdout, stderr } = await selvedge(args);
    expect(code, stderr).toBe(0);
    expect(stdout).toBe(`wrote ${file}\n`);
    const text = readFileSync(file, 'utf8');
    expect(text).toContain(
      [
        '      # X-Service-Authorization: Bearer: 401 without, 200 with it, on GET /brands',
        '      tokenScheme: bearer',
      ].join('\n'),
    );
    expect(text).toContain('perBrand: always');
    expect(text).toContain('paging: pages');
    expect(text).toContain('members: [ { of: details, ours: size, theirs: size_name } ]');
    expect(text).toContain('clientSecret: { file: secrets/client }');
    expect(text.split('\n').length).toBeLessThan(50);
    expect(text + stdout + stderr).not.toContain(secret);
    expect(statSync(file).mode & 0o077).toBe(0);
    const checked = await selvedge(['config', 'check', '--config', file]);
    expect(checked.stdout).toContain('the configuration is right');
    const loaded = loadConfig({ file, env: {} });
    expect('config' in loaded && loaded.warnings).toEqual([]);
    expect('config' in loaded && loaded.config.service.v2.enabled).toBe(true);
    expect(readdirSync(folder).sort()).toEqual(['rules', 'secrets', 'selvedge.yaml']);
  });

  it('writes the file that --config names, wherever the options stand', async ({
    onTestFinished: atEnd,
  }) => {
    const reference = await startAccount({}, atEnd);
    const { folder, args } = given(reference, atEnd);
    const [command = '', ...options] = args.filter(
      (one, index) => one !== '--output' && args[index - 1] !== '--output',
    );
    const file = join(folder, 'other.yaml');
    const { code, stdout, stderr } = await selvedge(['--config', file, command, ...options]);
    expect([code, stdout], stderr).toEqual([0, `wrote ${file}\n`]);
    const list = ['--config', file, '--url', 'http://127.0.0.1:1', 'deliveries', 'list'];
    expect((await selvedge(list)).stderr).toContain('--url and --config cannot both');
  });

  it('replaces no configuration unless it is told to', async ({ onTestFinished: atEnd }) => {
    const reference = await startAccount({}, atEnd);
    const { file, args } = given(reference, atEnd);
    writeFileSync(file, 'instance: mine\n');
    const refused = await selvedge(args);
    expect(refused.code).toBe(2);
    expect(refused.stderr).toContain('--force');
    expect(readFileSync(file, 'utf8')).toBe('instance: mine\n');
    expect(reference.edge.journal.list()).toEqual([]);
    expect((await selvedge([...args, '--force'])).code).toBe(0);
    expect(readFileSync(file, 'utf8')).toContain(reference.v1Url);
  });

  it('leaves nothing behind when there is no way in', async ({ onTestFinished: atEnd }) => {
    const reference = await startAccount({}, atEnd);
    const { folder, secret, args } = given(reference, atEnd, 'another-secret');
    const { code, stdout, stderr } = await selvedge(args);
    expect(code).toBe(1);
    expect(stderr).toContain('check the client id and the client secret');
    expect(stdout + stderr).not.toContain(secret);
    expect(readdirSync(folder)).toEqual(['secrets']);
  });

  it('says of what is given wrongly what the configuration check says of it', async ({
    onTestFinished: atEnd,
  }) => {
    const reference = await startAccount({}, atEnd);
    const { folder, args } = given(reference, atEnd);
    const plain = args.map((one) => (one === reference.v1Url ? 'http://key.example.com/api' : one));
    const { code, stderr } = await selvedge(plain);
    expect(code).toBe(78);
    expect(stderr).toContain('must begin with https://');
    expect(readdirSync(folder)).toEqual(['secrets']);
  });

  it('asks nobody where nobody sits, and names the options', async ({ onTestFinished: atEnd }) => {
    const { code, stderr } = await selvedge([
      'init',
      '--output',
      join(temporaryFolder(atEnd), 'a.yaml'),
    ]);
    expect(code).toBe(2);
    expect(stderr).toContain('--client-secret-file');
  });
});
