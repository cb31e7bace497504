import { createReview } from '../../../src/decisions/review/review.ts';
import { createViewOperations } from '../../../src/decisions/review/views.ts';
import { systemClock } from '../../../src/lib/clock.ts';
import { HOLD_ALL, heldIds, holdMore } from '../../console/support.ts';
import { loadedRules } from '../../decisions/support.ts';
import type { Door } from '../doors.ts';
import type { ContractHouse, Example, Examples } from '../examples.ts';

const taken = new Set<number>();

/** A held delivery that nobody else has. */
async function heldIn(house: ContractHouse): Promise<number> {
  const find = async () => (await heldIds(house.daemon)).find((id) => !taken.has(id));
  if ((await find()) === undefined) await holdMore(house, 12);
  const id = await find();
  if (id === undefined) throw new Error('nothing is held');
  taken.add(id);
  return id;
}

let viewsMade = 0;

function nextView(): string {
  viewsMade += 1;
  return `View ${viewsMade}`;
}

/** A saved view that nobody else has. */
async function viewIn({ daemon }: ContractHouse): Promise<string> {
  const views = createViewOperations(daemon.store, systemClock());
  const view = { name: nextView(), filter: 'shown=held', default: false, replace: false };
  await views.save(view, { actor: 'jutta', reason: '' });
  return view.name;
}

const ANEW = {
  command: 'it decides what it has just looked at: test/cli/deliveries and test/cli/url have it',
};

function deciding(more: object = {}): Example {
  return {
    given: async (house) => ({ delivery: `id:${await heldIn(house)}`, ...more }),
    nothing: { given: { delivery: '4711', ...more }, code: 'deliveries.unknown' },
    again: 'review.changed',
    without: ANEW,
  };
}

/** Who acts at each door, as the journal has it. */
const WHO: Readonly<Record<Door, string>> = {
  page: 'approver-page',
  token: 'token:bi',
  local: 'cli:tester',
  command: '',
};

export const deliveryExamples: Examples = {
  'deliveries.accept': deciding(),
  'deliveries.reject': {
    ...deciding({ confirmed: 'DN' }),
    async given(house) {
      const id = await heldIn(house);
      const row = await house.daemon.store.db
        .selectFrom('delivery')
        .select('delivery_no')
        .where('order_delivery_id', '=', id)
        .executeTakeFirstOrThrow();
      return { delivery: String(id), confirmed: row.delivery_no };
    },
  },
  'deliveries.hold': deciding(),
  'deliveries.release': deciding({ why: 'paid', toRules: false }),
  'deliveries.undo': {
    ...deciding(),
    async given(house, door) {
      const nothing = () => undefined;
      const review = createReview({
        ...{ store: house.daemon.store, clock: systemClock(), onPush: nothing },
        ...{ rules: () => loadedRules(HOLD_ALL), onReviewed: nothing },
      });
      const delivery = `id:${await heldIn(house)}`;
      await review.act({ action: 'hold', delivery, actor: WHO[door], reason: 'ask first' });
      return { delivery };
    },
    again: 'console.undo',
  },
  'deliveries.note': {
    given: async (house) => ({ delivery: `id:${await heldIn(house)}`, text: 'calls back' }),
    nothing: { given: { delivery: '4711', text: 'x' }, code: 'deliveries.unknown' },
  },
  'deliveries.assign': {
    given: async (house) => ({ delivery: `id:${await heldIn(house)}`, to: 'Jutta' }),
    nothing: { given: { delivery: '4711', to: 'me' }, code: 'deliveries.unknown' },
  },
  'deliveries.save-view': {
    given: async () => ({ name: nextView(), filter: 'country=DK&sort=value' }),
    nothing: { given: { name: 'x', filter: 'colour=red' }, code: 'request.invalid' },
    again: 'views.exists',
  },
  'deliveries.rename-view': {
    given: async (house) => ({ name: await viewIn(house), to: nextView() }),
    nothing: { given: { name: 'x', to: 'y' }, code: 'views.unknown' },
    again: 'views.unknown',
  },
  'deliveries.delete-view': {
    given: async (house) => ({ name: await viewIn(house) }),
    nothing: { given: { name: 'x' }, code: 'views.unknown' },
    again: 'views.unknown',
  },
};
