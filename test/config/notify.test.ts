import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { Secret } from '../../src/lib/secret.ts';
import { channelsOf } from '../../src/ops/notify/notifier.ts';
import { repositoryRoot } from '../support/source.ts';
import { temporaryFolder } from '../support/store.ts';
import { configIn, ENV, HOOK_SECRET, MINIMAL, problemsIn, writeSecret } from './support.ts';

const WEBHOOK = `{ webhook: { url: https://hooks.example.com/x, secret: { env: HOOK } } }`;
const SMTP = 'host: mail.example.com, port: 587, from: a@example.com, to: [b@example.com]';
const env = { ...ENV, HOOK: HOOK_SECRET };

const channel = (text: string) => `${MINIMAL}\nnotify:\n  channels:\n    - { ${text} }\n`;
const problems = (text: string, more: object = {}) =>
  problemsIn(channel(text), { env: { ...env, ...more } }).map(
    ({ path, message }) => `${path}: ${message}`,
  );

describe('notify.channels', () => {
  it('takes the digest and the quiet hours of the section, or its own', () => {
    const text = `${MINIMAL}
notify:
  digest: 20m
  quiet: "22:00-07:00"
  channels:
    - { name: a, on: [held], to: ${WEBHOOK} }
    - { name: b, on: [held], to: ${WEBHOOK}, digest: 5m, quiet: null }
    - { name: c, on: [held], to: { smtp: { ${SMTP}, tls: starttls } }, quiet: "12:00-13:00" }
`;
    const { config } = configIn(text, { env });
    const night = { from: '22:00', to: '07:00' };
    expect(channelsOf(config)).toMatchObject([
      { name: 'a', digestMs: 1_200_000, quiet: night },
      { name: 'b', digestMs: 300_000, quiet: null },
      { name: 'c', digestMs: 1_200_000, quiet: { from: '12:00', to: '13:00' } },
    ]);
  });

  it('names what is wrong with a channel, and its place', () => {
    const to = `to: ${WEBHOOK}`;
    const at = 'notify.channels[0]';
    const smtp = (more: string) => `name: a, on: [held], to: { smtp: { ${SMTP}, ${more} } }`;
    const found = (text: string) => problems(text).join();
    expect(found(`name: a, on: [hold], ${to}`)).toMatch(/^notify\.channels\[0\]\.on\[0\]: must be/);
    expect(found(`name: a, on: [], ${to}`)).toContain(`${at}.on: must be`);
    expect(found(`name: a, on: [held], ${to}, quiet: "22-7"`)).toContain('two times of day');
    expect(found('name: a, on: [held], to: {}')).toContain('must have one of webhook and smtp');
    expect(found(smtp('tls: none'))).toContain(`${at}.to.smtp.tls: must be starttls or tls`);
    expect(found(smtp('tls: tls, user: x'))).toContain(`${at}.to.smtp.password: is not set`);
    const twice = `name: a, on: [held], ${to} }\n    - { name: a, on: [held], ${to}`;
    expect(found(twice)).toContain('notify.channels: has the same name twice');
  });

  it('sends to no address without TLS beyond this machine, and repeats none that is secret', () => {
    const url = 'http://hooks.example.com/canary-path';
    const file = writeSecret(url);
    const to = `{ webhook: { url: { file: ${file} }, secret: { env: HOOK } } }`;
    const [problem = ''] = problems(`name: a, on: [held], to: ${to}`);
    expect(problem).toContain('to.webhook.url: must begin with https://');
    expect(problem).not.toContain('canary');
  });

  it('signs with a secret that stands outside of the file, and never with a public key', () => {
    const literal = `{ webhook: { url: https://x.example.com, secret: ${HOOK_SECRET} } }`;
    const [problem = ''] = problems(`name: a, on: [held], to: ${literal}`);
    expect(problem).toContain('is a literal secret');
    expect(problem).not.toContain(HOOK_SECRET);
    const key = `whpk_${Buffer.alloc(32, 1).toString('base64')}`;
    const found = problems(`name: a, on: [held], to: ${WEBHOOK}`, { HOOK: key });
    expect(found.join()).toContain('does not hold a signing secret (whsec_…)');
  });

  it('keeps an address of the heartbeat that is secret', () => {
    const file = writeSecret('https://watch.example.com/canary');
    const { config } = configIn(`${MINIMAL}\nnotify: { heartbeat: { file: ${file} } }\n`);
    expect(config.notify.heartbeat).toBeInstanceOf(Secret);
    expect(JSON.stringify(config)).not.toContain('canary');
  });
});

it('is shown in an example that is right', () => {
  const example = readFileSync(join(repositoryRoot, 'docs/examples/notify.yaml'), 'utf8');
  const folder = temporaryFolder();
  writeFileSync(join(folder, 'mail-password'), 'canary-password');
  writeFileSync(join(folder, 'notify-secret'), HOOK_SECRET);
  writeFileSync(join(folder, 'heartbeat-url'), 'https://watch.example.com/canary');
  const { config } = configIn(`${MINIMAL}\n${example}`, {
    env: { ...ENV, CREDENTIALS_DIRECTORY: folder },
  });
  expect(channelsOf(config).map(({ name, digestMs }) => [name, digestMs])).toEqual([
    ['office', 900_000],
    ['on-call', 300_000],
  ]);
});
