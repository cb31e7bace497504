import { expect, it } from 'vitest';
import { z } from 'zod';
import { wireSchema } from '../../src/surface/forms.ts';
import { time } from '../../src/surface/members.ts';

it('describes what may be null or left out as its declaration does', () => {
  const description = 'Null: it has not ended';
  const row = z.strictObject({
    endedAt: time('Ended').nullable().meta({ description }),
    more: z.string().optional().meta({ description }),
  });
  const { properties } = z.toJSONSchema(z.object({ row: wireSchema(row) }));
  expect(properties?.row).toMatchObject({
    properties: { endedAt: { description }, more: { description } },
  });
});
