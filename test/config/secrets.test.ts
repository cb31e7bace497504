import { execFileSync } from 'node:child_process';
import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { inspect } from 'node:util';
import { describe, expect, it } from 'vitest';
import { describeConfig } from '../../src/config/describe.ts';
import { requireConfig } from '../../src/config/load.ts';
import { showProblem } from '../../src/config/problems.ts';
import { routeOf } from '../../src/daemon/service.ts';
import { createScrubber } from '../../src/lib/secret.ts';
import { CERTIFICATE, KEY, OTHER_KEY } from '../fixtures/certificate.ts';
import { temporaryFolder } from '../support/store.ts';
import {
  configIn,
  ENV,
  HOOK_SECRET,
  MINIMAL,
  problemsIn,
  writeConfig,
  writeSecret,
} from './support.ts';

const CANARY = 'canary-5d1e8c';

function withKey(reference: string): string {
  return MINIMAL.replace('{ env: API_KEY }', reference);
}

describe('secrets', () => {
  it('come from a file, without the line feed at its end', () => {
    const { config } = configIn(withKey(`{ file: ${writeSecret(`${CANARY}\r\n`)} }`));
    expect(config.service.v1.apiKey?.reveal()).toBe(CANARY);
  });

  it('come from a file that an editor began with a mark, and from none in another encoding', () => {
    const file = writeSecret(`\ufeff${CANARY}\r\n`);
    const { config } = configIn(withKey(`{ file: ${file} }`));
    expect(config.service.v1.apiKey?.reveal()).toBe(CANARY);
    writeFileSync(file, `\ufeff${CANARY}\r\n`, 'utf16le');
    const [problem] = problemsIn(withKey(`{ file: ${file} }`));
    expect(problem?.message).toBe(`the secret file ${file} is not UTF-8 text`);
  });

  it('come from a file beside the configuration', () => {
    const file = writeConfig(withKey('{ file: key }'));
    writeFileSync(join(file, '..', 'key'), CANARY, { mode: 0o600 });
    expect(requireConfig({ file, env: {} }).config.service.v1.apiKey?.reveal()).toBe(CANARY);
  });

  it('come from the credentials of the unit, where group access is normal', () => {
    const folder = temporaryFolder();
    writeFileSync(join(folder, 'key'), CANARY, { mode: 0o440 });
    const env = { CREDENTIALS_DIRECTORY: folder };
    const { config } = configIn(withKey('{ credential: key }'), { env });
    expect(config.service.v1.apiKey?.reveal()).toBe(CANARY);
  });

  it('may be out of reach for those who never want their value', () => {
    const text = withKey('{ credential: key }');
    expect(problemsIn(text)).toHaveLength(1);
    const { config, warnings } = configIn(text, { absent: 'credentials' });
    expect(() => config.service.v1.apiKey?.reveal()).toThrow(/credential key is not available/);
    expect(JSON.stringify(config.service.v1.apiKey)).toBe('"[secret service.v1.apiKey]"');
    expect(warnings.map(showProblem).join()).toMatch(/apiKey cannot be checked here/);
    // A file can be looked at by everybody who may, so that its absence is a mistake.
    const missing = withKey('{ file: /nowhere/key }');
    expect(problemsIn(missing, { absent: 'credentials' })).toHaveLength(1);
    expect(configIn(missing, { absent: 'any' }).config.service.v1.apiKey).toBeDefined();
  });

  it.each([
    'intake: { clients: [{ name: erp, token: { credential: key } }] }',
    'listener: { access: { pathToken: { credential: key } } }',
    'listener: { access: { headerToken: { credential: key } } }',
    'listener: { secrets: [{ secret: { credential: key } }] }',
  ])('may be out of reach in %s', (section) => {
    const text = `${MINIMAL}${section}\n`;
    expect(problemsIn(text, { env: ENV })).toHaveLength(1);
    const { warnings } = configIn(text, { env: ENV, absent: 'credentials' });
    expect(warnings.map(showProblem).join()).toMatch(/cannot be checked here/);
    configIn(text, { env: ENV, absent: 'any' });
  });

  it.each([
    [0o640, /open to other users/],
    [0o604, /open to other users/],
    [0o660, /open to other users/],
  ])('are refused from a file of mode %o', (mode, message) => {
    const [problem] = problemsIn(withKey(`{ file: ${writeSecret(CANARY, mode)} }`));
    expect(problem?.message).toMatch(message);
    expect(problem?.hint).toMatch(/^chmod 600 /);
  });

  it('are refused from a file that is empty, or holds more than a secret', () => {
    const problemOf = (value: string) =>
      problemsIn(withKey(`{ file: ${writeSecret(value)} }`))[0]?.message;
    expect(problemOf('\n\n')).toMatch(/is empty$/);
    expect(problemOf('x'.repeat(65_537))).toMatch(/is larger than 65536 bytes$/);
    expect(problemOf('x'.repeat(65_536))).toBeUndefined();
  });

  it('are refused from what is no regular file, without waiting for a writer', () => {
    const folder = temporaryFolder();
    mkdirSync(join(folder, 'folder'));
    execFileSync('sh', ['-c', 'mkfifo -m 600 "$0/pipe"', folder]);
    for (const name of ['folder', 'pipe']) {
      const [problem] = problemsIn(withKey(`{ file: ${join(folder, name)} }`));
      expect(problem?.message).toMatch(/is not a regular file/);
    }
  });

  it.each([
    ['{ file: /no/such/key }', /cannot read the secret file \/no\/such\/key \(ENOENT\)/],
    ['{ env: NOT_SET }', /NOT_SET is not set/],
    ['{ env: EMPTY }', /EMPTY is not set/],
    ['{ credential: .. }', /must be a reference to a secret/],
    ['{ credential: key }', /credential key is not available/],
    ['{ credential: ../key }', /must be a reference to a secret/],
    ['{ file: /a, env: B }', /must be a reference to a secret/],
  ])('are reported missing when %s leads nowhere', (reference, message) => {
    const [problem] = problemsIn(withKey(reference), { env: { ...ENV, EMPTY: '' } });
    expect(problem?.message).toMatch(message);
    expect(problem?.path).toBe('service.v1.apiKey');
  });

  it.each([
    withKey(CANARY),
    withKey(`"${CANARY}"`),
    withKey(`{ value: ${CANARY} }`),
    withKey(`{ env: ${CANARY} }`),
    withKey(`[${CANARY}]`),
    withKey('{ env: API_KEY }').replace('apiKey', `apiKye: ${CANARY}\n    apiKey`),
    `${MINIMAL}\nlistener: { secrets: [${CANARY}] }\n`,
    `${MINIMAL}\nlistener: { secrets: [{ secret: ${CANARY} }] }\n`,
    `${MINIMAL}\nlistener: { secrets: ${CANARY} }\n`,
    `${MINIMAL}    login: { clientId: { value: ${CANARY} }, clientSecret: ${CANARY} }\n`,
    `${MINIMAL}\nbroken: [${CANARY}\n ${CANARY}: }\n`,
  ])('that stand in the file are refused and never repeated: %#', (text) => {
    const file = writeConfig(text);
    const problems = problemsIn(text);
    expect(problems.length).toBeGreaterThan(0);
    expect(problems.map(showProblem).join('\n')).not.toContain(CANARY);
    expect(JSON.stringify(problems)).not.toContain(CANARY);
    expect(JSON.stringify(describeConfig({ file, env: ENV }))).not.toContain(CANARY);
  });

  it.each([
    'whsec_',
    'whsec_AAAA',
    'plain text of the secret',
    'whsec_%%%%%%%%%%%%%%%%%%%%%%%%',
    // More bytes than any relay makes; and copied without its end.
    `whsec_${Buffer.alloc(76, 7).toString('base64')}`,
    `whsec_${Buffer.alloc(24, 7).toString('base64').slice(0, -3)}`,
    `whpk_${Buffer.alloc(33, 7).toString('base64')}`,
  ])('for signing must look like one, unlike %j', (HOOK) => {
    const text = `${MINIMAL}\nlistener: { secrets: [{ secret: { env: HOOK } }] }\n`;
    const [problem] = problemsIn(text, { env: { ...ENV, HOOK } });
    expect(problem?.message).toBe('does not hold a signing secret (whsec_… or whpk_…)');
    expect(problem?.path).toBe('listener.secrets[0].secret');
    expect(problem?.hint).toBe('what it names must hold it alone: no quotes, no second line');
  });

  it.each([
    ['    readToken: { env: KEY }', 'service.v1.readToken'],
    ['', 'service.v1.apiKey'],
  ])('of a header must fit into one: %s', (section, path) => {
    const text = `${section === '' ? withKey('{ env: KEY }') : MINIMAL}${section}\n`;
    const problemOf = (KEY: string) => problemsIn(text, { env: { ...ENV, KEY } })[0];
    for (const KEY of [`${CANARY}\n# the old one`, `${CANARY}\u20ac`, `${CANARY}\0`]) {
      const problem = problemOf(KEY);
      expect(problem?.message).toBe('holds a line break or a letter that no HTTP header can carry');
      expect(problem?.path).toBe(path);
      expect(JSON.stringify(problem)).not.toContain(CANARY);
    }
    expect(problemOf(`Bearer ${CANARY}`)).toBeUndefined();
  });

  it.each([
    ['{ env: ID }', '{ env: API_KEY }', 'clientId'],
    ['erp', '{ env: ID }', 'clientSecret'],
  ])('of the log-in must not be copied wrong: %s', (id, secret, member) => {
    const login = `login: { clientId: ${id}, clientSecret: ${secret} } #`;
    const text = MINIMAL.replace('apiKey', login);
    const wrong = [`${CANARY}\nold`, `\u201c${CANARY}\u201d`, `\u2019${CANARY}`, ` ${CANARY}`];
    for (const ID of [...wrong, `${CANARY}\t`, `${CANARY}\0`, `${CANARY}\u2028x`]) {
      const [problem] = problemsIn(text, { env: { ...ENV, ID } });
      expect(problem?.message).toBe(
        'holds a line break, another control character, a curly quote or outer blanks',
      );
      expect(problem?.path).toBe(`service.v1.login.${member}`);
      expect(JSON.stringify(problem)).not.toContain(CANARY);
    }
    for (const ID of [`${CANARY} "x" 'y'`, `p\u00e4ssw\u00f6rd-${CANARY}`]) {
      expect(problemsIn(text, { env: { ...ENV, ID } })).toEqual([]);
    }
  });

  it.each([16, 24, 32, 75])('for signing may have %d bytes, with padding or without', (bytes) => {
    const padded = `whsec_${Buffer.alloc(bytes, 7).toString('base64')}`;
    for (const HOOK of [padded, padded.replace(/=+$/, '')]) {
      const text = `${MINIMAL}\nlistener: { secrets: [{ secret: { env: HOOK } }] }\n`;
      expect(problemsIn(text, { env: { ...ENV, HOOK } })).toEqual([]);
    }
  });

  it('may hold the client id too, which may also be plain text', () => {
    const login = (id: string) =>
      MINIMAL.replace('apiKey', `login: { clientId: ${id}, clientSecret: { env: API_KEY } } #`);
    const idIn = (id: string) => configIn(login(id)).config.service.v1.login?.clientId;
    expect(idIn('erp-1')).toBe('erp-1');
    expect(String(idIn(`{ file: ${writeSecret('erp-2')} }`))).toBe(
      '[secret service.v1.login.clientId]',
    );
    expect(problemsIn(login('{ file: /no/such }'))[0]?.message).toMatch(/\/no\/such \(ENOENT\)/);
    // A number is no secret that stands in the file: it lacks its quotes.
    expect(problemsIn(login('4711'))[0]).toMatchObject({
      message: 'must be a client id (a number in quotes), or a reference to a secret that holds it',
      value: '4711',
    });
  });

  it('in the environment are accepted with a warning', () => {
    const text = `${MINIMAL}\nlistener: { secrets: [{ secret: { env: HOOK } }] }\n`;
    const { warnings } = configIn(text, { env: { ...ENV, HOOK: HOOK_SECRET } });
    expect(warnings.map(({ path }) => path)).toEqual([
      'service.v1.apiKey',
      'listener.secrets[0].secret',
    ]);
    const quiet = configIn(withKey(`{ file: ${writeSecret(CANARY)} }`)).warnings;
    expect(quiet.map(({ message }) => message)).toEqual(['is empty: every event will be refused']);
  });

  it('of the configuration stay known to the scrubber however many tokens follow', () => {
    const scrubber = createScrubber();
    configIn(MINIMAL, { scrubber });
    for (let count = 0; count < 1_000; count += 1) scrubber.register(`token-${count}-x`, 'token');
    expect(scrubber.scrub(`${ENV.API_KEY} token-999-x token-1-x`)).toBe(
      '[secret service.v1.apiKey] [secret token] token-1-x',
    );
  });

  it('leave nothing of themselves where one begins with another', () => {
    const scrubber = createScrubber();
    scrubber.register('acme-erp', 'clientId');
    scrubber.register('acme-erp-9f8a7s6d', 'clientSecret');
    scrubber.register('9f8a7s6d-of-old', 'token');
    expect(scrubber.scrub('acme-erp, acme-erp-9f8a7s6d, 9f8a7s6d-of-old')).toBe(
      '[secret clientId], [secret clientSecret], [secret token]',
    );
  });

  it('are known to the scrubber, and show themselves nowhere', () => {
    const scrubber = createScrubber();
    const hook = HOOK_SECRET;
    const text = `${MINIMAL}\nlistener: { secrets: [{ secret: { env: HOOK } }] }\n`;
    const { config } = configIn(text, { env: { ...ENV, HOOK: hook }, scrubber });
    expect(scrubber.scrub(`x ${ENV.API_KEY} ${hook} ${hook.slice(6)}`)).toBe(
      'x [secret service.v1.apiKey] [secret listener.secrets] [secret listener.secrets]',
    );
    expect(inspect(config, { depth: 9 })).not.toContain(ENV.API_KEY);
    expect(JSON.stringify(config)).not.toContain(ENV.API_KEY);
  });
});

const ENCRYPTED = `-----BEGIN ENCRYPTED PRIVATE KEY-----
MIHsMFcGCSqGSIb3DQEFDTBKMCkGCSqGSIb3DQEFDDAcBAgKUL+4x3tEZQICCAAw
DAYIKoZIhvcNAgkFADAdBglghkgBZQMEASoEEFUz/3zCwchwj4MED8UyDkMEgZD+
OPLHmTaxydIhpje/r5aJiierDZI7HX6NgDqWXtOpiGAQf2XMaCOs9IHM2dNDuta9
frTzi6jpWoEPRRx75eNgvLZQKsoS58zSiXycFSjuSP7TKqoWHn9ZBmOKPUYl2RGQ
t3JtrfVUQVtE7G4MiP2PDSBXtjUaX/bmhhOiTLnrinOtn4QRI9JOmiOo6mXHsFk=
-----END ENCRYPTED PRIVATE KEY-----`;

describe('a client certificate', () => {
  const withClient = (parts: string) => `${MINIMAL}  clientCertificate: ${parts}\n`;
  const inFile = (pem: string) => writeSecret(`${pem}\n`);

  it('comes with its key, which has many lines and stays a secret', () => {
    const text = withClient(`{ file: ${inFile(CERTIFICATE)}, key: { file: ${inFile(KEY)} } }`);
    const { config } = configIn(text);
    expect(config.service.clientCertificate?.key.reveal()).toBe(KEY);
    expect(JSON.stringify(config)).not.toContain(KEY.split('\n')[1]);
    const { client } = routeOf(config.service);
    expect(client).toMatchObject({ certText: `${CERTIFICATE}\n` });
    expect(client?.key.reveal()).toBe(KEY);
    expect(routeOf(configIn(MINIMAL).config.service).client).toBeUndefined();
  });

  it.each([
    ['a key alone', '{ key: { file: KEY } }', /is not set; both or neither/],
    ['a certificate alone', '{ file: CERT }', /is not set; both or neither/],
    ['the key of another', '{ file: CERT, key: { file: OTHER } }', /is not the private key of/],
    ['a key that is none', '{ file: CERT, key: { file: CERT } }', /holds no private key/],
    ['a key behind a password', '{ file: CERT, key: { file: LOCKED } }', /that is encrypted/],
    ['a certificate that is none', '{ file: KEY, key: { file: KEY } }', /holds no certificate/],
  ])('is not %s', (_name, parts, message) => {
    const files = { CERT: CERTIFICATE, KEY, OTHER: OTHER_KEY, LOCKED: ENCRYPTED };
    let text = withClient(parts);
    for (const [name, pem] of Object.entries(files)) {
      text = text.replaceAll(new RegExp(`\\b${name}\\b`, 'g'), inFile(pem));
    }
    const [problem] = problemsIn(text);
    expect(problem?.path).toMatch(/^service\.clientCertificate/);
    expect(problem?.message).toMatch(message);
    expect(JSON.stringify(problem)).not.toContain('PRIVATE KEY-----\\nM');
  });
});

describe('showing a configuration', () => {
  it('has a row a setting, with its origin, and masks secrets', () => {
    const file = writeConfig(`${MINIMAL}\nlistener: { secrets: [{ secret: { file: /s } }] }\n`);
    const rows = describeConfig({ file, env: ENV });
    const rowOf = (path: string) => rows.find((row) => row.path === path);
    expect(rowOf('service.v1.apiKey')).toEqual({
      path: 'service.v1.apiKey',
      value: '(environment variable API_KEY)',
      origin: `${file}:5:13`,
    });
    expect(rowOf('listener.secrets[0].secret')?.value).toBe('(file /s)');
    expect(rowOf('service.v1.readToken')).toMatchObject({ value: '-', origin: 'default' });
    expect(rowOf('store.busyTimeout')).toMatchObject({ value: '5s', origin: 'default' });
  });

  it('works while the configuration is broken', () => {
    const file = writeConfig('log: { level: loud, levle: info }\nstore:\n  busyTimeout: [\n');
    const rows = describeConfig({ file, env: {} });
    expect(rows).toContainEqual({ path: 'log.level', value: 'loud', origin: `${file}:1:15` });
    expect(rows.find(({ path }) => path === 'log.levle')?.value).toBe('(unknown setting)');
  });
});
