import { inspect } from 'node:util';
import { expect, it } from 'vitest';
import { createScrubber, Secret } from '../../src/lib/secret.ts';

const VALUE = 'canary/7f3a+?&';

it.each([
  ['as it is', VALUE],
  ['in an address', `GET /x?key=${encodeURIComponent(VALUE)}`],
  ['in base64', `Basic ${Buffer.from(VALUE).toString('base64')}`],
  ['in base64url', Buffer.from(VALUE).toString('base64url')],
  ['twice', `${VALUE} and ${VALUE}`],
])('is taken out of a text %s', (_name, text) => {
  const scrubber = createScrubber();
  scrubber.register(VALUE, 'key');
  const scrubbed = scrubber.scrub(text);
  expect(scrubbed).toContain('[secret key]');
  for (const form of ['base64', 'base64url', 'utf8'] as const) {
    expect(scrubbed).not.toContain(Buffer.from(VALUE).toString(form));
  }
  expect(scrubbed).not.toContain(encodeURIComponent(VALUE));
});

it('remembers many tokens, and every other secret for good', () => {
  const scrubber = createScrubber();
  scrubber.register('secret-of-the-file', 'key');
  for (let nth = 100; nth <= 164; nth += 1) scrubber.register(`token-${nth}`, 'token');
  expect(scrubber.scrub('token-164 token-101 secret-of-the-file')).toBe(
    '[secret token] [secret token] [secret key]',
  );
  // The number of texts to look for in every line must not grow from log-in to log-in.
  expect(scrubber.scrub('token-100')).toBe('token-100');
});

it('leaves short words alone, but none of six letters', () => {
  const scrubber = createScrubber();
  scrubber.register('order', 'short');
  scrubber.register('orders', 'long');
  expect(scrubber.scrub('order of orders')).toBe('order of [secret long]');
});

it('is not printed by accident', () => {
  const secret = new Secret('key', VALUE);
  const shown = [`${secret}`, JSON.stringify({ secret }), inspect({ secret })];
  for (const text of shown) expect(text).toContain('[secret key]');
  expect(shown.join()).not.toContain('canary');
});
