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

it('says at a terminal what goes and what comes, and changes nothing without a yes', async () => {
  const house = await startCliHouse(await startTestReference());
  const { call, typing, rulesFolder } = house;
  const other = SIMPLE_RULES.replace('hold-large', 'hold-huge').replace(
    'mode: live',
    'mode: shadow',
  );
  writeFileSync(join(rulesFolder, 'rules.yaml'), other);
  const says = '1 hold rule goes; 1 hold rule comes; 1 rule changes; accept-small: live → shadow';
  const dry = await call('rules', 'reload', '--dry-run');
  expect(dry.stdout).toContain(`would change: ${says}\n`);
  const refused = await typing('', 'rules', 'reload');
  expect(refused).toMatchObject({ code: 1, stderr: expect.stringContaining(`${says}\nReload? `) });
  const agreed = await typing('y', 'rules', 'reload');
  expect(agreed.stdout).toContain('+ rule hold-huge\n- rule hold-large\n');
  const again = await typing('', 'rules', 'reload');
  expect(again).toMatchObject({ code: 0, stdout: expect.stringContaining('as they were') });
});

it('refuses a reload of other rules than those that were agreed to', async () => {
  const { daemon } = await startCliHouse(await startTestReference());
  const reload = daemon.reload({ actor: 'ada', reason: '' }, { rules: 'another', mode: 'live' });
  await expect(reload).rejects.toMatchObject({ code: 'rules.changed_meanwhile' });
});

it('shows what a rule has got and lost', async () => {
  const { call, rulesFolder } = await startCliHouse(await startTestReference());
  const clause = '      - delivery.quantity > 20\n';
  const other = SIMPLE_RULES.replace(clause, `${clause}      - delivery.quantity > 10\n`);
  expect(other).not.toBe(SIMPLE_RULES);
  writeFileSync(join(rulesFolder, 'rules.yaml'), other);
  const { code, stdout } = await call('rules', 'reload');
  expect([code, stdout]).toEqual([0, expect.stringContaining('~ rule hold-large')]);
});
