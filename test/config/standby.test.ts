import { expect, it } from 'vitest';
import { showProblem } from '../../src/config/problems.ts';
import { createScrubber } from '../../src/lib/secret.ts';
import { standbySettingsOf } from '../../src/standby/settings.ts';
import { configIn, MINIMAL, problemsIn, writeSecret } from './support.ts';

const OFF_HOST = 'postgresql://standby:canary-7d1@db.example.com/standby';
const QUIET = 'outbox: { quietTime: 20m }\n';

function withStandby(urls: readonly string[], more = '', outbox = QUIET): string {
  const servers = urls.map((url) => `{ file: ${writeSecret(url)} }`).join(', ');
  return `${MINIMAL}${outbox}standby:\n  servers: [${servers}]\n${more}`;
}

const told = (text: string) => problemsIn(text).map(showProblem).join('\n');

it('has no standby by default', () => {
  const { config } = configIn(MINIMAL);
  expect(config.standby.servers).toEqual([]);
  expect(standbySettingsOf(config)).toBeUndefined();
});

it('takes the servers of a standby by reference, and shows no password', () => {
  const scrubber = createScrubber();
  const urls = [`${OFF_HOST}?sslmode=verify-full`, 'postgresql://standby@localhost/standby'];
  const { config } = configIn(withStandby(urls), { scrubber });
  expect(config.standby.servers.map((one) => one.reveal())).toEqual(urls);
  expect(JSON.stringify(config.standby)).not.toContain('canary');
  expect(scrubber.scrub('password "canary-7d1" refused')).not.toContain('canary');
  expect(standbySettingsOf(config)).toMatchObject({
    account: 'main',
    schema: 'selvedge_standby',
    acknowledge: 'postgresql',
    leaseMs: 15_000,
    renewMs: 5_000,
    permitMs: 5_000,
    timeoutMs: 3_000,
  });
});

it('refuses a server on another host that proves nothing, unless told otherwise', () => {
  expect(told(withStandby([OFF_HOST]))).toMatch(
    /standby\.servers\[0\] goes to another host[\s\S]*unprotected: true/,
  );
  expect(told(withStandby([`${OFF_HOST}?sslmode=require`]))).toMatch(/goes to another host/);
  expect(told(withStandby([OFF_HOST], '  unprotected: true\n'))).toBe('');
});

it('refuses two hosts in one address, and a quiet time that a cut machine may outlast', () => {
  expect(told(withStandby(['postgresql://a@db1,db2/x']))).toMatch(
    /names several hosts: give each an entry of its own in standby\.servers/,
  );
  const short = withStandby(['postgresql://localhost/x'], '', 'outbox: { quietTime: 19m }\n');
  expect(told(short)).toMatch(/outbox\.quietTime must be at least 20m with standby\.servers/);
  expect(told(withStandby(['postgresql://localhost/x'], '', ''))).toMatch(/quietTime must be/);
});
