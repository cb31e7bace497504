import { describe } from 'vitest';
import { MEANING } from './accounts.ts';
import { walkEach } from './matrix.ts';

describe('an account that means otherwise is walked end to end', () => {
  walkEach(Object.entries(MEANING));
});
