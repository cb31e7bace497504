/** A role that reads the plane and can do nothing else there, for BI. */
import { UsageError } from '../lib/errors.ts';
import { type PlaneClient, quoted } from './postgres.ts';
import { permissionDenied } from './refusal.ts';

/**
 * Grants reading to a role that exists. Tables and views that a later release adds are granted as
 * well.
 */
export async function grantReader(
  client: PlaneClient,
  schema: string,
  role: string,
): Promise<void> {
  const known = await client.query(
    `select pg_has_role(r.oid, n.nspowner, 'member') AS owns,
       pg_has_role(n.nspowner, 'member') AS may_grant
     from pg_roles r left join pg_namespace n on n.nspname = $2 where r.rolname = $1`,
    [role, schema],
  );
  if (known.rows.length === 0) {
    throw new UsageError('plane.no_role', `there is no role ${role} in this PostgreSQL`, {
      hint: `make it first: create role ${quoted(role)} login password '…'`,
    });
  }
  if (known.rows[0]?.owns === true) {
    throw new UsageError('plane.role_owns', `${role} may change the plane: the schema is its own`, {
      hint: "take a role that is neither the owner's, nor a member of it, nor a superuser",
    });
  }
  // A grant by somebody else is a mere warning of PostgreSQL, and no grant.
  if (known.rows[0]?.may_grant === false) throw permissionDenied(`schema ${schema}`);
  const [at, to] = [quoted(schema), quoted(role)];
  await client.query(
    `revoke all on schema ${at} from ${to};
     revoke all on all tables in schema ${at} from ${to};
     grant usage on schema ${at} to ${to};
     grant select on all tables in schema ${at} to ${to};
     alter default privileges in schema ${at} grant select on tables to ${to}`,
  );
}
