/** More lists that move while they are read page by page. */
import { it } from 'vitest';
import { expectNoLoss } from './busy-list.ts';

it.each([3, 4, 5])(
  'a moving list is complete, and loses no row that is there: seed %d',
  expectNoLoss,
);
