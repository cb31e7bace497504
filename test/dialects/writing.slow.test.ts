import { describe } from 'vitest';
import { WRITING } from './accounts.ts';
import { walkEach } from './matrix.ts';

describe('an account that writes otherwise is walked end to end', () => {
  walkEach(Object.entries(WRITING));
});
