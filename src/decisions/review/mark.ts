/** Mark of a set of deliveries, by which an act names the set that a person saw. */
import { z } from 'zod';

/** Maximum of deliveries in one bulk act; nobody looks at more. */
export const BULK_MAX = 500;
/** Maximum of rejects in one bulk act, because each reject is final. */
export const REJECTS_MAX = 20;

const expectedSet = z.strictObject({
  count: z.int().min(1),
  digest: z.string().max(64),
  /**
   * Latest decision that the person saw; with it a refusal can name the deliveries that came and
   * went.
   */
  asOf: z.int().min(0).optional(),
});
/** The set of deliveries that a person saw, by its count and digest. */
export type ExpectedSet = z.output<typeof expectedSet>;

const MARK = /^(\d{1,9})-([\da-f]{16})-(\d{1,15})$/;
const HOW = 'must be the mark of a list (the last line of "selvedge deliveries list --held")';

/** The set of deliveries as one word, which a person copies from the list to the act. */
export function markOf({ count, digest, asOf }: Required<ExpectedSet>): string {
  return `${count}-${digest}-${asOf}`;
}

/** Characters of a content's hash that tell one version of a delivery from another. */
const HASH_CHARS = 12;

interface Version {
  readonly orderDeliveryId: number;
  readonly decisionId: number | null;
  readonly contentHash: string;
}

/** A delivery as somebody saw it, in one word. */
export function versionOf({ orderDeliveryId, decisionId, contentHash }: Version): string {
  return [orderDeliveryId, decisionId ?? 0, contentHash.slice(0, HASH_CHARS)].join('-');
}

/** Schema of a set that was seen: its {@link markOf}, or its parts. */
export const expected = z
  .union([z.string().max(100), expectedSet], { error: HOW })
  .transform((given, context): ExpectedSet => {
    if (typeof given !== 'string') return given;
    const [, count, digest, asOf] = MARK.exec(given) ?? [];
    if (digest !== undefined) return { count: Number(count), digest, asOf: Number(asOf) };
    context.addIssue({ code: 'custom', message: HOW });
    return z.NEVER;
  });
