import type { CliHouse } from '../../cli/house.ts';
import type { Examples } from '../examples.ts';

/** Kind of push that no other example needs. */
const STYLES = { target: 'pushes', name: 'style' };

async function areStylesPaused({ daemon }: CliHouse): Promise<boolean> {
  const rows = daemon.store.db.selectFrom('pause').select('at').where('name', '=', STYLES.name);
  return (await rows.executeTakeFirst()) !== undefined;
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
  'notify.test': { given: async () => ({}) },
  'plane.begin-feed': { given: async () => ({}) },
  'plane.end-feed': { given: async () => ({}) },
};
