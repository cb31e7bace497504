import type { PlaneContent } from '../../src/plane/tables.ts';

/** What the planes of tests hold: everything, unless they say otherwise. */
export const ALL_CONTENT: readonly PlaneContent[] = [
  'mirror',
  'changes',
  'ledgers',
  'bodies',
  'addresses',
];

export const SCHEMA = 'selvedge';
