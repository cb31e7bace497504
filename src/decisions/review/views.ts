/**
 * Saved views: filters and orders of the review list with a name, which all of the house see as
 * tabs. One of them can be the default, which the list shows to somebody who asks for nothing else.
 */
import { z } from 'zod';
import type { Clock } from '../../lib/clock.ts';
import { RefusedError } from '../../lib/errors.ts';
import { type Actor, writeAudit } from '../../store/audit.ts';
import type { Db, Store, Tx } from '../../store/store.ts';
import { invalid, readGiven } from '../../surface/given.ts';
import { flag, text, time } from '../../surface/members.ts';
import { LIST_SHOWN, listFilter } from './filter.ts';
import { SORTS } from './listing.ts';

/** Members of a view; its filter and order are the parameters of an address. */
export const SAVED_VIEW = {
  name: text('Name'),
  filter: text('Filter'),
  default: flag('Default', { about: 'The list shows it at first' }),
  author: text('By'),
  at: time('Since'),
};
const savedView = z.strictObject(SAVED_VIEW);
export type SavedView = z.output<typeof savedView>;

interface ViewToSave {
  readonly name: string;
  readonly filter: string;
  readonly default: boolean;
  readonly replace: boolean;
}

/** Most views of a house: more tabs find nothing. */
const VIEWS_MAX = 30;

const viewQuery = z.strictObject({
  ...listFilter,
  sort: z.enum(SORTS).optional(),
  descending: z.enum(['', '0', '1']).optional(),
});

/** Parameters that say where in the list somebody is, and not what it shows. */
const PLACE = new Set(['open', 'after', 'back', 'limit', 'locale']);

/**
 * Filter and order of a list in their one spelling, by which views are compared.
 * @throws UsageError `request.invalid`
 */
export function viewFilter(parameters: string | URLSearchParams, now: number): string {
  const stated = [...new URLSearchParams(parameters)].filter(
    ([name, value]) => value !== '' && !PLACE.has(name),
  );
  readGiven(viewQuery, Object.fromEntries(stated), now);
  const rest = Object.entries<string>({ shown: LIST_SHOWN, ...Object.fromEntries(stated) });
  const told = rest.filter(([name, value]) => !(name === 'descending' && value === '0'));
  return new URLSearchParams(told.sort(([a], [b]) => (a < b ? -1 : 1))).toString();
}

/** The views, by their names; who may not see names of customers gets none that searches them. */
export async function savedViews(
  db: Db | Tx,
  { seesAddresses }: { readonly seesAddresses: boolean },
): Promise<readonly SavedView[]> {
  const rows = await db.selectFrom('saved_view').selectAll().orderBy('name').execute();
  const views = rows.map(({ is_default: is, ...row }) => ({ ...row, default: is === 1 }));
  return seesAddresses ? views : views.filter((view) => !isSearch(view));
}

/** Whether a view searches by a word, which may be the name of a customer, as its own may be. */
function isSearch({ filter }: Pick<SavedView, 'filter'>): boolean {
  return new URLSearchParams(filter).has('q');
}

function viewNamed(views: readonly SavedView[], name: string): SavedView {
  const found = views.find((one) => one.name === name);
  if (found) return found;
  const known = views.flatMap((one) => (isSearch(one) ? [] : [one.name])).join(', ');
  const hint = known === '' ? 'none is saved yet' : `the views are ${known}`;
  throw new RefusedError('views.unknown', `there is no view ${name}`, { hint });
}

function requireFree(views: readonly SavedView[], name: string, hint: string): void {
  if (!views.some((one) => one.name === name)) return;
  throw new RefusedError('views.exists', `there is a view ${name} already`, { hint });
}

const EVERYBODY = { seesAddresses: true };

function toSave(views: readonly SavedView[], view: ViewToSave, now: number) {
  if (!view.replace) requireFree(views, view.name, 'choose another name, or replace it');
  if (views.length >= VIEWS_MAX && !views.some(({ name }) => name === view.name)) {
    throw invalid(`name: there are ${VIEWS_MAX} views already`, 'delete one that nobody needs');
  }
  return viewFilter(view.filter, now);
}

export interface ViewOperations {
  /** Words about what saving would do; throws what it would throw. */
  previewSave(view: ViewToSave): Promise<string>;
  save(view: ViewToSave, actor: Actor): Promise<{ readonly filter: string }>;
  previewRename(name: string, to: string): Promise<string>;
  rename(name: string, to: string, actor: Actor): Promise<void>;
  previewDelete(name: string): Promise<string>;
  delete(name: string, actor: Actor): Promise<void>;
}

export function createViewOperations(store: Store, clock: Clock): ViewOperations {
  const { db } = store;
  /** Changes the views, and writes that into the audit without what somebody searches for. */
  const change = <T>(
    [action, name]: readonly [string, string],
    { actor, via }: Actor,
    work: (tx: Tx, views: readonly SavedView[]) => Promise<T>,
  ): Promise<T> =>
    store.transaction(async (tx) => {
      const done = await work(tx, await savedViews(tx, EVERYBODY));
      // The name may be a customer's: readers who may not see such get no detail. Like every row
      // of the audit it stays for ever.
      const act = { action: `view.${action}`, subject: 'view', detail: { name } };
      await writeAudit(tx, { actor, reason: '', via, ...act }, clock.now());
      return done;
    });
  return {
    async previewSave(view) {
      const filter = toSave(await savedViews(db, EVERYBODY), view, clock.now());
      return `the view ${view.name} would show ${filter}${view.default ? ', by default' : ''}`;
    },
    save: (view, actor) =>
      change(['save', view.name], actor, async (tx, views) => {
        const at = clock.now();
        const filter = toSave(views, view, at);
        if (view.default) await tx.updateTable('saved_view').set({ is_default: 0 }).execute();
        const row = { filter, is_default: view.default ? 1 : 0, author: actor.actor, at };
        await tx
          .insertInto('saved_view')
          .values({ name: view.name, ...row })
          .onConflict((conflict) => conflict.column('name').doUpdateSet(row))
          .execute();
        return { filter };
      }),
    async previewRename(name, to) {
      const views = await savedViews(db, EVERYBODY);
      viewNamed(views, name);
      requireFree(views, to, 'choose another name');
      return `the view ${name} would be called ${to}`;
    },
    rename: (name, to, actor) =>
      change(['rename', name], actor, async (tx, views) => {
        viewNamed(views, name);
        requireFree(views, to, 'choose another name');
        await tx.updateTable('saved_view').set({ name: to }).where('name', '=', name).execute();
      }),
    async previewDelete(name) {
      const view = viewNamed(await savedViews(db, EVERYBODY), name);
      return `the view ${name} would be gone${isSearch(view) ? '' : `; it shows ${view.filter}`}`;
    },
    delete: (name, actor) =>
      change(['delete', name], actor, async (tx, views) => {
        viewNamed(views, name);
        await tx.deleteFrom('saved_view').where('name', '=', name).execute();
      }),
  };
}
