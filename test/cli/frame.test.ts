import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { readFileSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { Command } from 'commander';
import { describe, expect, it } from 'vitest';
import { configOf } from '../../src/cli/configuration.ts';
import { createOutput } from '../../src/cli/output.ts';
import { tableLines } from '../../src/cli/table.ts';
import { EXIT } from '../../src/lib/errors.ts';
import { createScrubber } from '../../src/lib/secret.ts';
import { ENV, MINIMAL, writeConfig } from '../config/support.ts';
import { LAUNCHER } from '../support/launcher.ts';
import { placeDatabase, temporaryFolder } from '../support/store.ts';
import { selvedge } from './support.ts';

const PLAIN_LOOK = { width: undefined, isColoured: false };

describe('the command line', () => {
  it('shows help with examples and every exit code', async () => {
    const { code, stdout } = await selvedge(['--help']);
    expect(code).toBe(0);
    expect(stdout).toContain('Examples:\n  selvedge init');
    for (const { meaning } of Object.values(EXIT)) expect(stdout).toContain(meaning);
    expect(stdout).toContain('money is a decimal number (67.5)');
    const { stdout: stock } = await selvedge(['stock', '--help']);
    expect(stock).toMatch(/Prices are\s+decimal numbers/);
  });

  it('shows defaults as people write them, and none that is empty', async () => {
    const { stdout } = await selvedge(['rules', 'arm', '--help']);
    expect(stdout).toContain('(default: 90d)');
    for (const words of [['reference'], ['report', 'run'], ['pause']]) {
      expect((await selvedge([...words, '--help'])).stdout).not.toMatch(/default: (""|\[|\{)/);
    }
    expect((await selvedge(['deliveries', 'hold', '--help'])).stdout).not.toMatch(/# +$/m);
  });

  it('says which options must be given', async () => {
    const { stdout } = await selvedge(['deliveries', 'release', '--help']);
    expect(stdout).toMatch(/--reason <text> .*\(required\)$/m);
    expect(stdout.match(/\(required\)/g)).toHaveLength(2);
    expect((await selvedge(['sync', 'run', '--help'])).stdout).not.toContain('(required)');
  });

  it('blames no log-in for a secret that only the service has', async () => {
    const login = 'login: { clientId: erp, clientSecret: { credential: the-secret } }';
    const text = MINIMAL.replace('apiKey: { env: API_KEY }', login);
    const dataDir = temporaryFolder();
    placeDatabase(join(dataDir, 'mirror.db'));
    const file = writeConfig(`dataDir: ${dataDir}\n${text}`);
    const { code, stderr } = await selvedge(['api', 'GET', '/brands', '-c', file]);
    expect(stderr).toMatch(/^selvedge: the credential the-secret is not available\nhint: only the/);
    expect(stderr).toContain('LoadCredential=the-secret:');
    expect(code).toBe(78);
  });

  it('shows its version', async () => {
    expect((await selvedge(['--version'])).stdout).toMatch(/^\d+\.\d+\.\d+\n$/);
  });

  it.each([
    [['config', 'chek'], "selvedge: unknown command 'chek'\n(Did you mean check?)"],
    [['config', 'show', '--jsno'], "selvedge: unknown option '--jsno'\n(Did you mean --json?)"],
    [['config', 'show', 'extra'], 'too many arguments'],
    [['--config'], 'argument missing'],
    [['events', 'list', '--limit', 'all'], 'It must be a whole number from 1 to 100000.'],
    [['sync', 'show', '--limit', '0'], 'It must be a whole number from 1 to 10000.'],
    [['decisions', 'verify', '4.7'], 'It must be a whole number from 0.'],
    [['status', '--check', '--json'], "'--check' cannot be used with option '--json'"],
    [['status', '--watch', '--json'], "'--watch' cannot be used with option '--json'"],
    [['status', '--watch', '--check'], "'--check' cannot be used with option '--watch'"],
    [
      ['stock', 'S-1', '--history', '--as-of', '2026-03-31'],
      "'--history' cannot be used with option '--as-of <time>'",
    ],
    [['stock', '--history'], 'style: it is missing\nhint: a barcode or a style has its stock'],
    [['api', 'DELETE', '/brands'], 'DELETE is none of GET, POST, PATCH'],
    [['api', 'POST', '/orders'], 'POST needs a body'],
    [['outbox', 'resolve', '1', '--as', 'lost', '--reason', 'x'], '--as lost is not known'],
    [
      ['outbox', 'resolve', '--needs-attention', '--as', 'noted', '--reason', 'x'],
      '--needs-attention does not go with --as noted',
    ],
    [['events', 'replay'], 'which events?\nhint: name their ids, or a time'],
    [['events', 'replay', 'msg_1', '--since', '1h'], 'ids or since, not both'],
    [['orders', 'push', 'a.json', '--wait', '20'], 'It must be a duration such as 30s.'],
    [['rules', 'arm', 'a', '--reason', 'x', '--expires', 'x'], 'must be a duration such as 30s'],
    [['rules', 'arm', 'a', '--reason', 'x', '--expires', '0s'], 'must be from 1m to 366d'],
    [['rules', 'arm', 'a', '--reason', 'x', '--expires', '9999d'], 'from 1m to 366d'],
    [['rules', 'disarm', 'a', '--reason', ''], 'It must say why, in 1000 characters at the most.'],
    [['pause', 'pushes', '--reason', ' '], 'It must say why'],
    [['pause', 'all'], 'reason: say why'],
    [
      ['pause', 'everything', '--reason', 'x'],
      'Allowed choices are pushes, decisions, stream, all',
    ],
    [['outbox', 'resolve', '1', '--as', 'absent', '--reason', ''], 'It must say why'],
    [['reference', '--port', 'x'], 'It must be a whole number from 0 to 65535.'],
    [['reference', '--seed', 'x'], 'It must be a whole number from 0.'],
    [['reference', '--speed', '0'], '0 is no speed'],
    [['snyc'], "unknown command 'snyc'\n(Did you mean sync?)"],
    [['sync', 'rum'], "unknown command 'rum'\n(Did you mean run?)"],
    [['sync', 'status', 'stock'], 'hint: "sync status" is now "sync list"'],
    [['manual', 'selvedge.1'], 'hint: "manual" was removed'],
    [['--config', 'a.yaml', 'sync', 'status'], 'hint: "sync status" is now "sync list"'],
    [['-c', 'a.yaml', 'manual'], 'hint: "manual" was removed'],
    [['--url', 'http://a', '--token-file', 'b', 'manual'], 'hint: "manual" was removed'],
    [['config'], 'Commands:'],
    [[], 'Commands:'],
  ])('calls %j a usage error', async (args, message) => {
    const { code, stderr, stdout } = await selvedge(args);
    expect([code, stdout]).toEqual([EXIT.usage.code, '']);
    expect(stderr).toContain(message);
  });

  it.each([
    ['pause', 'decisions'],
    ['resume', 'stream', 'stock'],
  ])('bounds the reason', async (...to) => {
    const { code, stderr } = await selvedge([...to, '--reason', 'x'.repeat(1_001)]);
    expect([code, stderr]).toEqual([2, expect.stringContaining('1000 characters at the most')]);
  });

  it('says how to name a configuration when there is none', async () => {
    const { code, stderr } = await selvedge(['config', 'show']);
    expect(code).toBe(EXIT.config.code);
    expect(stderr).toMatch(/^selvedge: there is no configuration file\nhint: .*--config FILE/);
  });

  it('points at a configuration of the current folder, and does not take it', async () => {
    const file = writeConfig(MINIMAL);
    const child = spawn(process.execPath, [LAUNCHER, 'config', 'show'], {
      cwd: dirname(file),
      env: { PATH: process.env.PATH },
    });
    let stderr = '';
    child.stderr.on('data', (chunk) => {
      stderr += String(chunk);
    });
    expect(await once(child, 'close')).toEqual([EXIT.config.code, null]);
    expect(stderr).toContain(`hint: one is in this folder: export SELVEDGE_CONFIG=${file}`);
  });

  it('says where a bundle cannot be written, and does not blame the settings', async () => {
    const env = { ...ENV, SELVEDGE_CONFIG: writeConfig(MINIMAL) };
    const nowhere = join(temporaryFolder(), 'absent', 'bundle.json');
    const { code, stderr } = await selvedge(['support-bundle', nowhere], env);
    expect([code, stderr]).toEqual([
      EXIT.failure.code,
      expect.stringMatching(
        /^selvedge: .*bundle\.json cannot be written: ENOENT(?!.*not there yet)/s,
      ),
    ]);
    const again = await selvedge(['support-bundle', env.SELVEDGE_CONFIG], env);
    expect([again.code, again.stderr]).toEqual([1, expect.stringContaining('not there yet')]);
  });

  it('makes a bundle of a database that nobody can read', async () => {
    const folder = temporaryFolder();
    writeFileSync(join(folder, 'mirror.db'), 'no database at all, but long enough to be looked at');
    const env = { ...ENV, SELVEDGE_CONFIG: writeConfig(`${MINIMAL}dataDir: ${folder}\n`) };
    const bundle = join(folder, 'bundle.json');
    expect(await selvedge(['support-bundle', bundle], env)).toMatchObject({ code: 0, stderr: '' });
    const { unreadable, doctor } = JSON.parse(readFileSync(bundle, 'utf8'));
    expect(unreadable).toContain('mirror.db');
    expect(doctor).toContainEqual(expect.objectContaining({ check: 'database', grade: 'failed' }));
  });

  it('finds the configuration by the environment, and by --config before that', async () => {
    const [right, wrong] = [writeConfig(MINIMAL), writeConfig('log: 1\n')];
    const env = { ...ENV, SELVEDGE_CONFIG: right };
    expect((await selvedge(['config', 'check'], env)).code).toBe(0);
    expect((await selvedge(['--config', wrong, 'config', 'check'], env)).code).toBe(78);
    expect((await selvedge(['config', 'check', '-c', wrong], env)).code).toBe(78);
  });

  it('hands its exit code to the shell and survives a reader that goes away', async () => {
    const env = { PATH: process.env.PATH, ...ENV, SELVEDGE_CONFIG: writeConfig(MINIMAL) };
    const child = spawn(process.execPath, [LAUNCHER, 'config', 'show'], { env });
    child.stdout.destroy();
    let stderr = '';
    child.stderr.on('data', (chunk) => {
      stderr += String(chunk);
    });
    const [code] = await once(child, 'close');
    expect([code, stderr]).toEqual([0, '']);
  });
});

describe('a command that needs the configuration', () => {
  const sink = { write: () => undefined };
  const silent = {
    env: ENV,
    setExitCode() {},
    ask: async () => undefined,
    askSecret: async () => undefined,
  };
  const load = (text: string) => {
    const scrubber = createScrubber();
    const output = createOutput(sink, sink, {}, scrubber.scrub);
    const command = new Command('x').option('-c, --config <file>');
    command.parse(['-c', writeConfig(text)], { from: 'user' });
    return { scrubber, ...configOf(command, { ...silent, output, scrubber }) };
  };

  it('gets it, and its secrets are taken out of the output from then on', () => {
    const { config, scrubber } = load(MINIMAL);
    expect(config.instance).toBe('main');
    expect(scrubber.scrub(ENV.API_KEY)).toBe('[secret service.v1.apiKey]');
  });

  it('fails with the exit code for configurations when there are mistakes', () => {
    const failure = expect(() => load('log: { level: loud }'));
    failure.toThrow(expect.objectContaining({ code: 'config.invalid' }));
  });
});

describe('config check', () => {
  it('praises a configuration that is right', async () => {
    const file = writeConfig(MINIMAL);
    const { code, stdout } = await selvedge(['config', 'check', '-c', file], ENV);
    expect(code).toBe(0);
    expect(stdout).toMatch(/^warning: .*service\.v1\.apiKey is a secret in an environment/);
    expect(stdout.endsWith(`${file}: the configuration is right\n`)).toBe(true);
  });

  it('lists each problem with place and hint and exits 78', async () => {
    const file = writeConfig(`${MINIMAL}log: { levle: info, format: xml }\n`);
    const { code, stdout, stderr } = await selvedge(['config', 'check', '-c', file], ENV);
    expect(code).toBe(78);
    expect(stdout).toBe(
      `${file}:6:8: log.levle is not a setting\n    hint: did you mean level?\n` +
        `${file}:6:29: log.format must be one of auto, json, journal, human (found: xml)\n` +
        '    hint: for example format: auto\n',
    );
    expect(stderr).toBe('2 to correct\n');
  });

  it('names a folder of rules that is not there, as a start would', async () => {
    const file = writeConfig(`${MINIMAL}rules: { directory: rulez }\n`);
    const { code, stdout } = await selvedge(['config', 'check', '-c', file], ENV);
    expect(code).toBe(0);
    expect(stdout).toContain(
      `warning: ${file}:6:21: rules.directory cannot be read (ENOENT): ` +
        'a daemon that starts now only observes (found: ' +
        `${join(dirname(file), 'rulez')})\n    hint: put the rules there`,
    );
  });

  it('gives the same to programs', async () => {
    const file = writeConfig(`${MINIMAL}log: { levle: info }\n`);
    const { code, stdout } = await selvedge(['config', 'check', '--json', '-c', file], ENV);
    expect(code).toBe(78);
    expect(JSON.parse(stdout)).toEqual({
      file,
      ok: false,
      problems: [
        {
          at: `${file}:6:8`,
          path: 'log.levle',
          message: 'is not a setting',
          hint: 'did you mean level?',
        },
      ],
      warnings: [],
    });
  });
});

describe('config show', () => {
  it('shows what was changed, also when it is wrong', async () => {
    const file = writeConfig('log: { level: loud }\n');
    const { code, stdout, stderr } = await selvedge(['config', 'show', '--changed', '-c', file]);
    expect(code).toBe(0);
    expect(stdout).toBe(`SETTING    VALUE  FROM\nlog.level  loud   ${file}:1:15\n`);
    expect(stderr).toBe('3 to correct: selvedge config check\n');
  });

  it('counts as mistakes what config check does: no credentials of the service', async () => {
    const apiKey = '{ credential: api-key }';
    const file = writeConfig(MINIMAL.replace('{ env: API_KEY }', apiKey));
    expect(await selvedge(['config', 'check', '-c', file])).toMatchObject({ code: 0 });
    expect(await selvedge(['config', 'show', '-c', file])).toMatchObject({ code: 0, stderr: '' });
  });

  it('gives every setting to programs', async () => {
    const file = writeConfig(MINIMAL);
    const { stdout } = await selvedge(['config', 'show', '--json', '-c', file], ENV);
    const shown: { settings: { path: string }[] } = JSON.parse(stdout);
    expect(shown.settings.length).toBeGreaterThan(70);
  });
});

describe('the output', () => {
  const silent = { write: () => undefined };

  it('is coloured on a terminal only, and not when NO_COLOR is set', () => {
    const terminal = { ...silent, isTTY: true };
    expect(createOutput(terminal, silent, {}).style('red', 'x')).toBe('\u001B[31mx\u001B[39m');
    expect(createOutput(terminal, silent, { NO_COLOR: '1' }).style('red', 'x')).toBe('x');
    expect(createOutput(silent, silent, {}).style('red', 'x')).toBe('x');
  });

  it('shows colours as well where it writes none itself: they are of a text from outside', () => {
    const written: string[] = [];
    const stdout = { write: (text: string) => written.push(text) };
    createOutput(stdout, stdout, {}).line('the service said: \u001b[31mred');
    expect(written).toEqual([`${String.raw`the service said: \u001b[31mred`}\n`]);
  });

  it('steers a terminal by its own colours only, never by a text from outside', () => {
    const written: string[] = [];
    const sink = { isTTY: true, write: (chunk: string) => written.push(chunk) };
    const output = createOutput(sink, sink, {});
    const hostile = 'a\u001b[8mb\u001b[32mok\u001b]0;c\u0007\n\u202edone';
    output.line(`${output.style('red', 'held')}  comment: ${hostile}`);
    output.note('the service said: \u001b[2J');
    const shown = String.raw`comment: a\u001b[8mb\u001b[32mok\u001b]0;c\u0007`;
    const said = String.raw`the service said: \u001b[2J`;
    expect(written).toEqual([`\u001b[31mheld\u001b[39m  ${shown}\n\\u202edone\n`, `${said}\n`]);
  });

  it('takes secrets out of what it writes', () => {
    const scrubber = createScrubber();
    scrubber.register('canary-token', 'token');
    let text = '';
    const sink = {
      write: (chunk: string) => {
        text += chunk;
      },
    };
    const output = createOutput(sink, sink, {}, scrubber.scrub);
    output.note('a canary-token');
    output.json({ b: 'canary-token' });
    expect(text).toBe('a [secret token]\n{\n  "b": "[secret token]"\n}\n');
  });

  it('aligns a table without spaces at the ends of lines', () => {
    let text = '';
    const sink = {
      write: (chunk: string) => {
        text += chunk;
      },
    };
    createOutput(sink, silent, {}).table(
      ['A', 'B'],
      [
        ['long', 'x'],
        ['s', 'yy'],
      ],
    );
    expect(text).toBe('A     B\nlong  x\ns     yy\n');
  });

  it('puts numbers of a table to the right, and cuts nothing for programs', () => {
    const rows = [
      ['500012', '5', '1200.50 EUR', 'Sørensen & Søn', 'hold'],
      ['500013', '-', '80.00 SEK', '東京', 'a reason that goes on for a while'],
    ];
    const lines = tableLines(['ID', 'PIECES', 'VALUE', 'CUSTOMER', 'WHY'], rows, PLAIN_LOOK);
    expect(lines).toEqual([
      'ID      PIECES        VALUE  CUSTOMER        WHY',
      '500012       5  1200.50 EUR  Sørensen & Søn  hold',
      '500013       -    80.00 SEK  東京            a reason that goes on for a while',
    ]);
  });

  it('fits a table to the terminal by cutting its widest texts, and never a number', () => {
    const rows = [['500012', '125000', 'Linden Mode and Sons of Amsterdam', 'not enough stock']];
    const titles = ['ID', 'PIECES', 'CUSTOMER', 'WHY'];
    const [head = '', row = ''] = tableLines(titles, rows, { ...PLAIN_LOOK, width: 44 });
    expect([head.length <= 44, row.length <= 44]).toEqual([true, true]);
    expect(row).toMatch(/^500012 {2}125000 {2}Linden Mode… +not enough s…$/);
    const [, narrow = ''] = tableLines(titles, rows, { ...PLAIN_LOOK, width: 5 });
    expect(narrow).toMatch(/^500012 {2}125000 {2}Linden… +not e…$/);
  });

  it('colours the states of a table, and nothing that only looks like one', () => {
    const rows = [
      ['accepted', 'hold', 'accepted'],
      ['x', 'refused (gone)', ''],
    ];
    const lines = tableLines(['NAME', 'STATUS', 'REASON'], rows, {
      width: undefined,
      isColoured: true,
    });
    expect(lines[1]).toBe('accepted  \u001b[33mhold\u001b[39m            accepted');
    expect(lines[2]).toBe('x         \u001b[31mrefused (gone)\u001b[39m');
  });
});
