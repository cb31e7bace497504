import fc from 'fast-check';
import { it } from 'vitest';
import { anyOld, anyStyle, meansTheSame } from './old-names.ts';

it('an old configuration means the same under its present names, whatever stands in it', () => {
  fc.assert(fc.property(anyOld, anyStyle, meansTheSame), { numRuns: 150, endOnFailure: true });
});
