/**
 * An SQL client as another program on the machine has one: a process of its own with Node's SQLite,
 * which is another build than the daemon's. Runs the statements of the arguments, or each line of
 * standard input, and prints rows as `a|b`. With `--serve` each line is a question instead (see
 * `answer`), answered in one line by a connection of its own.
 */
import { createInterface } from 'node:readline';
import { DatabaseSync } from 'node:sqlite';
import { parseArgs } from 'node:util';

const { values, positionals } = parseArgs({
  allowPositionals: true,
  options: {
    serve: { type: 'boolean', default: false },
    timeout: { type: 'string', default: '5000' },
  },
});

/** Prepares a text's first statement: SQLite's parser says which `;` completes it. */
function prepareFirst(database, text) {
  for (let end = text.indexOf(';'); ; end = text.indexOf(';', end + 1)) {
    const piece = end < 0 ? text : text.slice(0, end + 1);
    try {
      return { statement: database.prepare(piece), rest: end < 0 ? '' : text.slice(end + 1) };
    } catch (error) {
      if (end < 0 || !/incomplete input|unrecognized token/.test(error.message)) throw error;
    }
  }
}

/** Writes a value as SQLite does: a whole number of the type REAL keeps its `.0`. */
function asText(value) {
  if (value === null) return '';
  return Number.isInteger(value) ? `${value}.0` : String(value);
}

const withoutComments = (text) => text.replaceAll(/^\s*--.*$/gm, '').trim();

/** Runs all statements of a text; returns what their queries print. */
function run(database, text, { parameters = {}, asJson = false } = {}) {
  let printed = '';
  let left = text;
  while (withoutComments(left) !== '') {
    const { statement, rest } = prepareFirst(database, left);
    left = rest;
    statement.setAllowUnknownNamedParameters(true);
    if (statement.columns().length === 0) {
      statement.run(parameters);
    } else if (asJson) {
      printed += `${JSON.stringify(statement.all(parameters))}\n`;
    } else {
      statement.setReturnArrays(true);
      statement.setReadBigInts(true);
      for (const row of statement.all(parameters)) printed += `${row.map(asText).join('|')}\n`;
    }
  }
  return printed;
}

function open(path, readOnly) {
  return new DatabaseSync(path, { readOnly, timeout: Number(values.timeout) });
}

function answer({ path, sql, readOnly, ...how }) {
  try {
    const database = open(path, readOnly);
    try {
      return { printed: run(database, sql, how) };
    } finally {
      database.close();
    }
  } catch (error) {
    return { failed: error.message };
  }
}

const lines = createInterface({ input: process.stdin });
if (values.serve) {
  for await (const line of lines) {
    process.stdout.write(`${JSON.stringify(answer(JSON.parse(line)))}\n`);
  }
} else {
  const [path, ...statements] = positionals;
  try {
    const database = open(path, false);
    for (const text of statements) process.stdout.write(run(database, text));
    if (statements.length === 0) {
      for await (const line of lines) process.stdout.write(run(database, line));
    }
  } catch (error) {
    process.stderr.write(`${error.message}\n`);
    process.exitCode = 1;
  }
}
