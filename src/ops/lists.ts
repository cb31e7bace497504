/** Lists below the page of the system: the audit, settings, backups. */
import { z } from 'zod';
import { listAudit } from '../store/audit.ts';
import { list } from '../surface/lists.ts';
import { text, time, whole } from '../surface/members.ts';

const DAY_MS = 86_400_000;

/** Part of the audit that is read unless somebody asks for more. */
const AUDIT_MS = 30 * DAY_MS;

const actor = text('Who', { about: 'Person or token' });
const action = text('Action', {
  about: 'Name of the act; as a filter also its beginning, such as delivery.',
  isCode: true,
});
const subject = text('About', {
  about: 'What it was done to, such as delivery:500012 or rule:late',
});
const since = time('Since', {
  about: 'From then on: a time, or 7d for seven days ago; left out: 30d',
  alias: 'days',
  fromAlias: (days) => `${days}d`,
});

export const audit = list({
  name: 'audit.list',
  operation: 'listAudit',
  path: '/system/audit',
  title: 'Audit',
  about: 'what people did, and why, the latest first',
  more:
    'The reason is the one that was given. The daemon stands there where a reject rule was ' +
    'disarmed by itself.',
  examples: [['audit list --action rules. --since 7d', 'armed, reloaded …']],
  query: {
    actor: actor.optional(),
    action: action.optional(),
    subject: subject.optional(),
    since: since.optional(),
  },
  row: {
    id: whole('Row'),
    at: time('Time'),
    actor,
    action,
    subject,
    reason: text('Reason'),
    session: text('Session').nullable(),
    address: text('Address').nullable(),
    detail: z.record(z.string(), z.unknown()),
  },
  shown: [
    'at',
    'actor',
    'action',
    'subject',
    'reason',
    {
      title: 'Session',
      text: ({ session, address }) => [session, address].filter(Boolean).join(' '),
    },
    {
      title: 'More',
      isFolded: true,
      text: ({ detail }) => (Object.keys(detail).length === 0 ? null : JSON.stringify(detail)),
    },
  ],
  terminal: ['Time', 'Who', 'Action', 'About', 'Reason'],
  empty: 'Nobody did anything that fits.',
  pageParameter: 'before',
  read: ({ db, now }, { since: from = now - AUDIT_MS, ...filter }, page) =>
    listAudit(db, { ...filter, since: from }, page),
  place: ({ id }) => String(id),
});

export const auditLists = [audit];
