import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { SIMPLE_RULES, startTestReference } from '../../support/house.ts';
import { startCliHouse } from '../house.ts';

it('tells in which mode the rules act by now', async () => {
  const { call, rulesFolder } = await startCliHouse(await startTestReference(), { rules: '?' });
  writeFileSync(join(rulesFolder, 'rules.yaml'), SIMPLE_RULES);
  const { stdout } = await call('rules', 'reload');
  expect(stdout).toMatch(/^rules \w+ -> \w+\nmode observe -> live\n\+ rule accept-small\n/);
  const { stdout: audited } = await call('audit', 'list', '--json');
  expect(JSON.parse(audited)).toContainEqual(
    expect.objectContaining({
      action: 'rules.reload',
      detail: expect.objectContaining({ mode: { from: 'observe', to: 'live' } }),
    }),
  );
  expect((await call('rules', 'reload')).stdout).toMatch(/^rules \w+, as they were\n$/);
  writeFileSync(join(rulesFolder, 'hold.yaml.txt'), SIMPLE_RULES);
  expect((await call('rules', 'reload')).stderr).toMatch(/^warning: hold\.yaml\.txt is not read; /);
});
