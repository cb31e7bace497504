/** Makes the standby's schema in PostgreSQL, and says where it is missing. */
import { readFileSync } from 'node:fs';
import { RefusedError } from '../lib/errors.ts';
import { literal, type Session } from './session.ts';

const FILE = new URL('../../migrations/standby/schema.sql', import.meta.url);

/** Makes what is missing of the schema; may be called again at any time. */
export async function makeSchema(session: Session, schema: string): Promise<void> {
  await session.ask(`create schema if not exists "${schema}"; ${readFileSync(FILE, 'utf8')}`);
}

/** Throws where `selvedge standby init` has not run. */
export async function requireSchema(session: Session, schema: string): Promise<void> {
  const [row] = await session.ask(
    `select to_regclass(${literal(`"${schema}".standby_lease`)}) is not null as there`,
  );
  if (row?.there === true) return;
  throw new RefusedError('standby.no_schema', 'there are no tables of the standby', {
    hint: 'run "selvedge standby init"',
  });
}
