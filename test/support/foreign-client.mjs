/**
 * An SQL client as another program on the machine has one: a process of its own with Node's SQLite,
 * which is another build than the daemon's. Reads statements from the arguments, one in each line
 * of standard input, or all of it as one text (`--whole`); prints rows as `a|b`, or as JSON with
 * `--json`.
 */
import { readFileSync } from 'node:fs';
import { createInterface } from 'node:readline';
import { DatabaseSync } from 'node:sqlite';
import { parseArgs } from 'node:util';

const { values, positionals } = parseArgs({
  allowPositionals: true,
  options: {
    json: { type: 'boolean', default: false },
    'read-only': { type: 'boolean', default: false },
    whole: { type: 'boolean', default: false },
    timeout: { type: 'string', default: '5000' },
    parameters: { type: 'string', default: '{}' },
  },
});
const [path, ...statements] = positionals;
const database = new DatabaseSync(path, {
  readOnly: values['read-only'],
  timeout: Number(values.timeout),
});
const parameters = JSON.parse(values.parameters);

/** Prepares a text's first statement: SQLite's parser says which `;` completes it. */
function prepareFirst(text) {
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

function run(text) {
  let left = text;
  while (withoutComments(left) !== '') {
    const { statement, rest } = prepareFirst(left);
    left = rest;
    const columns = statement.columns().map(({ name }) => name);
    statement.setAllowUnknownNamedParameters(true);
    if (columns.length === 0) {
      statement.run(parameters);
      continue;
    }
    if (values.json) {
      const rows = statement.all(parameters);
      process.stdout.write(`${JSON.stringify(rows)}\n`);
      continue;
    }
    statement.setReturnArrays(true);
    statement.setReadBigInts(true);
    const rows = statement.all(parameters);
    for (const row of rows) process.stdout.write(`${row.map(asText).join('|')}\n`);
  }
}

try {
  for (const text of statements) run(text);
  if (values.whole) run(readFileSync(0, 'utf8'));
  else if (statements.length === 0) {
    for await (const line of createInterface({ input: process.stdin })) run(line);
  }
} catch (error) {
  process.stderr.write(`${error.message}\n`);
  process.exitCode = 1;
}
