/**
 * Settings of messages to people: channels, what each tells and when, and the call that an outside
 * watch expects.
 */
import { z } from 'zod';
import type { ContextFields } from './context.ts';
import { choice, duration, isLoopbackName, onceSound, text, WRONG_KIND, whole } from './fields.ts';

/** Events that a notification channel can report. */
export const NOTIFY_EVENTS = [
  'waiting',
  'held',
  'overdue',
  'unknown_outcome',
  'suspicious_run',
  'disarmed',
] as const;
export type NotifyEvent = (typeof NOTIFY_EVENTS)[number];

const CHANNELS_MAX = 16;
const RECIPIENTS_MAX = 32;

/** Times of day between which a channel is quiet, as they are written; `to` is excluded. */
export interface QuietHours {
  readonly from: string;
  readonly to: string;
}

const TIME = '(?:[01]\\d|2[0-3]):[0-5]\\d';
const QUIET = new RegExp(`^(${TIME})-(${TIME})$`);

function quietHours() {
  return z
    .string()
    .transform((written, ctx): QuietHours => {
      const [, from = '', to = ''] = QUIET.exec(written) ?? [];
      if (from !== to) return { from, to };
      ctx.addIssue({ code: 'custom', message: WRONG_KIND });
      return z.NEVER;
    })
    .register(z.globalRegistry, {
      expected: 'two times of day, in quotes',
      example: '"22:00-07:00"',
    });
}

function mailAddress() {
  return text('a mail address', 'orders@example.com', /^[^\s@<>(),;:"\\[\]]+@[A-Za-z0-9.-]+$/);
}

function webhook(fields: ContextFields) {
  return z.strictObject({
    url: fields.address('notify.channels.to.webhook.url'),
    secret: fields.ownSigningSecret('notify.channels.to.webhook.secret'),
  });
}

/** Section of a mail server and its recipients; `place` names its secrets in logs. */
export function smtpSection(fields: ContextFields, place: string) {
  const user = 'the name of a user, or a reference to a secret that holds it';
  const section = z.strictObject({
    host: text("a mail server's name or address", 'mail.example.com', /^[A-Za-z0-9.:-]{1,253}$/),
    port: whole(1, 65_535),
    tls: choice('starttls', 'tls', 'none'),
    user: fields.textOrSecret(`${place}.user`, user, 'selvedge').nullish(),
    password: fields.secret(`${place}.password`).nullish(),
    from: mailAddress(),
    to: z
      .array(mailAddress())
      .min(1)
      .max(RECIPIENTS_MAX)
      .register(z.globalRegistry, {
        expected: `a list of 1 to ${RECIPIENTS_MAX} mail addresses`,
        example: '[orders@example.com]',
      }),
  });
  return section.superRefine(
    ({ host, tls, user: name, password }, ctx) => {
      if (((name ?? null) === null) !== ((password ?? null) === null)) {
        const message = 'is not set; both user and password, or neither';
        const path = [(name ?? null) === null ? 'user' : 'password'];
        ctx.addIssue({ code: 'custom', path, message });
      }
      if (tls !== 'none' || isLoopbackName(host)) return;
      const message = 'must be starttls or tls (none is for a mail server on this machine)';
      ctx.addIssue({ code: 'custom', path: ['tls'], message });
    },
    onceSound('host', 'tls', 'user', 'password'),
  );
}

function channel(fields: ContextFields) {
  return z.strictObject({
    name: text('a short name (a-z, 0-9, -)', 'office', /^[a-z0-9][a-z0-9-]{0,31}$/),
    on: z
      .array(choice(...NOTIFY_EVENTS))
      .min(1)
      .refine((list) => new Set(list).size === list.length, { error: 'has the same word twice' })
      .register(z.globalRegistry, {
        expected: `a list of what to tell of: ${NOTIFY_EVENTS.join(', ')}`,
        example: '[held, overdue]',
      }),
    to: z
      .strictObject({
        webhook: webhook(fields).optional(),
        smtp: smtpSection(fields, 'notify.channels.to.smtp').optional(),
      })
      .superRefine(
        (to, ctx) => {
          if ((to.webhook === undefined) !== (to.smtp === undefined)) return;
          ctx.addIssue({ code: 'custom', message: 'must have one of webhook and smtp' });
        },
        onceSound('webhook', 'smtp'),
      ),
    caFile: fields.certificates('/etc/ssl/certs/company.pem').nullish(),
    digest: duration('1m', '1d').optional(),
    quiet: quietHours().nullish(),
  });
}

export function notifySection(fields: ContextFields) {
  return z.strictObject({
    channels: z
      .array(channel(fields))
      .max(CHANNELS_MAX)
      .refine((list) => new Set(list.map(({ name }) => name)).size === list.length, {
        error: 'has the same name twice',
      })
      .register(z.globalRegistry, {
        expected: `a list of up to ${CHANNELS_MAX} channels`,
        example: '[{ name: office, on: [held], to: { webhook: { url: …, secret: … } } }]',
        secret: true,
      }),
    digest: duration('1m', '1d'),
    quiet: quietHours().nullable(),
    heartbeat: fields.address('notify.heartbeat').nullable(),
  });
}
