import { describe, expect, it } from 'vitest';
import { readSettings } from '../../../src/config/settings.ts';
import { isJsonObject } from '../../../src/lib/json.ts';
import { selvedge } from '../support.ts';

describe('selvedge completion', () => {
  it.each(['zsh', 'fish'])('names every command for %s', async (shell) => {
    const { stdout } = await selvedge(['completion', shell]);
    for (const path of ['config check', 'report run', 'rules backtest']) {
      expect(stdout).toContain(`'${path}'`);
    }
  });

  it('refuses a shell that it does not know', async () => {
    const { code, stderr } = await selvedge(['completion', 'csh']);
    expect(code).toBe(2);
    expect(stderr).toContain('Allowed choices are bash, zsh, fish');
  });
});

describe('selvedge manual', () => {
  it('describes every command, option and exit code', async () => {
    const { stdout } = await selvedge(['manual', 'selvedge.1']);
    expect(stdout).toMatch(/^\.TH SELVEDGE 1 "" "selvedge \d/);
    expect(stdout).toContain('.SS selvedge config check');
    expect(stdout).toContain('.B \\-\\-format <format>');
    expect(stdout).toMatch(/^\.B 78\n/m);
    // Roff takes a line that begins with a dot or a quote for a request.
    const requests = stdout.match(/^[.'].*$/gm) ?? [];
    const known = /^\.(TH|SH|SS|TP|B|BR)\b/;
    expect(requests.filter((line) => !known.test(line))).toEqual([]);
  });

  it('describes every setting with its default', async () => {
    const settings = readSettings();
    expect(settings.filter(({ about }) => about === '')).toEqual([]);
    const { stdout } = await selvedge(['manual', 'selvedge.yaml.5']);
    for (const { path } of settings) expect(stdout).toContain(path.replaceAll('-', '\\-'));
    expect(stdout).toContain('.B service.v1.paging\n');
    expect(stdout).toContain('Default: stream.');
  });
});

describe('selvedge config schema', () => {
  it('has every setting of the default file, with its words, and requires none', async () => {
    const { stdout } = await selvedge(['config', 'schema']);
    const schema: unknown = JSON.parse(stdout);
    const at = (path: string): unknown =>
      path
        .split('.')
        .reduce<unknown>(
          (node, name) =>
            isJsonObject(node) && isJsonObject(node.properties) ? node.properties[name] : undefined,
          schema,
        );
    for (const { path, about } of readSettings()) {
      expect(at(path), path).toMatchObject({ description: about });
      expect(at(path), path).not.toHaveProperty('required');
    }
    expect(schema).not.toHaveProperty('required');
    expect(at('listener.port')).toMatchObject({ type: 'integer', maximum: 65_535 });
  });
});
