/**
 * The loop never looks at the past: each statement of a day's life is found by an index over what
 * is open or new, by the plans that SQLite makes for it.
 */
import Database from 'better-sqlite3';
import { expect, it } from 'vitest';
import { addCaseKey } from '../../src/store/connection.ts';
import { liveDay } from './day.ts';
import { noteStatements } from './noted.ts';
import { lookAtCommands, lookAtPages } from './pages.ts';
import { type Asked, EXCEPTIONS, schemaOf, textOf, walksOf } from './walks.ts';

const ASKS = /^\s*(?:select|with|insert|update|delete)\b/i;

/** Statements that walk the past, each with the steps of its plan that do. */
function walking(database: Database.Database, noted: Iterable<Asked>): readonly string[] {
  const schema = schemaOf(database);
  return [...noted].flatMap((asked) => {
    const walks = walksOf(database, schema, asked);
    return walks.length > 0 ? [`${walks.join('\n')}\n  in ${textOf(asked)}`] : [];
  });
}

it('the past is walked by no statement of a day', async () => {
  const noted = noteStatements('mirror.db');
  const house = await liveDay();
  expect(await lookAtPages(house)).toEqual([]);
  expect(await lookAtCommands(house)).toEqual([]);
  const database = new Database(house.daemon.store.path, { readonly: true });
  addCaseKey(database);
  const asked = [...noted.values()].filter(({ sql }) => ASKS.test(sql));
  // Fewer would mean that something of the day was not lived.
  expect(asked.length).toBeGreaterThan(500);
  expect(walking(database, asked)).toEqual([]);
  database.close();
  const needless = EXCEPTIONS.filter(({ of }) => !asked.some((one) => of.test(textOf(one))));
  expect(needless.map(({ why }) => why)).toEqual([]);
});
