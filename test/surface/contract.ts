/**
 * The contract of every declared act: it is done, refused and previewed in the same way through the
 * page, by a token, at the local API and by a command. Acts come from the registry itself.
 * `acts.test.ts` holds the daemon's doors to it, and `commands.slow.test.ts` the command line.
 */
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { ACTS } from '../../src/console/surface/registry.ts';
import { previewSchema } from '../../src/surface/acts.ts';
import type { Given } from '../../src/surface/given.ts';
import { startCliHouse } from '../cli/house.ts';
import { HOLD_ALL, sharedEnd } from '../console/support.ts';
import { startTestReference, until, withStreams } from '../support/house.ts';
import { temporaryFolder } from '../support/store.ts';
import { type Door, type Doors, openDoors } from './doors.ts';
import { deliveryExamples } from './examples/deliveries.ts';
import { inboxExamples } from './examples/inbox.ts';
import { opsExamples } from './examples/ops.ts';
import { outboxExamples } from './examples/outbox.ts';
import { peopleExamples } from './examples/people.ts';
import { ruleExamples } from './examples/rules.ts';
import { syncExamples } from './examples/sync.ts';
import type { ContractHouse, Example, Examples } from './examples.ts';

const EXAMPLES: Examples = {
  ...deliveryExamples,
  ...syncExamples,
  ...outboxExamples,
  ...inboxExamples,
  ...ruleExamples,
  ...opsExamples,
  ...peopleExamples,
};

const shared = sharedEnd();
let house: ContractHouse;
let doors: Doors;

async function openHouse(): Promise<void> {
  const life = { ordersPerMinute: 0, packAfter: '0s', shipAfter: '1h', cancelShare: 0 };
  const knobs = { auth: { loginSpacing: 0 }, life };
  const reference = await startTestReference(knobs, undefined, shared.atEnd);
  const set = (path: string, value: unknown) => ({ path, value });
  const folder = temporaryFolder(shared.atEnd);
  const overrides = [
    ...withStreams('stock', 'brands'),
    set('console.enabled', true),
    set('console.port', 0),
    set('outbox.delayMin', '100ms'),
    set('service.limits.loginSpacing', '0s'),
  ];
  const parts = { folder, rules: HOLD_ALL, overrides };
  house = { ...(await startCliHouse(reference, parts, shared.atEnd)), reference };
  const link = await house.daemon.consoleLink('nobody', 'viewer');
  doors = await openDoors(house, new URL(link).origin);
  await until('the first brands', async () => {
    const state = house.daemon.store.db.selectFrom('stream_state').select('complete_at');
    return (
      (await state.where('stream', '=', 'brands').executeTakeFirst())?.complete_at ?? undefined
    );
  });
}

function exampleOf(name: string): Example {
  const example = EXAMPLES[name];
  if (!example) throw new Error(`${name} has no example in test/surface/examples`);
  return example;
}

/** State that the asker sees, as the door's own preview tells it. */
async function seenAt(door: Door, act: (typeof ACTS)[number], given: Given): Promise<Given> {
  if (Object.keys(act.seen.shape).length === 0 || door === 'command') return {};
  const { value } = await doors.ask(door, act, { given, dryRun: true });
  return previewSchema.parse(value).seen ?? {};
}

/** Another value of the same kind, which nobody can have seen. */
function other(value: unknown): unknown {
  return typeof value === 'number' ? value + 1_000 : `${String(value)}0`;
}

async function auditCount(): Promise<number> {
  // The doors sign in anew between the acts.
  const rows = await house.daemon.store.db
    .selectFrom('audit')
    .select('id')
    .where('action', 'not in', ['console.sign_in', 'console.token'])
    .execute();
  return rows.length;
}

/** Tests of every act at these doors, of one house. */
export function keepContract(through: readonly Door[]): void {
  beforeAll(openHouse);
  afterAll(() => shared.end());

  describe.each(ACTS.map((act) => [act.name, act] as const))('%s', (name, act) => {
    const reason = act.reason === 'none' ? {} : { reason: 'in the contract' };
    const open = (): readonly Door[] => through.filter((door) => !exampleOf(name).without?.[door]);

    it('tells what it would do at each door, writes nothing, and is then done', async () => {
      for (const door of open()) {
        const given = await exampleOf(name).given(house, door);
        const before = await auditCount();
        const told = await doors.ask(door, act, { given, dryRun: true });
        expect([door, told.code, previewSchema.parse(told.value).lines.length > 0]).toEqual([
          door,
          undefined,
          true,
        ]);
        expect(await auditCount()).toBe(before);
        const seen = await seenAt(door, act, given);
        const done = await doors.ask(door, act, { given: { ...given, ...seen }, ...reason });
        expect([door, done.code]).toEqual([door, undefined]);
        const { again } = exampleOf(name);
        const twice = await doors.ask(door, act, { given: { ...given, ...seen }, ...reason });
        expect([door, twice.code]).toEqual([door, again]);
      }
    });

    it('is refused with one code at each door: by role, member, thing and state', async () => {
      const { nothing, given: make } = exampleOf(name);
      for (const door of open()) {
        const given = await make(house, door);
        const ask = (asked: Given, role?: 'viewer') =>
          doors.ask(door, act, { given: asked, ...reason }, role);
        if (door === 'page' || door === 'token') {
          expect((await ask(given, 'viewer')).code, door).toBe('console.role');
        }
        const more = await ask({ ...given, nonsense: 'x' });
        expect(more.code, door).toBe(door === 'command' ? 'exit.2' : 'request.invalid');
        const seen = await seenAt(door, act, given);
        if (door !== 'command' && Object.keys(seen).length > 0) {
          expect((await ask(given)).code, door).toBe('request.invalid');
          const [member = '', value] = Object.entries(seen)[0] ?? [];
          const stale = await ask({ ...given, ...seen, [member]: other(value) });
          expect(stale.code, door).toMatch(/\.(?:changed|changed_meanwhile|stale|undo)$/);
        }
        if (nothing)
          expect((await ask({ ...nothing.given, ...seen })).code, door).toBe(nothing.code);
        if (act.reason === 'stated') {
          const silent = await doors.ask(door, act, { given: { ...given, ...seen } });
          expect(silent.code, door).toBe('request.invalid');
        }
      }
    });
  });
}
