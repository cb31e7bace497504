import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { repositoryRoot } from '../../support/source.ts';
import { temporaryFolder } from '../../support/store.ts';
import { selvedge } from '../support.ts';

const EXAMPLES = join(repositoryRoot, 'config/rules');

const RULE = `rules:
  - id: accept-danish
    title: Danish deliveries
    action: accept
    when: [ order.country == "DK" ]
    tests:
      - { name: at home, expect: accept }
      - { name: abroad, given: { order: { country: SE } }, expect: none }
`;

function rulesWith(text: string): string {
  const folder = temporaryFolder();
  writeFileSync(join(folder, 'deliveries.yaml'), text);
  return folder;
}

describe('rules check', () => {
  it('praises rules that can be used, without a configuration or a database', async () => {
    const { code, stdout, stderr } = await selvedge(['rules', 'check', EXAMPLES]);
    expect([code, stderr]).toEqual([0, '']);
    expect(stdout).toMatch(
      /: \d+ rules can be used, 0 errors, 0 warnings, rule set [0-9a-f]{16}\n/,
    );
  });

  it('lists every mistake with its place and exits with 78', async () => {
    const broken = RULE.replace('order.country', 'order.contry').replace('{ country:', '{ contry:');
    const { code, stdout, stderr } = await selvedge(['rules', 'check', rulesWith(broken)]);
    expect(code).toBe(78);
    expect(stdout).toContain(
      'deliveries.yaml:5:19 accept-danish: order has no field "contry" - did you mean: country?\n',
    );
    expect(stdout).toContain('deliveries.yaml:8:');
    expect(stderr).toBe('2 errors, 0 warnings\n');
  });

  it('takes a warning for a mistake only where it is strict', async () => {
    const hold = RULE.replace('accept-danish', 'hold-again').replace('accept', 'hold');
    const folder = rulesWith(
      hold
        .replace('order.country == "DK"', 'order.similar_within < hours(1)')
        .split('    tests')[0] ?? '',
    );
    const { code, stdout } = await selvedge(['rules', 'check', folder]);
    expect([code, stdout]).toEqual([0, expect.stringContaining('0 errors, 1 warning')]);
    const strict = await selvedge(['rules', 'check', folder, '--strict']);
    expect([strict.code, strict.stderr]).toEqual([78, '1 error, 0 warnings\n']);
    const told =
      'order.similar_within is absent when there is no such order, and then the delivery';
    expect(strict.stdout).toContain(
      `deliveries.yaml:5:13 hold-again: ${told} is held - write has(order.similar_within) && `,
    );
  });

  it('names files that are not UTF-8, whose texts no fact could ever match', async () => {
    const folder = rulesWith(RULE);
    writeFileSync(
      join(folder, 'settings.yaml'),
      Buffer.from('version: 1\nlists: { sizes: [ Gr\u00f6\u00dfe ] }\n', 'latin1'),
    );
    const { code, stdout, stderr } = await selvedge(['rules', 'check', folder]);
    expect([code, stdout]).toEqual([78, '']);
    expect(stderr).toContain('settings.yaml:2 is not UTF-8 text');
  });

  it('names what looks like rules and is not read, and no clutter', async () => {
    const folder = rulesWith(RULE);
    const clutter = ['.#rules.yaml', '._rules.yaml', '.gitlab-ci.yml', 'rules.yaml~', 'README.md'];
    mkdirSync(join(folder, 'holds', 'old'), { recursive: true });
    mkdirSync(join(folder, '.git'));
    const lost = ['hold.yaml.txt', 'holds/a.yaml', 'holds/old/b.yml'];
    for (const path of [...clutter, '.git/a.yaml', ...lost]) writeFileSync(join(folder, path), '?');
    for (const command of ['check', 'test']) {
      const { code, stderr } = await selvedge(['rules', command, folder]);
      const named = [...stderr.matchAll(/^warning: (\S+) is not read; /gm)].map(([, path]) => path);
      expect([code, named]).toEqual([0, lost]);
    }
  });

  it.each(['more.YAML', 'more.Yml', 'more.yaml '])('refuses the file "%s"', async (name) => {
    const folder = rulesWith(RULE);
    writeFileSync(join(folder, name), RULE);
    const { code, stderr } = await selvedge(['rules', 'check', folder]);
    expect(code).toBe(78);
    expect(stderr).toContain(
      `"${name}" would not be read as a rule file\nhint: rename it to more.`,
    );
  });

  it('names a rule file that cannot be read', async () => {
    const folder = rulesWith(RULE);
    mkdirSync(join(folder, 'more.yaml'));
    const { code, stderr } = await selvedge(['rules', 'check', folder]);
    expect([code, stderr]).toEqual([78, expect.stringContaining('more.yaml cannot be read: ')]);
  });

  it('shows warnings of rules that can be used', async () => {
    const risky = RULE.replace(
      'order.country == "DK"',
      '"delivery.lines.all(line, line.missing == 0)"',
    );
    const { code, stdout } = await selvedge(['rules', 'check', rulesWith(risky)]);
    expect(code).toBe(0);
    expect(stdout).toContain('warning: all(…) is also true where delivery.lines is empty');
    expect(stdout).toContain('1 rule can be used, 0 errors, 1 warning');
  });

  it('names a rule whose time is over', async () => {
    const over = RULE.replace('action:', 'effective_until: 2026-01-01T00:00:00Z\n    action:');
    const { code, stdout } = await selvedge(['rules', 'check', rulesWith(over)]);
    expect(code).toBe(0);
    expect(stdout).toContain('warning: the rule ended on 2026-01-01T00:00:00.000Z');
  });

  it('gives the same to programs', async () => {
    const broken = rulesWith(RULE.replace('order.country', 'order.contry'));
    const { code, stdout } = await selvedge(['rules', 'check', '--json', broken]);
    expect(code).toBe(78);
    expect(JSON.parse(stdout)).toMatchObject({
      ok: false,
      hash: null,
      problems: [{ file: 'deliveries.yaml', line: 5, column: 19, hint: 'did you mean: country?' }],
    });
    const right = await selvedge(['rules', 'check', '--json', rulesWith(RULE)]);
    expect(JSON.parse(right.stdout)).toMatchObject({
      ok: true,
      rules: [{ id: 'accept-danish', action: 'accept', mode: 'shadow' }],
      problems: [],
    });
  });

  it('says that a directory cannot be read, or has no rules', async () => {
    const { code, stderr } = await selvedge(['rules', 'check', '/no/such']);
    expect(code).toBe(78);
    expect(stderr).toMatch(/^selvedge: the rules cannot be read: .*no.such/);
    expect((await selvedge(['rules', 'check', temporaryFolder()])).stderr).toContain('no file');
  });
});

describe('rules test', () => {
  it('runs the tests of the example rules', async () => {
    const { code, stdout } = await selvedge(['rules', 'test', EXAMPLES]);
    expect(code).toBe(0);
    expect(stdout).toMatch(/\d+ passed, 0 failed, 0 clauses not shown to matter\n$/);
  });

  it('exits with 1 when a test fails, and with 78 when the rules cannot be used', async () => {
    const wrong = rulesWith(RULE.replace('expect: none', 'expect: accept'));
    const failed = await selvedge(['rules', 'test', wrong]);
    expect(failed.code).toBe(1);
    expect(failed.stdout).toContain(
      'FAIL accept-danish: abroad\n       expected accept, got none\n',
    );
    const json = await selvedge(['rules', 'test', '--json', wrong]);
    expect([json.code, JSON.parse(json.stdout).ok]).toEqual([1, false]);
    const broken = await selvedge(['rules', 'test', rulesWith('rules: 1\n')]);
    expect(broken.code).toBe(78);
  });
});
