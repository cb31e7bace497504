/**
 * Three PostgreSQL servers: a primary, a replica that confirms each commit and one that does not.
 * After a promotion the other two are made again, so that a world goes on.
 */
import pg from 'pg';
import { type Postgres, startPostgres } from '../../support/postgres.ts';
import { startTap, type Tap } from './tap.ts';

export interface Cluster {
  /** Server by its number; daemons reach each by a tap of their own. */
  server(index: number): Postgres;
  primary(): number;
  synchronous(): number;
  asynchronous(): number;
  /** Way of a replica to its primary. */
  upstream(index: number): Tap;
  /** Asks the primary directly. */
  ask<T extends object>(text: string): Promise<T[]>;
  /** Makes a replica the primary; the old one goes on unless it was stopped. */
  promote(index: number): Promise<void>;
  /** Stops an old primary and makes two replicas of the new one. */
  rebuild(): Promise<void>;
  /** Cancels the waits for a replica, which PostgreSQL then calls a success. */
  cancelWaits(): Promise<number>;
  remove(): Promise<void>;
}

const CONNECT_MS = 2_000;
const SERVERS = [0, 1, 2] as const;

async function askServer<T extends object>(server: Postgres, text: string): Promise<T[]> {
  const client = new pg.Client({
    connectionString: server.url(),
    connectionTimeoutMillis: CONNECT_MS,
    query_timeout: 10_000,
  });
  client.on('error', () => undefined);
  await client.connect();
  try {
    return (await client.query<T>(text)).rows;
  } finally {
    await client.end().catch(() => undefined);
  }
}

async function waitFor(what: string, look: () => Promise<boolean>): Promise<void> {
  const until = performance.now() + 60_000;
  while (!(await look().catch(() => false))) {
    if (performance.now() > until) throw new Error(`waited in vain for ${what}`);
    await new Promise((resolve) => setTimeout(resolve, 50));
  }
}

/** Called with the number and port of a server that was made. */
type OnServer = (index: number, port: number) => void;

export async function startCluster(onServer: OnServer): Promise<Cluster> {
  const servers = new Map<number, Postgres>();
  const upstreams = new Map<number, Tap>();
  let roles = [0, 1, 2];
  const roleOf = (place: number): number => roles[place] ?? 0;
  const server = (index: number): Postgres => {
    const found = servers.get(index);
    if (!found) throw new Error(`no server ${index}`);
    return found;
  };
  const upstream = (index: number): Tap => {
    const found = upstreams.get(index);
    if (!found) throw new Error(`no way of ${index}`);
    return found;
  };
  const primary = () => server(roleOf(0));
  const ask: Cluster['ask'] = (text) => askServer(primary(), text);
  async function make(index: number, of?: Postgres): Promise<void> {
    const way = [
      `host=127.0.0.1 port=${upstream(index).port}`,
      `user=postgres application_name=pg${index}`,
    ];
    const settings = {
      cluster_name: `pg${index}`,
      primary_conninfo: way.join(' '),
      wal_retrieve_retry_interval: '200ms',
      wal_receiver_timeout: '3s',
      wal_sender_timeout: '3s',
      shared_buffers: '16MB',
      wal_keep_size: '128MB',
      autovacuum: 'off',
    };
    const made = await startPostgres(of ? { of, settings } : { settings });
    servers.set(index, made);
    onServer(index, made.port);
  }
  async function follow(): Promise<void> {
    const [first = 0, second = 0] = SERVERS.filter((index) => index !== roleOf(0));
    roles = [roleOf(0), first, second];
    for (const index of [first, second]) {
      upstream(index).set('open');
      upstream(index).target = primary().port;
    }
    await Promise.all([first, second].map((index) => make(index, primary())));
    await ask(`alter system set synchronous_standby_names = 'pg${first}'`);
    await ask('select pg_reload_conf()');
    await waitFor('a synchronous replica', async () => {
      const [row] = await ask<{ count: string }>(
        "select count(*) from pg_stat_replication where sync_state = 'sync'",
      );
      return row?.count === '1';
    });
  }
  const remove = async (): Promise<void> => {
    for (const one of servers.values()) await one.remove();
    for (const one of upstreams.values()) one.close();
  };
  try {
    for (const index of SERVERS) upstreams.set(index, await startTap(0));
    await make(0);
    await follow();
  } catch (error) {
    await remove();
    throw error;
  }
  return {
    server,
    upstream,
    ask,
    primary: () => roleOf(0),
    synchronous: () => roleOf(1),
    asynchronous: () => roleOf(2),
    async promote(index) {
      await askServer(server(index), 'select pg_promote(true, 30)');
      // A promoted server must not wait for itself, as the manual says.
      await askServer(server(index), "alter system set synchronous_standby_names = ''");
      await askServer(server(index), 'select pg_reload_conf()');
      roles = [index, ...roles.filter((one) => one !== index)];
    },
    async rebuild() {
      const others = SERVERS.filter((index) => index !== roleOf(0));
      await Promise.all(others.map((index) => server(index).remove()));
      await follow();
    },
    async cancelWaits() {
      const rows = await ask(
        `select pg_cancel_backend(pid) from pg_stat_activity where wait_event = 'SyncRep'`,
      );
      return rows.length;
    },
    remove,
  };
}
