/** The ceilings of docs/internals/architecture.md, "Ceilings", without a list of exceptions. */
import { existsSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { SLOWEST } from './support/slowest.ts';
import { filesBelow, repositoryRoot, type SourceFile } from './support/source.ts';

const FUNCTION_LINES_MAX = 80;
const FILE_LINES_MAX = 600;
const LINE_CHARS_MAX = 100;
const FOLDER_FILES_MAX = 20;
const ASSERTIONS_MAX = 30;

/** A line that opens the body of a function, a method or an arrow function. */
const BODY_OPENS = /^(\s*).*(?:=> \{|\)(?:: [^=]+)? \{)$/;
const CONTROL_FLOW = /^\s*(?:\} )?(?:if|else|for|while|switch|catch|do)\b/;

/**
 * Lines that each room may have: those of when acts and lists were declared once, and 2 % more. A
 * room that needs more gets a higher number, with the reason in a comment beside it.
 */
const ROOM_LINES: Readonly<Record<string, number>> = {
  // By 360: the standby, its drill and the way back.
  // By 50: a drill that comes back, its report, who confirms what is kept, and if nothing runs.
  // By 50: what a machine that waits says instead of a database.
  cli: 9_220, // with proposals of rules as people read them, the demo's past and its parcels
  // With the limit that the pace remembers through refusals.
  // How an account writes decimals is learned by all its readers.
  // Refusals and empty pages behind the last are told from faults in the midst of a list.
  // And that an account's decimals are shown by more than one row.
  // With looks behind an end that may fail, and pages behind an empty one.
  // By 40: permits for requests that change something, looked at as they begin.
  // By 10: the short lists as a table, from which streams and the probe read.
  // By 40: senders that are held, which the daemon had.
  // By 5: the parts of undici, each by its name.
  // By 50: byte order marks before texts in any charset, which the rows of lists left out alone,
  // and a 404 that is cut off, or is the service's own, told from the page of a gateway.
  client: 8_465, // how each request ended; lists beyond a body, and second looks where one may err
  // With the settings of a standby.
  // By 50: lists of the service with their words, times and limits, which four files repeated.
  config: 3_860, // with the table of words for all names that programs have
  conformance: 1_770,
  // With refusals in words of pages, and the page that asks before all that fit are decided; with
  // tiles of the service, the pulls and the system; with what waits in its parts, and what is sent.
  // By 80: all lines in one table with what was ordered, the account's state, reasons by a click.
  // By 600: ticks, saved views, whose a delivery is and notes with names.
  // By 470: sales of a week, what waits by its worth, a page for each incident.
  // And proposals of rules with what they rest on, kept for a while. By 220: what is wrong now, and
  // what was in the night; the search on every page, the head of an order, what is not known.
  // By 140: why stock is not known, and what each of several deliveries lacks. By 40: numbers of
  // the overview lead to their deliveries, and its tables are stacked on telephones.
  // By 60: how a second machine stands, and what it may lack.
  console: 13_210,
  // And what a reload holds, at every door.
  // And resumes that compare acts with the list beside the backups.
  // With the end of a push that is noted as it is confirmed.
  // By 270: a machine that holds a lease, and its record.
  // By 150: a holder that is asked for its lease gives it back; what the doctor says of replicas.
  // By 30: the doctor of a machine that waits; whether record and database are of one past.
  // By 30: pulls that come again until a take-over has read all; one that was cut off.
  // By 50: garbage that is collected at rest.
  daemon: 6_185, // whether the service answers; the machine that waits, and catches up
  // Which style a line is of, its own order line, customers that the ERP lost; decides what is
  // named; accepts that wait, judged by the rules in force; says what the service has not
  // confirmed; what people stopped since a backup. By 560: pages back, values at rates, whose a
  // delivery is, notes as a history, saved views.
  // By 140: its past beside a delivery, the journal's end in one read, accepts noted as confirmed.
  // And styles of one number that are unlike.
  // By 40: what each decision asks is compiled once.
  // By 110: what a pass looks at is read together, by one statement for all.
  // By 15: how many deliveries fit the time of a look.
  // By 40: claims on a barcode are summed once for all that ask, and not by each of them.
  decisions: 16_015, // and barcodes that lost their zeros; customers by part of a name; weekdays
  // What a read after an event looks for, which was the daemon's; memory of bodies as they arrive.
  // With orders of other accounts.
  // With new deliveries before a backlog.
  // And a read that ends its request in its own transaction.
  inbox: 2_805,
  // With nearest paths, and names by meaning; host names of proxies, each refused one logged once;
  // words of others between marks, and whole characters; the language of a page's reader; local
  // days and weeks.
  // Raised by 17: members that are understood only later.
  // By 20: the time since the machine was started.
  // By 100: what two to five rooms each had for themselves.
  // By 65: the parts of undici; servers without compilers of schemas.
  lib: 4_545, // and names of axes; references in any letters, which the outbox had
  'local-api': 990, // what a standby may lack
  // With the loss of the ERP's customers, which import, decisions and release must all know of.
  // And reads of orders by two lanes.
  // With the types of V2's resources, which were sync's.
  // Barcodes that lost zeros, compared one way by all; deliveries that events name otherwise.
  // Losses of short lists, and those made bit by bit; rows that a list names no more.
  // By 360: the search for anything by what people know it by, and an order with its parcels.
  // And keys of a list that are walked over once for many rows.
  // Losses of customers are counted by what each loses, which the store did by sums.
  // By 60: what each read of an order asks and writes is compiled once.
  // By 10: spellings of barcodes that several ask for at once.
  mirror: 6_475, // an announced delivery is proved to be that of its number
  // One table of checks, with advice and tiles; what waits for a person, counted for every place.
  // Raised by 98: reasons beneath failed messages, own authorities, what is too large.
  // By 380: what each incident means and what to do, its list and what people do about it.
  // By 150: how a second machine stands.
  // By 30: the same, and grades of a lease.
  ops: 5_590, // since when receipts wait, a file that grew, and by 150 what went wrong in a time
  // Raised for the loss of customers and for refunds by what has left; for documents that a person
  // takes note of; for what the rules decided, which leaves only while these are in force.
  // With words of ERPs for members, prices far from the list price; what a person canceled since a
  // backup; with the proof that an account reads the names of pre-orders, made once.
  // With files that go on growing or are changed, and one commit among readers that poll.
  // And rows that a round of the dispatcher reads in one statement.
  // And the other id under which an account sets the status of a delivery.
  // Raised by 50: a corrected row is told from the document that was read, and the other id of a
  // delivery is proved to be that of no other one.
  // By 90: what each request is for, documents that wait for a standby, permits of another machine.
  // By 65: how a status is read and set, and what keeps pushes back, which the daemon had.
  outbox: 14_780, // with barcodes that differ in zeros alone; doubles in capitals beyond ASCII
  // Raised by 350: locks, poolers, cut ways and standbys are told as what they are.
  // Statistics at the end of a copy, without which its views take seconds until PostgreSQL looks.
  plane: 2_640,
  probe: 2_785, // with numbers and sizes of pages, and what is behind the last
  // By 12: deliveries that answer under another number; marks in any charset.
  reference: 13_425, // by 23: other requests between the pieces of a list, and faults of them
  // Raised by 790: one dictionary of columns with headings, units and words of states; charts by
  // currency; values that forms offer.
  report: 4_360,
  // Raised by 1,190: conditions are compiled to functions of plain facts, beside the library;
  // by 190: messages name the lines that made a rule match.
  // By 60: limits are read by the code of their conditions, once for all deliveries of a backtest.
  rules: 9_800,
  // Raised by 190: acts of people beside the backups, which a restore takes over; by 30: sums over
  // the ERP's customers at the moment of their changes; by 160: whether the service answers; 120:
  // what waits for a person, as SQL that all rooms share.
  // With whose a system key is, commits among programs that read, and the zone of the house.
  // Acts since a backup, compared again at a resume; times in which no daemon ran.
  // By 170: a copy that is taken over is played on.
  // Lease, permits and record of a second machine; and its take-over.
  // By 210: a record longer than memory, and a lease that is renewed beside a long restore.
  // By 610: a drill that comes back, a hand-over that nobody takes, replicas, a feed that ends.
  // By 200: whether record, database and server are of one past.
  standby: 3_625,
  // By 10: whether a daemon runs, which three rooms ask.
  // By 110: single rows are written without a query builder, and changes are compiled once, too.
  // By 110: questions that several ask at once.
  // By 10: no query of a transaction after its end.
  store: 7_200, // and queries that are compiled once, and those of a transaction that run at once
  // Rules from what people decided: examples, exact search, proofs, drafts with tests. Raised by
  // 150: accepts that were waited for, and what a hold must know before an exception frees it.
  suggest: 4_490,
  // With wrong paths and methods.
  // By 25: what a proposal is, which suggest declared a second time; 10: one reading an answer.
  surface: 1_810, // and dates of the house in filters; what a proposed rule is
  // Changes compared with what was there before those that wait for a person.
  // Raised by 37: rows below an order that name the number under which it answered.
  // By 40: runs that broke off, told of few rows of a long list, end with the first whole one.
  // And the request of such a pull.
  // By 10: pulls that were under way when a backup was made begin anew.
  sync: 8_650, // decimals that two rows prove; answers under another number than was asked for
};

/** Matches a literal that is spread into another, as if it stood there itself. */
const SPREAD_LITERAL = /\.\.\.(?:\{[^{}]*\}|\[[^[\]]*\])\s*[,}\])]/;

/** First words that put the subject of a comment behind its verb. */
const BAD_OPENING =
  /^(?:What|Who|Whoever|Whose|Which|Where|Of|One|It|Those|That|As|To|Behind)\b(?!-)/;
/** Words of before the glossary; docs/glossary.md has their successors. */
const RETIRED = new RegExp(
  `\\b(?:${[
    'anew|astray|census|clash|fuse|loss meter|nudge|quiet time|rails?|refresher|whoever',
    'hand(?:s|ed|ing)?[- ](?:\\w+ )?ins?',
  ].join('|')})\\b`,
  'i',
);

/** Written by `npm run references`; test/documents/references.test.ts holds that it is current. */
const GENERATED = 'src/store/tables/generated.ts';

const sources = filesBelow('src', ['.ts']);
/** Files that somebody writes and reads: lines are counted of these alone. */
const written = sources.filter(({ path }) => path !== GENERATED);
const everything = [
  ...sources,
  ...filesBelow('test', ['.ts', '.mjs']),
  ...filesBelow('bench', ['.ts']),
  ...filesBelow('bin', ['.mjs']),
  ...filesBelow('scripts', ['.ts', '.mjs']),
];

/** The first line of each comment block: of `/** … */ `, and of a run of `; //` lines. */
function openingsOf(file: SourceFile): { readonly at: string; readonly text: string }[] {
  return file.lines.flatMap((line, index) => {
    const trimmed = line.trim();
    const isRun = trimmed.startsWith('//') && !file.lines[index - 1]?.trim().startsWith('//');
    if (!isRun && !trimmed.startsWith('/**')) return [];
    const own = trimmed.replace(/^(?:\/\/|\/\*\*)\s*/, '');
    const text = own === '' ? (file.lines[index + 1]?.trim().replace(/^\*\s*/, '') ?? '') : own;
    return [{ at: `${file.path}:${index + 1}`, text }];
  });
}

/**
 * The lines of each body. The sources are formatted, so a body ends at the first line with the
 * indentation of its head that starts with a closing brace; a head whose parameters take several
 * lines is found at the line that closes them.
 */
function functionsOf(file: SourceFile): { readonly at: string; readonly lines: number }[] {
  const found: { at: string; lines: number }[] = [];
  for (const [index, line] of file.lines.entries()) {
    const match = BODY_OPENS.exec(line);
    if (!match || CONTROL_FLOW.test(line)) continue;
    const indent = match[1] ?? '';
    const end = file.lines.findIndex((other, at) => at > index && other.startsWith(`${indent}}`));
    if (end > index) found.push({ at: `${file.path}:${index + 1}`, lines: end - index + 1 });
  }
  return found;
}

describe('tidy', () => {
  it('keeps every function within its lines', () => {
    const tooLong = sources.flatMap(functionsOf).filter((f) => f.lines > FUNCTION_LINES_MAX);
    expect(tooLong).toEqual([]);
  });

  it('sees a function that is too long', () => {
    const lines = ['export function a(): void {', ...Array(90).fill('  b();'), '}'];
    const found = functionsOf({ path: 'x.ts', text: lines.join('\n'), lines });
    expect(found).toContainEqual({ at: 'x.ts:1', lines: 92 });
  });

  it('keeps every file within its lines', () => {
    const tooLong = written.filter((file) => file.lines.length > FILE_LINES_MAX + 1);
    expect(tooLong.map((file) => `${file.path}: ${file.lines.length} lines`)).toEqual([]);
  });

  it('keeps every line readable', () => {
    const tooLong = everything.flatMap((file) =>
      file.lines
        .map((line, index) => ({ at: `${file.path}:${index + 1}`, length: line.length }))
        .filter(({ length }) => length > LINE_CHARS_MAX),
    );
    expect(tooLong).toEqual([]);
  });

  it('keeps every room within its lines', () => {
    const counts = new Map<string, number>();
    for (const { path, lines } of written) {
      const [, room = ''] = path.split('/');
      counts.set(room, (counts.get(room) ?? 0) + lines.length - 1);
    }
    const tooLarge = [...counts].filter(([room, lines]) => lines > (ROOM_LINES[room] ?? 0));
    expect(tooLarge).toEqual([]);
  });

  it('spreads no literal into a literal', () => {
    const found = sources.filter(({ text }) => SPREAD_LITERAL.test(text));
    expect(found.map(({ path }) => path)).toEqual([]);
  });

  it('keeps every folder small enough to be read at a glance', () => {
    const counts = new Map<string, number>();
    for (const { path } of sources) counts.set(dirname(path), (counts.get(dirname(path)) ?? 0) + 1);
    expect([...counts].filter(([, count]) => count > FOLDER_FILES_MAX)).toEqual([]);
  });

  it('asserts types only at parsed boundaries, and rarely', () => {
    const assertions = sources.flatMap((file) =>
      file.lines
        .map((line, index) => ({ at: `${file.path}:${index + 1}`, line }))
        .filter(({ line }) => !/^\s*(?:\/?\*|\/\/|import|export \{)/.test(line))
        .filter(({ line }) =>
          /[\w)\]}>] as (?!const\b)[\w{[(]/.test(line.replace(/'[^']*'/g, "''")),
        )
        .filter(({ line }) => !/`[^`]* as [^`]*`/.test(line))
        .map(({ at }) => at),
    );
    expect(assertions.length, assertions.join('\n')).toBeLessThanOrEqual(ASSERTIONS_MAX);
  });

  it('has no marks of unfinished work', () => {
    const marks = new RegExp(`\\b(${['TO' + 'DO', 'FIX' + 'ME', 'XX' + 'X'].join('|')})\\b`);
    const found = everything.flatMap((file) =>
      file.lines.flatMap((line, index) => (marks.test(line) ? [`${file.path}:${index + 1}`] : [])),
    );
    expect(found).toEqual([]);
  });

  it('never opens a database file behind the back of SQLite', () => {
    // Closing any descriptor of such a file drops the locks SQLite holds on it (POSIX fcntl).
    const reads = /\b(?:readFile|readFileSync|open|openSync|createReadStream|copyFile\w*)\(/;
    const found = sources.flatMap((file) =>
      file.lines.flatMap((line, index) =>
        reads.test(line) && /(?:database|dbPath|mirrorPath|exchangePath|-wal|-shm)/i.test(line)
          ? [`${file.path}:${index + 1}`]
          : [],
      ),
    );
    expect(found).toEqual([]);
  });

  it.each([
    ['src', 1_000],
    ['test', 1_000],
    ['bench', 50],
    ['scripts', 20],
  ])('opens at most 3 of 100 comments in %s with a clause or a pronoun', (folder, least) => {
    const files = everything.filter(({ path }) => path.startsWith(`${folder}/`));
    const comments = files.flatMap(openingsOf);
    const bad = comments.filter(({ text }) => BAD_OPENING.test(text));
    expect(comments.length).toBeGreaterThan(least);
    expect(bad.map(({ at }) => at).slice(Math.ceil(comments.length * 0.03))).toEqual([]);
  });

  it('has each comment in front of what it is about, and not of another comment', () => {
    const found = everything.flatMap(({ path, lines }) =>
      lines.flatMap((line, index) =>
        /^\s*(?:\/?\*.*)?\*\/$/.test(line) && lines[index + 1]?.trim().startsWith('/**')
          ? [`${path}:${index + 1}`]
          : [],
      ),
    );
    expect(found).toEqual([]);
  });

  it('keeps retired words out of names, comments and messages', () => {
    const written = [...sources, ...filesBelow('config', ['.yaml', '.sql'])];
    const found = written.flatMap((file) =>
      file.lines.flatMap((line, index) =>
        RETIRED.test(line) ? [`${file.path}:${index + 1}: ${line.trim()}`] : [],
      ),
    );
    expect(found).toEqual([]);
  });

  it('starts first only test files that there are', () => {
    expect(SLOWEST.filter((file) => !existsSync(join(repositoryRoot, file)))).toEqual([]);
  });

  it('sets timers in lib/clock.ts only', () => {
    const timers = /\b(?:setTimeout|setInterval)\(|\bDate\.now\(\)|\bnew Date\(\)|\bMath\.random\(/;
    const found = sources.flatMap((file) =>
      file.path === 'src/lib/clock.ts'
        ? []
        : file.lines.flatMap((line, index) =>
            timers.test(line) ? [`${file.path}:${index + 1}`] : [],
          ),
    );
    expect(found).toEqual([]);
  });
});
