/** Configurations of 0.1.0: they are read under their old names, and written with present ones. */
import {
  chmodSync,
  existsSync,
  lstatSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { dirname, join } from 'node:path';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { changedSettings } from '../../src/config/changes.ts';
import { migrated } from '../../src/config/migrate.ts';
import { selvedge } from '../cli/support.ts';
import {
  anyOld,
  anyStyle,
  commentsIn,
  configOf,
  meansTheSame,
  OLD,
  oldNamesIn,
  optionsOf,
  RELEASED,
} from './old-names.ts';
import { ENV, MINIMAL, problemsIn, writeConfig } from './support.ts';

/** As people write: comments everywhere, sections in braces, a setting that is to go. */
const WRITTEN = `# Ours, not the default.

instance: shop  # short
service:
  v1:
    # They are many.
    paging: pages    # really
    baseUrl: https://key.example.com/api/v1
    apiKey: { env: API_KEY }

    # The level of 2024.
    level: "1.4.4"
    login: { idMember: client_id }
    # perBrand: always

  # They fail often.
  retry:
    # Times.
    attempts: 7
    delayMin: 1s # slowly
streams:
  # No brands here.
  brands:
    # Really not.
    enabled: false # says Anna
  stock: { jitter: 10s, schedule: "*/10 * * * *", unlisted: zero }
  season:
    enabled: false
  colors: {}
  countries: { enabled: true }

# The end.
log: { level: warn }
`;
const ANEW = `# Ours, not the default.

instance: shop # short
service:
  v1:
    baseUrl: https://key.example.com/api/v1
    apiKey: { env: API_KEY }
    # perBrand: always

  # They fail often.
  # Times.
  # service.retry.delayMin: 1s # slowly
  retry: 7
  dialect:
    v1:
      # They are many.
      paging: pages # really

      # The level of 2024.
      level: "1.4.4"
      idMember: client_id
      unlisted: zero
streams:
  # No brands here.
  # Really not.
  # streams.brands.enabled: false # says Anna
  stock: { schedule: "*/10 * * * *" }
  off: [ brands, season ]

# The end.
log: { level: warn }
`;

const migrate = (file: string, ...more: string[]) =>
  selvedge(['config', 'migrate', '--config', file, ...more], ENV);

describe('a configuration of 0.1.0', () => {
  it('starts as it is, means what the present default means, and is named by setting', () => {
    expect(changedSettings(configOf(RELEASED), configOf(MINIMAL))).toEqual([
      // A larger default now; the file keeps the limit that it names.
      'listener.bodyMax',
      'rules.directory',
      'reports.directory',
    ]);
    const old = oldNamesIn(RELEASED);
    const settings = OLD.map(([path]) => path.replace(/\.paths\..*/, '.paths'));
    expect(old.map((line) => line.split(' ')[1]).sort()).toEqual([...new Set(settings)].sort());
    expect(old).toContain('55 service.v1.paging is now service.dialect.v1.paging');
    expect(old).toContain(
      '308 streams.brands.jitter is not used any more: it follows from the schedule',
    );
  });

  it('means the same under present names, whatever stands in it, and so does its new text', () => {
    fc.assert(fc.property(anyOld, anyStyle, meansTheSame), { numRuns: 4, endOnFailure: true });
  });

  it.each([
    ['  v1: { paging: pages }\n  dialect: { v1: { paging: stream } }\n', 'service.v1.paging'],
    ['  v1: { paging: pages }\n  dialect: 5\n', 'service.v1.paging'],
    ['  retry: { attempts: 3, other: 1 }\n', 'service.retry'],
    ['streams: { stock: { enabled: false }, off: all }\n', 'streams.stock.enabled'],
    ['streams: { stock: { enabled: true }, off: [stock] }\n', 'streams.stock.enabled'],
    ['streams: { stock: { enabled: "no" } }\n', 'streams.stock.enabled'],
  ])('is refused where it says two things, or nothing: %j', (more, path) => {
    const account = 'baseUrl: https://key.example.com/api/v1, apiKey: { env: API_KEY }';
    const text = more.startsWith('streams') ? MINIMAL + more : `service:\n${more}`;
    const found = problemsIn(text.replace('v1: { ', `v1: { ${account}, `));
    expect(found.map((one) => one.path)).toContain(path);
  });

  it('keeps the place of what is wrong under an old name', () => {
    const [problem] = problemsIn(`${MINIMAL}    paging: page\n`);
    expect(problem).toMatchObject({
      path: 'service.dialect.v1.paging',
      at: { line: 6, column: 13 },
    });
  });
});

describe('selvedge config migrate', () => {
  it('writes present names with the comments where they belong', async () => {
    const file = writeConfig(WRITTEN);
    const { code, stdout, stderr } = await migrate(file, '--dry-run');
    expect([code, stdout]).toEqual([0, ANEW]);
    expect(stderr).toContain(`${file}:7:5: service.v1.paging is now service.dialect.v1.paging\n`);
    expect(readFileSync(file, 'utf8')).toBe(WRITTEN);
    const { text } = migrated(optionsOf(RELEASED));
    expect(oldNamesIn(text)).toEqual([]);
    const words = commentsIn(text).join('\n');
    expect(commentsIn(RELEASED).filter((one) => !words.includes(one))).toEqual([]);
  });

  it('replaces the file, keeps its mode and the old one, and does so once', async () => {
    const file = writeConfig(WRITTEN);
    chmodSync(file, 0o640);
    const { code, stdout } = await migrate(file);
    expect([code, stdout]).toEqual([0, `wrote ${file}; the file before is ${file}.old\n`]);
    expect(readFileSync(file, 'utf8')).toBe(ANEW);
    expect(readFileSync(`${file}.old`, 'utf8')).toBe(WRITTEN);
    expect([file, `${file}.old`].map((one) => statSync(one).mode & 0o777)).toEqual([0o640, 0o640]);
    expect(readdirSync(dirname(file)).sort()).toEqual([
      'rules',
      'selvedge.yaml',
      'selvedge.yaml.old',
    ]);
    const checked = await selvedge(['config', 'check', '--config', file], ENV);
    expect(checked.stdout).not.toContain('is now');
    const again = await migrate(file);
    expect([again.code, again.stdout]).toEqual([0, `${file}: has present names only\n`]);
    expect(readFileSync(`${file}.old`, 'utf8')).toBe(WRITTEN);
  });

  it('touches no byte of a file that has present names only', async () => {
    const text = `${MINIMAL}streams:   { off: [season,stock] }   # all\n\n\n`;
    const file = writeConfig(text);
    expect((await migrate(file, '--dry-run')).stdout).toBe(text);
    await migrate(file);
    expect([readFileSync(file, 'utf8'), existsSync(`${file}.old`)]).toEqual([text, false]);
  });

  it('follows a link, keeps line ends of another system, and spares an older file', async () => {
    const real = writeConfig(WRITTEN.replaceAll('\n', '\r\n'));
    const folder = join(dirname(real), 'linked');
    mkdirSync(join(folder, 'rules'), { recursive: true });
    const file = join(folder, 'selvedge.yaml');
    symlinkSync(real, file);
    writeFileSync(`${real}.old`, 'older');
    const refused = await migrate(file);
    expect([refused.code, refused.stderr]).toEqual([
      78,
      expect.stringContaining(`${real}.old exists\nhint: it is an older file: move it away`),
    ]);
    expect([readFileSync(file, 'utf8'), readdirSync(dirname(real)).length]).toEqual([
      WRITTEN.replaceAll('\n', '\r\n'),
      4,
    ]);
    rmSync(`${real}.old`);
    expect((await migrate(file)).code).toBe(0);
    expect([lstatSync(file).isSymbolicLink(), readFileSync(real, 'utf8')]).toEqual([
      true,
      ANEW.replaceAll('\n', '\r\n'),
    ]);
  });

  it('refuses a file with mistakes, with line and hint, and leaves it', async () => {
    const text = `${WRITTEN}outbox: { attemptsMax: 0 }\nstreams: {}\n`;
    const file = writeConfig(text);
    const { code, stderr } = await migrate(file);
    expect(code).toBe(78);
    expect(stderr).toContain(`${file}:34:24: outbox.attemptsMax must be a whole number`);
    expect(stderr).toContain(`${file}:35:1: this setting is written twice\n    hint: keep one`);
    expect(readFileSync(file, 'utf8')).toBe(text);
    expect(readdirSync(dirname(file)).sort()).toEqual(['rules', 'selvedge.yaml']);
  });
});
