import { expect, it } from 'vitest';
import { changedSettings } from '../../src/config/changes.ts';
import { configIn, ENV, HOOK_SECRET, MINIMAL } from './support.ts';

const HOOK = '{ secret: { env: HOOK } }';
/** Each configuration lies in a folder of its own. */
const PLACES = 'dataDir: /d\nrules: { directory: /r }\nreports: { directory: /p }\n';
const env = { ...ENV, HOOK: HOOK_SECRET };

function changed(before: string, after: string, newEnv: Readonly<Record<string, string>> = env) {
  const config = (text: string, own: Readonly<Record<string, string>>) =>
    configIn(`${MINIMAL}${PLACES}${text}\n`, { env: own }).config;
  return changedSettings(config(before, env), config(after, newEnv));
}

it('tells which settings differ, a secret only by its name', () => {
  const hooks = (count: number) => `listener: { secrets: [${Array(count).fill(HOOK).join(', ')}] }`;
  expect(changed(hooks(1), hooks(1))).toEqual([]);
  expect(changed(hooks(1), hooks(2))).toEqual(['listener.secrets']);
  expect(changed(hooks(2), hooks(1))).toEqual(['listener.secrets']);
  expect(changed('log: { level: info }', 'log: { level: warn }')).toEqual(['log.level']);
  const other = { ...env, API_KEY: 'canary-another-key' };
  expect(changed(hooks(1), hooks(1), other)).toEqual(['service.v1.apiKey']);
  const hook = `whsec_${Buffer.alloc(24, 7).toString('base64')}`;
  expect(changed(hooks(1), hooks(1), { ...env, HOOK: hook })).toEqual(['listener.secrets']);
});
