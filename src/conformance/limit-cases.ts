/** Cases for section 1 of the wire contract: limits, which these cases run into on purpose. */

import type { Answer, Api } from './api.ts';
import { type Case, define } from './case.ts';
import { demand, NotTried } from './findings.ts';

/** Number of requests sent at once: more than the limit of a second. */
const BURST = 40;

async function logIn({ account, v1 }: Api): Promise<Answer> {
  const { key, idMember, secretMember, clientId, clientSecret } = account.v1;
  if (key !== undefined) throw new NotTried('the account has a key in place of a log-in');
  const body = { [idMember]: clientId, [secretMember]: clientSecret };
  return v1('/auth/login', { method: 'POST', headers: {}, body, isFast: true });
}

function requireRetryAfter(answer: Answer): void {
  const seconds = answer.headers.get('retry-after') ?? '';
  const knobs = { 'dialect.retryAfter': 'none' };
  demand(/^[1-9]\d*$/.test(seconds), `Retry-After ${seconds || 'is missing'}`, { knobs });
}

export const limitCases: readonly Case[] = [
  define(
    'login-limit',
    'P',
    'a second log-in within 6 s is answered 429',
    async (api) => {
      await api.wait(6_100);
      const first = await logIn(api);
      const second = await logIn(api);
      demand(first.status === 200, `the first: status ${first.status}`);
      demand(second.status === 429, `the second: status ${second.status}`);
    },
    'limits',
  ),
  define(
    'login-retry-after',
    'P',
    'it says in Retry-After how many seconds to wait',
    async (api) => {
      await logIn(api);
      const answer = await logIn(api);
      demand(answer.status === 429, `status ${answer.status}`);
      requireRetryAfter(answer);
      const seconds = Number(answer.headers.get('retry-after'));
      const config = { 'service.limits.loginSpacing': `${seconds}s` };
      demand(seconds <= 6, `${seconds} s`, { config });
    },
    'limits',
  ),
  define(
    'rate-limit',
    'C',
    '20 requests a second pass, then 429 with Retry-After',
    async (api) => {
      const answers = await api.burst('/freight', BURST);
      const passed = answers.filter(({ status }) => status === 200).length;
      const slow = answers.find(({ status }) => status === 429);
      demand(passed < BURST, `${passed} of ${BURST} at once passed`, {
        knobs: { 'rates.perSecond': 0 },
      });
      demand(passed >= 20, `${passed} of ${BURST} at once passed`, {
        config: { 'service.limits.requestsPerSecond': passed },
        knobs: { 'rates.perSecond': passed },
      });
      demand(slow !== undefined, 'none was answered 429');
      await api.wait(2_000);
    },
    'limits',
  ),
];
