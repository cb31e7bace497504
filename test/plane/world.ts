import type { PlaneContent } from '../../src/plane/tables.ts';

/** Content of the tests' planes: everything, unless they say otherwise. */
export const ALL_CONTENT: readonly PlaneContent[] = [
  'mirror',
  'changes',
  'ledgers',
  'bodies',
  'addresses',
];

export const SCHEMA = 'selvedge';
