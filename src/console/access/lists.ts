/** List of open sessions and tokens, for people and programs. */
import { z } from 'zod';
import { WORDS } from '../../config/words.ts';
import { formatDuration } from '../../lib/units.ts';
import { list, pageOfAll, ROWS_MAX } from '../../surface/lists.ts';
import { oneOf, text, time, whole } from '../../surface/members.ts';
import { ROLES } from '../../surface/roles.ts';
import { listSessions, WAYS } from './sessions.ts';

const way = oneOf('Way', WAYS, {
  words: WORDS.wayIn,
  about: 'Way in which somebody or something signed in',
});
const role = z.enum(ROLES);

/** People whom the configuration names. */
export const peopleShape = {
  operators: z.array(
    z.strictObject({
      name: z.string(),
      role,
      seesAddresses: z.boolean(),
      hasPassword: z.boolean(),
    }),
  ),
  proxyRole: role.nullable(),
};

export type People = z.output<z.ZodObject<typeof peopleShape>>;

export const sessions = list({
  name: 'console.sessions',
  operation: 'listPeople',
  path: '/system/people',
  title: 'Sessions and tokens',
  about: 'open sessions and tokens, the newest first',
  examples: [['console sessions --way token', 'tokens of programs']],
  query: { way: way.optional() },
  row: {
    sessionId: whole('Session', { csv: 'session' }, 1),
    name: text('Name'),
    role: oneOf('Role', ROLES),
    way,
    address: text('From', { csv: 'address' }).nullable(),
    createdAt: time('Since'),
    seenAt: time('Last seen'),
    expiresAt: time('Ends'),
  },
  shown: [
    'name',
    'role',
    { title: 'By', text: (row) => WORDS.wayIn[row.way] },
    'address',
    'createdAt',
    {
      title: 'Last seen',
      text: ({ way: by, createdAt, seenAt }, now) => {
        const isUnused = by === 'token' && seenAt === createdAt;
        return isUnused ? null : `${formatDuration(Math.max(0, now - seenAt))} ago`;
      },
    },
    'expiresAt',
    'sessionId',
  ],
  empty: 'Nobody is signed in.',
  limit: ROWS_MAX,
  rowsAs: 'sessions',
  beside: peopleShape,
  async read({ db, now, sessionIdleMs }, query, page) {
    const open = await listSessions(db, { now, idleMs: sessionIdleMs, way: query.way });
    return pageOfAll(open, page, keyOf);
  },
  place: keyOf,
  readBeside: async ({ host }) => z.strictObject(peopleShape).parse(await host?.ask('people')),
});

function keyOf({ sessionId }: { readonly sessionId: number }): string {
  return String(sessionId);
}
