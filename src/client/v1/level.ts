/**
 * Levels of the V1 interface. The readers tolerate what an older level leaves out; this table
 * says what that means, so that the operator is warned once instead of wondering.
 * Source: docs/wire.md, "V1 shapes".
 */

interface Feature {
  readonly name: string;
  readonly since: string;
  /** What the daemon does without it. */
  readonly consequence: string;
}

const FEATURES = {
  orderWithoutAddress: {
    name: 'orders without a shipping address',
    since: '1.2.55',
    consequence: 'every new order needs a shipping address, else the service refuses it',
  },
  orderWithoutFreight: {
    name: 'orders without freight',
    since: '1.3.3',
    consequence: 'every new order needs freight, else the service refuses it',
  },
  orderInAnswer: {
    name: 'the sales order in the answer to a new order',
    since: '1.4.4',
    consequence: 'a new order is read again before it counts as confirmed',
  },
  deliveriesInAnswer: {
    name: 'the deliveries in the answer to a new order',
    since: '1.4.12',
    consequence: 'deliveries of a new order are seen with its first read',
  },
} satisfies Record<string, Feature>;

function isBelow(level: string, since: string): boolean {
  const [own, other] = [level, since].map((text) => text.split('.').map(Number));
  for (const [index, part] of (other ?? []).entries()) {
    const difference = (own?.[index] ?? 0) - part;
    if (difference !== 0) return difference < 0;
  }
  return false;
}

/** What the level (`1.4.2`) does not have yet. */
export function missingAtLevel(level: string): readonly Feature[] {
  return Object.values(FEATURES).filter(({ since }) => isBelow(level, since));
}

export function isMissingAtLevel(level: string, feature: keyof typeof FEATURES): boolean {
  return isBelow(level, FEATURES[feature].since);
}
