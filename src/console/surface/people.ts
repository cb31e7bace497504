/**
 * Acts of people on sessions and tokens. Links and tokens are made by hand, by a command on the
 * host (local-api/console-routes.ts): the answer is a secret, which no page or notice may hold, and
 * who asks would give rights to others.
 */
import { z } from 'zod';
import { plural } from '../../lib/strings.ts';
import { act } from '../../surface/acts.ts';
import { text, whole } from '../../surface/members.ts';
import type { Entrance } from '../access/entrance.ts';

type Sessions = Pick<
  Entrance,
  'endSession' | 'revokeTokens' | 'requireOpenSession' | 'requireOpenTokens'
>;

export const endSession = act({
  name: 'console.end',
  operation: 'endSession',
  path: '/system/sessions/{id}/end',
  about: 'end a session, or revoke a token',
  more: 'At once, whatever is open there. The page "People and tokens" has the numbers.',
  button: 'End it',
  role: 'approver',
  danger: true,
  reason: 'stated',
  args: ['session'],
  input: { session: whole('Session', { about: 'Its number' }, 1) },
  output: z.strictObject({}),
  examples: [['console end 12 --reason "lent out"', 'at once']],
  async preview(sessions: Sessions, { session }) {
    const { way, name } = await sessions.requireOpenSession(session);
    return { lines: [`session ${session} of ${name} (${way}) would end`] };
  },
  async run(sessions, { session }, actor) {
    await sessions.endSession(session, actor);
    return {};
  },
  done: (_answer, { session }) => `session ${session} has ended`,
});

const revokeTokens = act({
  name: 'console.revoke',
  operation: 'revokeTokens',
  path: '/system/tokens/{id}/revoke',
  about: 'end the tokens of a name',
  more: 'They are refused from then on. Asks the running daemon.',
  button: 'Revoke',
  role: 'approver',
  danger: true,
  reason: 'page',
  args: ['name'],
  input: { name: text('Name', { about: 'As in: selvedge console tokens' }, 40) },
  output: z.strictObject({ ended: z.int() }),
  examples: [['console revoke bi', 'at once']],
  async preview(sessions: Sessions, { name }) {
    const open = await sessions.requireOpenTokens(name);
    return { lines: [`${plural(open, 'token')} of ${name} would end`] };
  },
  run: async (sessions, { name }, actor) => ({ ended: await sessions.revokeTokens(name, actor) }),
  done: ({ ended }) => `ended: ${ended}`,
});

export const peopleActs = [endSession, revokeTokens];
