import { openIncident } from '../../../src/store/incidents.ts';
import type { CliHouse } from '../../cli/house.ts';
import type { Examples } from '../examples.ts';

/** Kind of push that no other example needs. */
const STYLES = { target: 'pushes', name: 'style' };

async function areStylesPaused({ daemon }: CliHouse): Promise<boolean> {
  const rows = daemon.store.db.selectFrom('pause').select('at').where('name', '=', STYLES.name);
  return (await rows.executeTakeFirst()) !== undefined;
}

/** An incident that a person may end, told anew once it has ended. */
async function anIncident({ daemon }: CliHouse): Promise<number> {
  const { db } = daemon.store;
  const grew = { kind: 'file_grew', entity: 'file', key: 'day.csv', detail: {} };
  await openIncident(db, grew, Date.now());
  const row = db.selectFrom('incident').select('id').where('kind', '=', grew.kind);
  return (await row.where('resolved_at', 'is', null).executeTakeFirstOrThrow()).id;
}

export const opsExamples: Examples = {
  pause: {
    async given(house) {
      const resume = ['resume', STYLES.target, STYLES.name, '--reason', 'for the next door'];
      if (await areStylesPaused(house)) await house.call(...resume);
      return STYLES;
    },
    nothing: { given: { ...STYLES, name: 'stile' }, code: 'pause.unknown' },
    again: 'pause.paused',
  },
  resume: {
    async given(house) {
      const pause = ['pause', STYLES.target, STYLES.name, '--reason', 'for the next door'];
      if (!(await areStylesPaused(house))) await house.call(...pause);
      return STYLES;
    },
    nothing: { given: { ...STYLES, name: 'stile' }, code: 'pause.unknown' },
    again: 'pause.not_paused',
  },
  'incidents.acknowledge': {
    given: async (house) => ({ incident: await anIncident(house) }),
    nothing: { given: { incident: 999_999 }, code: 'incidents.unknown' },
  },
  'incidents.resolve': {
    given: async (house) => ({ incident: await anIncident(house) }),
    nothing: { given: { incident: 999_999 }, code: 'incidents.unknown' },
    again: 'incidents.ended',
  },
  'notify.test': { given: async () => ({}) },
  'plane.begin-feed': { given: async () => ({}) },
  'plane.end-feed': { given: async () => ({}) },
};
