import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { loadConfig, requireConfig } from '../../src/config/load.ts';
import { showProblem } from '../../src/config/problems.ts';
import { ConfigError } from '../../src/lib/errors.ts';
import { CERTIFICATE } from '../fixtures/certificate.ts';
import { temporaryFolder } from '../support/store.ts';
import { configIn, ENV, HOOK_SECRET, MINIMAL, problemsIn, writeConfig } from './support.ts';

describe('loading a configuration', () => {
  it('lays the user file over the default', () => {
    const { config } = configIn(`${MINIMAL}  timeouts: { connect: 1m30s }\n`);
    expect(config.service.timeouts).toMatchObject({ connect: 90_000, idle: 30_000 });
    expect(config.listener.bodyMax).toBe(2_097_152);
    expect(config.service.v1.login).toBeNull();
  });

  it('replaces a list as a whole', () => {
    const { config } = configIn(`${MINIMAL}  v2: { tokenPointers: [/token] }\n`);
    expect(config.service.dialect.v2.tokenPointers).toEqual(['/token']);
  });

  it('takes a word for a status only as one that its kind has', () => {
    const problemsOf = (pair: string) =>
      problemsIn(`${MINIMAL}    statuses: [{ ${pair} }]\n`).map(({ path, message }) => ({
        ...{ path, message },
      }));
    expect(problemsOf('of: refund, says: done, means: accepted')).toEqual([]);
    expect(problemsOf('of: pendingRefund, says: done, means: accepted')).toEqual([
      {
        path: 'service.dialect.v1.statuses[0].means',
        message: expect.stringMatching(/^is no status of a pendingRefund: pending, .*confirmed/),
      },
    ]);
    expect(problemsOf('of: delivery, says: packed')).toMatchObject([
      { path: 'service.dialect.v1.statuses[0].means' },
    ]);
  });

  it('resolves paths from the folder of the user file', () => {
    const file = writeConfig(`${MINIMAL}\ndataDir: data\n`);
    const loaded = requireConfig({ file, env: ENV });
    expect(loaded.config.dataDir).toBe(join(file, '..', 'data'));
    expect(loaded.config.rules.directory).toBe(join(file, '..', 'rules'));
  });

  it('reports all problems at once, in the order of the file, with places', () => {
    const problems = problemsIn(
      [
        'instance: Main!',
        'service:',
        '  v1:',
        '    baseUrl: http://service.example.com/api/v1',
        '    apiKey: { env: API_KEY }',
        '    paging: page',
        'listener:',
        '  prot: 1',
        '  bodyMax: 256',
        'streams:',
        '  stock: { schedule: "61 * * * *" }',
        'store:',
      ].join('\n'),
    );
    const shown = problems.map(showProblem).map((text) => text.replace(/^.*\//, ''));
    expect(problems.map(({ at, path }) => `${at.line}:${at.column} ${path}`)).toEqual([
      '1:11 instance',
      '4:14 service.v1.baseUrl',
      '6:13 service.dialect.v1.paging',
      '8:3 listener.prot',
      '9:12 listener.bodyMax',
      '11:22 streams.stock.schedule',
      '12:1 store',
    ]);
    expect(shown[2]).toContain(
      'must be one of stream, pages (found: page)\n    hint: did you mean',
    );
    expect(problems[3]?.hint).toBe('did you mean port?');
    expect(problems[4]).toMatchObject({ value: '256', hint: 'for example bodyMax: 2MiB' });
    expect(problems[6]?.message).toBe('is an empty section');
  });

  it('shows that a number or a yes stands in quotes', () => {
    const text = 'local: { port: "8791" }\noutbox: { styles: "true" }';
    const problems = problemsIn(`${MINIMAL}\n${text}\n`);
    expect(problems.map(({ value }) => value)).toEqual(['"8791"', '"true"']);
  });

  it('names the place of each name that is none', () => {
    const problems = problemsIn(`${MINIMAL}\nlocal:\n  8791: here\n? [a, b]\n: c\n`);
    const nameless = problems.filter(({ message }) => message === 'a setting must have a name');
    expect(nameless.map(({ at }) => `${at.line}:${at.column}`)).toEqual(['8:3', '9:3']);
  });

  it('says what is known where a name is like none of them', () => {
    const [problem] = problemsIn(`${MINIMAL}\nlog: { zzzzzzzzzzzz: 1 }\n`);
    expect(problem?.hint).toBe('known here: level, format');
  });

  it.each([
    ['a: 1\n\tb: 2\n', 'a tab stands where spaces must be'],
    ['log: { level: info\n', 'the indentation does not fit, or a bracket above is not closed'],
    ['log: { level: "info }\n', 'a closing quote is missing'],
    ['log: {level: info}\nlog: {level: warn}\n', 'this setting is written twice'],
    ['a: 1\n---\nb: 2\n', 'the file holds more than one document'],
    ['streams: { stock: { schedule: */5 * * * * } }\n', 'anchors and aliases are not supported'],
    ['log: &x { level: info }\n', 'anchors and aliases are not supported'],
    ['? { a: 1 }\n: 2\n', 'a setting must have a name'],
    ['- a\n', 'must hold settings'],
    ['just text\n', 'must hold settings'],
  ])('refuses %j', (text, message) => {
    const messages = problemsIn(text).map((problem) => problem.message);
    expect(messages).toContain(message);
  });

  it('tells where a quote was opened that is never closed', () => {
    const problems = problemsIn(`${MINIMAL}instance: "main\nlog: { level: info }\n`);
    const quote = problems.find(({ message }) => message === 'a closing quote is missing');
    expect(quote?.at).toMatchObject({ line: 6, column: 11 });
  });

  it.each(['rules:\n  directory: r\n  mode:live\n', 'log: { level: info }\ninstance = main\n'])(
    'names no quote where a colon or a space is missing: %j',
    (text) => {
      const problems = problemsIn(text).map(({ message }) => message);
      expect(problems).toContain('a colon, a bracket or a space is missing');
      expect(problems).not.toContain('a closing quote is missing');
    },
  );

  it('tells what does not fit once, and not again for each word behind it', () => {
    const shifted = problemsIn(` instance: main\n${MINIMAL}`);
    expect(shifted.filter(({ message }) => message === 'this is not valid YAML')).toHaveLength(1);
    const twice = problemsIn('a: "b" c\nd: "e" f\n');
    const lines = twice.filter(({ message }) => message === 'this is not valid YAML');
    expect(lines.map(({ at }) => at.line)).toEqual([1, 2]);
  });

  it('reports of a file that cannot be read, or holds no settings, only that', () => {
    const file = join(temporaryFolder(), 'missing.yaml');
    const loaded = loadConfig({ file, env: {} });
    const problems = 'problems' in loaded ? loaded.problems : [];
    expect(problems).toMatchObject([{ at: { file }, message: 'cannot be read (ENOENT)' }]);
    expect(problemsIn('- a\n')).toMatchObject([{ message: 'must hold settings' }]);
  });

  it('refuses a file that is not UTF-8, where that begins', () => {
    const file = writeConfig('');
    const problemsOf = (bytes: Buffer) => {
      writeFileSync(file, bytes);
      const loaded = loadConfig({ file, env: ENV });
      return 'problems' in loaded ? loaded.problems : [];
    };
    const latin = Buffer.from(`${MINIMAL}dataDir: /srv/f\xfcr-uns\n`, 'latin1');
    const at = { file, line: 6, column: 16 };
    expect(problemsOf(latin)).toMatchObject([{ at, message: 'is not UTF-8 text' }]);
    const wide = problemsOf(Buffer.from(`\ufeff${MINIMAL}`, 'utf16le'));
    expect(wide.map(({ message }) => message)).toContain('is not UTF-8 text');
    expect(problemsOf(Buffer.from(`\ufeff${MINIMAL}`))).toEqual([]);
  });

  it('throws one error with every problem for callers that cannot go on', () => {
    const file = writeConfig('log: { level: loud }\n');
    const load = (): unknown => requireConfig({ file, env: {} });
    expect(load).toThrow(ConfigError);
    expect(load).toThrow(/3 mistakes:[\s\S]*log\.level must be one of/);
  });

  it('is not disturbed by the names of object members', () => {
    const problems = problemsIn(`${MINIMAL}\n__proto__: { a: 1 }\nconstructor: 2\n`);
    expect(problems.map(({ path }) => path)).toEqual(['__proto__', 'constructor']);
  });
});

const ANYWHERE = '{ port: 8791, host: HOST, public: true, secrets: [{ secret: { env: HOOK } }] }';

describe('settings that depend on each other', () => {
  it.each(['0.0.0.0', '::', '192.168.1.5', '::ffff:10.0.0.1'])(
    'wants public: true and a secret for a listener on %s (L1)',
    (host) => {
      const problems = problemsIn(`${MINIMAL}\nlistener: { host: "${host}" }\n`);
      expect(problems.map(({ path }) => path).sort()).toEqual([
        'listener.host',
        'listener.secrets',
      ]);
    },
  );

  it.each(['127.0.0.1', '127.8.9.1', '::1', '::ffff:127.0.0.1'])(
    'takes a listener on %s as it is (L1)',
    (host) => {
      expect(problemsIn(`${MINIMAL}\nlistener: { host: "${host}" }\n`)).toEqual([]);
    },
  );

  it.each([
    ['addresses: ["203.0.113.0/24", "2001:db8::/32", "10.1.2.3"]', []],
    ['proxies: ["127.0.0.1/33"]', ['listener.access.proxies[0]']],
    ['addresses: ["10.0.0.0/8/8", "example.com"]', ['listener.access.addresses[0]']],
    ['addresses: ["::1/129"]', ['listener.access.addresses[0]']],
    ['pathToken: { env: SHORT }', ['listener.access.pathToken']],
    ['pathToken: { env: LONG }, headerToken: { env: LONG }', []],
  ])('checks the second factors of the listener: %s', (access, wrong) => {
    const env = { ...ENV, SHORT: 'short/token', LONG: 'canary-long-token-1234' };
    const problems = problemsIn(`${MINIMAL}\nlistener: { access: { ${access} } }\n`, { env });
    expect(problems.map(({ path }) => path).slice(0, 1)).toEqual(wrong);
    expect(JSON.stringify(problems)).not.toMatch(/short\/token|canary/);
  });

  it('never opens the local pages to other machines', () => {
    const [problem] = problemsIn(`${MINIMAL}\nlocal: { host: 0.0.0.0 }\n`);
    expect(problem?.path).toBe('local.host');
  });

  it.each([
    ['http://127.0.0.1:8080/api/v1', undefined],
    ['http://[::1]:8080/api/v1', undefined],
    ['http://localhost/api/v1', undefined],
    ['http://localhost.example.com/api/v1', 'must begin with https://'],
    ['http://127.example.com/api/v1', 'must begin with https://'],
    ['ftp://key.example.com', 'must be the address of an API'],
    ['https://key.example.com/api v1', 'must be the address of an API'],
    ['https://key.example.com/api?x=1', 'must end with the path'],
    ['https://user:canary@key.example.com/', 'must not hold a user'],
  ])('judges the base address %s', (address, message) => {
    const text = MINIMAL.replace('https://key.example.com/api/v1', address);
    const [problem] = problemsIn(text);
    if (message === undefined) expect(problem).toBeUndefined();
    else expect(problem?.message).toContain(message);
    expect(JSON.stringify(problem ?? '')).not.toContain('canary');
  });

  it('wants one way to log in, not two and not half of one', () => {
    const half = problemsIn(`${MINIMAL}    login: { clientId: erp }\n`);
    expect(half.map(({ path }) => path)).toEqual(['service.v1.login.clientSecret']);
    const both = '    login: { clientId: erp, clientSecret: { env: API_KEY } }\n';
    expect(problemsIn(MINIMAL + both)[0]?.message).toBe('is set, and apiKey too');
  });

  it('wants the address and the log-in of V2 only when V2 is used', () => {
    const problems = problemsIn(`${MINIMAL}  v2: { enabled: true }\n`);
    expect(problems.map(({ path }) => path)).toEqual(['service.v2.baseUrl', 'service.v2.login']);
  });

  it('wants the certificates of an own authority to be there', () => {
    const [problem] = problemsIn(`${MINIMAL}  caFile: missing.pem\n`);
    expect(problem).toMatchObject({
      path: 'service.caFile',
      value: 'missing.pem',
      message: 'names a file that cannot be read',
    });
  });

  it('wants of a proxy where it listens, and who we are apart from it', () => {
    const problemsOf = (proxy: string) => problemsIn(`${MINIMAL}  proxy: ${proxy}\n`);
    const url = 'http://proxy.example.com:3128';
    expect(problemsOf(`{ url: "${url}" }`)).toEqual([]);
    expect(problemsOf(`{ url: "${url}", user: erp, password: { env: API_KEY } }`)).toEqual([]);
    expect(problemsOf(`{ url: "${url}", user: erp }`)).toMatchObject([
      { path: 'service.proxy.password', message: 'is not set; both user and password, or neither' },
    ]);
    expect(problemsOf('{ user: erp, password: { env: API_KEY } }')).toMatchObject([
      { path: 'service.proxy.url', message: 'is not set, but user and password are' },
    ]);
    for (const wrong of ['socks5://a:1', `${url}/way`, 'http://erp:secret@proxy.example.com']) {
      expect(problemsOf(`{ url: "${wrong}" }`)).toMatchObject([{ path: 'service.proxy.url' }]);
    }
  });

  it('wants certificates in that file', () => {
    const folder = temporaryFolder();
    const problemOf = (path: string) => problemsIn(`${MINIMAL}  caFile: ${path}\n`)[0]?.message;
    expect(problemOf(folder)).toBe('names a file that cannot be read');
    const file = join(folder, 'ca.pem');
    writeFileSync(file, 'not this');
    expect(problemOf(file)).toBe('names a file that holds no certificate (PEM)');
    writeFileSync(file, `${CERTIFICATE.slice(0, 200)}\n-----END CERTIFICATE-----\n`);
    expect(problemOf(file)).toBe('names a file that holds no certificate (PEM)');
    writeFileSync(file, `# of our own\n${CERTIFICATE}\n`);
    expect(problemOf(file)).toBeUndefined();
  });

  it.each([
    ['intake: { database: data/mirror.db }', 'intake.database is the mirror itself'],
    [
      'intake: { folder: { path: data/ } }',
      "intake.folder.path holds *.json files of the daemon's",
    ],
    ['intake: { folder: { path: data/backups } }', 'intake.folder.path holds *.json files of'],
    [
      'intake: { folder: { path: kept } }\nstore: { backup: { directory: kept } }',
      'intake.folder.path holds *.json files of',
    ],
    ['intake: { folder: { path: data/in }, database: data/exchange.db }', undefined],
  ])('keeps what is submitted apart from its own files: %s', (settings, message) => {
    const [problem, more] = problemsIn(`${MINIMAL}dataDir: data\n${settings}\n`);
    expect([problem && `${problem.path} ${problem.message}`, more]).toEqual([
      message && expect.stringContaining(message),
      undefined,
    ]);
    if (problem) expect(problem.at.line).toBe(7);
  });

  it.each([
    ['quietTime: 1d', '6:22'],
    ['reviewAfter: 10m', '6:24'],
    ['quietTime: 6h, reviewAfter: 6h', '6:39'],
    ['quietTime: 23h', undefined],
  ])('warns when reviewAfter ends before an absence can be proved: %s', (settings, place) => {
    const { warnings } = configIn(`${MINIMAL}outbox: { ${settings} }\n`);
    const found = warnings.filter(({ path }) => path.startsWith('outbox'));
    expect(found.map(({ at }) => `${at.line}:${at.column}`)).toEqual(place ? [place] : []);
    for (const { message } of found) expect(message).toContain('nothing is ever proved absent');
  });

  it.each([
    ['local: { port: 8790 }', 'local.port 6:16'],
    ['listener: { port: 8791 }', 'listener.port 6:19'],
    ["local: { host: '::1', port: 8790 }", undefined],
    ['listener: { port: 0 }\nlocal: { port: 0 }', undefined],
    ['local: { port: 8792 }', undefined],
    [`listener: ${ANYWHERE.replace('HOST', '0.0.0.0')}`, 'listener.port 6:19'],
    [`listener: ${ANYWHERE.replace('HOST', "'::'")}`, 'listener.port 6:19'],
    [`listener: ${ANYWHERE.replace('HOST', "'::'")}\nlocal: { host: '::1' }`, 'listener.port 6:19'],
    // Addresses of two families can both listen.
    [`listener: ${ANYWHERE.replace('HOST', '0.0.0.0')}\nlocal: { host: '::1' }`, undefined],
  ])('warns of one port for both listeners: %s', (settings, place) => {
    const { warnings } = configIn(`${MINIMAL}${settings}\n`, {
      env: { ...ENV, HOOK: HOOK_SECRET },
    });
    const found = warnings.filter(({ path }) => path.endsWith('.port'));
    const places = found.map(({ path, at }) => `${path} ${at.line}:${at.column}`);
    expect(places).toEqual(place ? [place] : []);
  });

  it('wants a token of its own for each program that submits', () => {
    const client = (name: string, key: string) => `{ name: ${name}, token: { env: ${key} } }`;
    const problemOf = (key: string) => {
      const text = `${MINIMAL}intake: { clients: [${client('erp', 'A')}, ${client('shop', key)}] }`;
      const env = {
        ...ENV,
        A: 'canary-long-token-1234',
        B: 'canary-long-token-1234',
        C: 'x'.repeat(16),
      };
      return problemsIn(text, { env })[0];
    };
    for (const same of ['A', 'B']) {
      expect(problemOf(same)).toMatchObject({ message: 'has the same token twice' });
      expect(JSON.stringify(problemOf(same))).not.toContain('canary');
    }
    expect(problemOf('C')).toBeUndefined();
  });

  it('wants the pauses in order', () => {
    const problems = problemsIn(`${MINIMAL}\noutbox: { delayMin: 20m }\n`);
    expect(problems.map(({ path }) => path)).toEqual(['outbox.delayMin']);
    expect(problemsIn(`${MINIMAL}\noutbox: { delayMin: 20m, delayMax: 20m }\n`)).toEqual([]);
  });

  it.each([
    ['outbox: { lookEvery: 1s }\nlistener: { bodyMax: 1KiB }', undefined],
    ['outbox: { lookEvery: 1h }\nlistener: { bodyMax: 16MiB }', undefined],
    ['outbox: { lookEvery: 999ms }', 'outbox.lookEvery must be within 1s to 1h'],
    ['outbox: { lookEvery: 3601s }', 'outbox.lookEvery must be within 1s to 1h'],
    ['listener: { bodyMax: 1023B }', 'listener.bodyMax must be within 1KiB to 16MiB'],
    ['listener: { bodyMax: 17MiB }', 'listener.bodyMax must be within 1KiB to 16MiB'],
    ['store: { retention: { changes: 29d } }', 'store.retention.changes must be within'],
    ['store: { retention: { events: 89d } }', 'store.retention.events must be within'],
    ['relay: { token: { env: API_KEY } }', 'relay is not a setting'],
    ['  limits: { concurrency: 2 }', 'service.limits.concurrency must be a whole'],
    ['streams: { stock: { schedule: "*/90 * * * *" } }', 'streams.stock.schedule steps further'],
    ['streams: { stock: { schedule: "0 */25 * * *" } }', 'streams.stock.schedule steps further'],
    ['streams: { stock: { schedule: "0 0 1 */13 *" } }', 'streams.stock.schedule steps further'],
    ['streams: { stock: { schedule: "0 0 * * */8" } }', 'streams.stock.schedule steps further'],
    ['streams: { stock: { schedule: "0-30/40 * * * *" } }', 'streams.stock.schedule steps'],
    ['streams: { stock: { schedule: "5,0-9/11 * * * *" } }', 'streams.stock.schedule steps'],
    ['streams: { stock: { schedule: "*/90 * * * * *" } }', 'streams.stock.schedule steps further'],
    ['streams: { stock: { schedule: "*/0 * * * *" } }', 'streams.stock.schedule must be a cron'],
    ['streams: { stock: { schedule: "5/100 * * * *" } }', 'streams.stock.schedule must be a cron'],
    ['streams: { stock: { schedule: "1e1 * * * *" } }', 'streams.stock.schedule must be a cron'],
    ['streams: { stock: { schedule: "@daily" } }', 'streams.stock.schedule must be a cron text'],
    ['streams: { stock: { schedule: "* * * * * * *" } }', 'streams.stock.schedule must be a cron'],
  ])('knows the limits of each setting: %s', (settings, message) => {
    const [problem, more] = problemsIn(`${MINIMAL}${settings}\n`);
    expect([problem && `${problem.path} ${problem.message}`, more]).toEqual([
      message && expect.stringContaining(message),
      undefined,
    ]);
  });

  it('wants a name of its own for each program that submits', () => {
    const clients = '[{ name: a, token: { env: A } }, { name: a, token: { env: B } }]';
    const env = { ...ENV, A: 'x'.repeat(16), B: 'y'.repeat(16) };
    const [problem] = problemsIn(`${MINIMAL}intake: { clients: ${clients} }\n`, { env });
    expect(problem?.message).toBe('has the same name twice');
  });

  it('joins a path to the base address with one slash', () => {
    const text = MINIMAL.replace('/api/v1', '/api/v1//');
    expect(configIn(text).config.service.v1.baseUrl).toBe('https://key.example.com/api/v1');
  });
});
