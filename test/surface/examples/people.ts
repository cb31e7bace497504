import { z } from 'zod';
import type { CliHouse } from '../../cli/house.ts';
import type { Examples } from '../examples.ts';

const NAME = 'in-the-contract';
const made = z.looseObject({ sessionId: z.int() });

async function newToken(house: CliHouse): Promise<number> {
  const { stdout } = await house.call('console', 'token', NAME, '--json');
  return made.parse(JSON.parse(stdout)).sessionId;
}

export const peopleExamples: Examples = {
  'console.end': {
    given: async (house) => ({ session: await newToken(house) }),
    nothing: { given: { session: 999_999 }, code: 'console.no_open_session' },
    again: 'console.no_open_session',
  },
  'console.revoke': {
    async given(house) {
      await newToken(house);
      return { name: NAME };
    },
    nothing: { given: { name: 'nobody-at-all' }, code: 'console.no_token' },
    again: 'console.no_token',
  },
};
