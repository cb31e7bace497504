/**
 * Each table has exactly one room that writes it ("Rooms" in docs/internals/architecture.md). The
 * writes are found in the sources: Kysely's statements, SQL text, and the helpers that take a
 * table's name.
 */
import { describe, expect, it } from 'vitest';
import { filesBelow, type SourceFile } from './support/source.ts';

/** The tables of each database by the room that writes them. */
const OWNED: Readonly<Record<string, Readonly<Record<string, string>>>> = {
  'mirror.db': {
    store:
      'audit daemon_state incident incident_ack lease ledger_change pause schema_migration ' +
      'sqlite_sequence tally zone_offset',
    mirror:
      'announced brand change change_hour claim color country delivery delivery_line ' +
      'erp_customer freight_option gender key_place duplicate_key pdm_brand pending_refund ' +
      'pending_refund_line quarantine refresh refund refund_line sales_order ' +
      'sales_order_line season season_delivery season_variant_row chunk shared_number ' +
      'size_rank stock_age stock_day stock_out_of_band stock_variant_row style style_color ' +
      'style_type variant_extra',
    sync: 'absence stream_state sync_run',
    inbox: 'webhook_event',
    decisions:
      'arming backtest_report decision delivery_assignment delivery_note evaluation ' +
      'fact_snapshot hold match_seen reject_entry restored_stop review rule_set rule_text ' +
      'saved_view season_window',
    console: 'console_session',
    standby: 'standby_change standby_played',
    ops: 'notification notification_told',
    outbox:
      'intake intake_file intake_file_document intake_key outbox outbox_attempt outbox_candidate ' +
      'outbox_evidence outbox_lost outbox_revision outbox_transition outcome reference_spelling ' +
      'refund_awaited refused_document',
  },
  PostgreSQL: { standby: 'standby_lease standby_machine standby_record' },
  'exchange.db': {
    store: 'erp_customer erp_customer_change erp_customer_problem intake outcome receipt',
  },
};

/** Files that write another room's table for now. */
const KNOWN = new Set<string>();

const HELPERS = [
  'insertRows|insertKeys|deleteByKeys|raiseReadSeq|setContentHashes',
  'movePastTimes|moveDueTimes|forgetPeople',
].join('|');

/** Ways to write a table; the group is its name. */
const WRITES = [
  /\b(?:insertInto|updateTable|deleteFrom|replaceInto)\(\s*['"](\w+)(?: as \w+)?['"]/g,
  new RegExp(`\\b(?:${HELPERS})\\(\\s*\\w+,\\s*['"](\\w+)['"]`, 'g'),
  /\b(?:insertBulk|insertMissing)\(\s*\w+,\s*\{\s*table: ['"](\w+)['"]/g,
  /\b(?:insert(?: or \w+)?|replace) into "?([a-z_]+)"?[\s(]/gi,
  /(?<!do )\bupdate "?([a-z_]+)"?(?: as \w+| \w)?\s+set\b/gi,
  /\bdelete from "?([a-z_]+)"?[\s`')]/gi,
];

interface Write {
  readonly at: string;
  readonly database: string;
  readonly room: string;
  readonly table: string;
}

function withoutComments(text: string): string {
  const blank = (comment: string) => comment.replaceAll(/[^\n]/g, ' ');
  return text.replaceAll(/\/\*[\s\S]*?\*\/|(?<=^\s*)\/\/.*$/gm, blank);
}

function databaseOf(path: string): string {
  if (path.startsWith('src/store/exchange/')) return 'exchange.db';
  // The queue of the record, and what is played, are in the mirror; else the standby's are not.
  const inMirror = ['src/standby/feed.ts', 'src/standby/take-over/play.ts'];
  const isPostgres = path.startsWith('src/standby/') && !inMirror.includes(path);
  return isPostgres ? 'PostgreSQL' : 'mirror.db';
}

function writesIn({ path, text }: Pick<SourceFile, 'path' | 'text'>): Write[] {
  const code = withoutComments(text);
  const database = databaseOf(path);
  const room = path.split('/')[1] ?? '';
  return WRITES.flatMap((way) =>
    [...code.matchAll(way)].map((match) => {
      const line = code.slice(0, match.index).split('\n').length;
      return { at: `${path}:${line}`, database, room, table: match[1] ?? '' };
    }),
  );
}

function ownerOf(database: string, table: string): string | undefined {
  const owned = Object.entries(OWNED[database] ?? {});
  return owned.find(([, tables]) => tables.split(' ').includes(table))?.[0];
}

function foreignWrites(files: readonly Pick<SourceFile, 'path' | 'text'>[]): string[] {
  return files
    .flatMap(writesIn)
    .filter(({ database, table, room }) => ownerOf(database, table) !== room)
    .filter(({ at, table }) => !KNOWN.has(`${at.slice(0, at.lastIndexOf(':'))}: ${table}`))
    .map(({ at, database, table, room }) => {
      const owner = ownerOf(database, table) ?? 'nobody yet';
      return `${at}: ${room} writes ${table} of ${database}, which belongs to ${owner}`;
    });
}

/** The stand-in for the remote side has a database of its own, and the plane is in PostgreSQL. */
const sources = filesBelow('src', ['.ts']).filter(
  ({ path }) => !path.startsWith('src/reference/') && !path.startsWith('src/plane/'),
);

function createdIn(folder: string): string[] {
  const created = /^CREATE TABLE (?:IF NOT EXISTS )?(\w+)/gim;
  const text = filesBelow(folder, ['.sql']).map((file) => file.text);
  return [...text.join('\n').matchAll(created)].map((match) => match[1] ?? '');
}

describe('table ownership', () => {
  it('lets only the owning room write a table', () => {
    expect(foreignWrites(sources)).toEqual([]);
  });

  it('lets only the shared helpers and the mirror write a table whose name is a value', () => {
    const nameless =
      /\b(?:insertInto|updateTable|deleteFrom)\(\s*\w|`(?:insert into|update|delete from) \$\{/i;
    const writes = sources.flatMap(({ path, text }) =>
      withoutComments(text)
        .split('\n')
        .flatMap((line) => (nameless.test(line) ? [path] : [])),
    );
    const shared = [
      'src/store/bulk.ts',
      'src/store/upkeep.ts',
      'src/store/tables/people.ts',
      // Rows of any recorded table, into a copy that nobody uses yet.
      'src/standby/take-over/play.ts',
    ];
    const others = writes.filter((path) => !path.startsWith('src/mirror/'));
    expect([...new Set(others)].filter((path) => !shared.includes(path))).toEqual([]);
  });

  it('finds the writes of every room that owns tables', () => {
    const found = new Set(sources.flatMap(writesIn).map(({ database, table }) => database + table));
    expect(found.size).toBeGreaterThan(45);
  });

  it('names one owner for every table that the migrations create', () => {
    const owned = Object.values(OWNED).flatMap((rooms) =>
      Object.values(rooms).join(' ').split(' '),
    );
    const inMirror = Object.values(OWNED['mirror.db'] ?? {})
      .join(' ')
      .split(' ');
    expect(new Set(inMirror).size).toBe(inMirror.length);
    expect(createdIn('migrations').filter((table) => !owned.includes(table))).toEqual([]);
  });

  it.each([
    ["  await tx\n    .updateTable('outbox')\n    .set({ state })", 2],
    ["tx.deleteFrom('outbox as o')", 1],
    ['await sql`update outbox\n  set body = 1`', 1],
    ["database.prepare('insert into outbox (kind) values (?)')", 1],
    ['`insert or ignore into outbox values (1)`', 1],
    ['sql`delete from outbox where 1`', 1],
    ["await insertRows(\n  tx,\n  'outbox', columns, rows)", 1],
    ["await moveDueTimes(tx, 'outbox', 'due_at', step)", 1],
  ])('names file and line of a foreign write: %s', (text, line) => {
    const path = 'src/store/backup/restore.ts';
    const message = 'store writes outbox of mirror.db, which belongs to outbox';
    expect(foreignWrites([{ path, text }])).toEqual([`${path}:${line}: ${message}`]);
    expect(foreignWrites([{ path: 'src/outbox/x.ts', text }])).toEqual([]);
  });

  it('takes reads and comments for no writes', () => {
    const text = "/** delete from outbox where */\n// update outbox set\ntx.selectFrom('outbox')";
    expect(writesIn({ path: 'src/store/x.ts', text })).toEqual([]);
  });
});
