/** `selvedge notify test`: sends one of each channel, and says what came of it. */
import { expect, it } from 'vitest';
import { Secret } from '../../src/lib/secret.ts';
import { startHookListener } from '../support/hook-listener.ts';
import { startTestReference } from '../support/house.ts';
import { startMailSink } from '../support/mail-sink.ts';
import { startCliHouse } from './house.ts';

const SECRET = `whsec_${Buffer.from('canary-notify-canary-not').toString('base64')}`;

it('tries each channel and tells what came of it, also in the audit', async () => {
  const hook = await startHookListener(SECRET);
  const sink = await startMailSink();
  const secret = new Secret('notify', SECRET);
  const on = ['held'];
  const smtp = { host: '127.0.0.1', port: sink.port, tls: 'none', from: 'a@example.com' };
  const channels = [
    { name: 'office', on, to: { webhook: { url: hook.url, secret } } },
    { name: 'mail', on, to: { smtp: { ...smtp, to: ['b@example.com'] } }, quiet: '00:00-23:59' },
    { name: 'dead', on, to: { webhook: { url: 'http://127.0.0.1:9/x', secret } } },
  ];
  const overrides = [{ path: 'notify.channels', value: channels }];
  const house = await startCliHouse(await startTestReference(), { overrides });
  const tried = await house.call('notify', 'test');
  expect(tried.code).toBe(1);
  expect(tried.stdout).toMatch(/^office +webhook at 127\.0\.0\.1:\d+ +taken$/m);
  expect(tried.stdout).toMatch(/^mail +mail by 127\.0\.0\.1 +taken$/m);
  expect(tried.stdout).toMatch(/^dead +webhook at 127\.0\.0\.1:9 +.*ECONNREFUSED/m);
  expect(hook.heard).toMatchObject([{ type: 'selvedge.test', data: { causes: [] } }]);
  expect(sink.mails[0]?.data).toContain('Subject: [selvedge main] test of mail');
  const audit = await house.call('audit', 'list', '--action', 'notify.', '--json');
  expect(JSON.parse(audit.stdout)).toMatchObject([{ action: 'notify.test' }]);
});

it('says that there is no channel where there is none', async () => {
  const house = await startCliHouse(await startTestReference());
  const { code, stdout } = await house.call('notify', 'test');
  expect([code, stdout]).toEqual([0, 'there are no channels: notify.channels\n']);
});
