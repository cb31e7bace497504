/** What the rules of a set depend on: by this is known which changes make which decisions old. */
import type { RuleSet } from '../../rules/rule.ts';
import { factPaths } from '../../rules/text/timing.ts';

const ALL_PATHS = factPaths();

/** What an order that names no currency takes from the variants of its lines. */
const BY_CURRENCY = ['delivery.currency', 'order.currency', 'delivery.amount', 'order.amount'];

/** Facts that a change of a mirrored row can move, by the entity's name in the change feed. */
const MOVED_BY = {
  stock_variant: [
    ...BY_CURRENCY,
    'delivery.lines.stock_free',
    'delivery.lines.missing',
    'delivery.lines.list_price',
    'delivery.lines.list_price_diff_pct',
    'delivery.lines.net_price',
    'delivery.lines.discount',
    'delivery.lines.style_no',
    'delivery.lines.brand',
    'delivery.lines.season',
    'delivery.lines.style_active',
    'delivery.lines.noos',
    'delivery.lines.color_active',
  ],
  season_variant: [
    ...BY_CURRENCY,
    'delivery.lines.list_price',
    'delivery.lines.list_price_diff_pct',
    'delivery.lines.net_price',
    'delivery.lines.discount',
    'delivery.lines.style_no',
    'delivery.lines.brand',
    'delivery.lines.style_active',
    'delivery.lines.noos',
    'delivery.lines.color_active',
  ],
  style: ['delivery.lines.style_active', 'delivery.lines.noos', 'delivery.lines.color_active'],
  style_color: ['delivery.lines.noos', 'delivery.lines.color_active'],
  color: ['delivery.lines.noos', 'delivery.lines.color_active'],
  season: ['season.listed', 'season.delivery_names'],
  erp_customer: ALL_PATHS.filter((path) => path.startsWith('customer.')),
} as const;

/** Facts that other deliveries move. */
const BY_SIBLINGS = ['order.other_pending', 'order.rejected_before', 'order.accepted_before'];
const BY_PIECES = ['delivery.lines.stock_free', 'delivery.lines.missing'];
const BY_CREDIT = ['customer.credit.reserved', 'customer.credit.headroom'];

/** Facts that move by themselves, little by little. */
const BY_TIME = ['delivery.age', 'order.age', 'customer.credit.age', 'clock.now'];
/** Facts that the calendar of the business moves. */
const BY_CALENDAR = ['clock.business_hours', 'clock.weekday'];

/** Whatever rules read of them: an accepted delivery is asked about again when they change. */
const OF_ACCEPTED = ['delivery', 'sales_order'] as const;

export type WatchedEntity = keyof typeof MOVED_BY | (typeof OF_ACCEPTED)[number];

export interface Reads {
  readonly entities: ReadonlySet<WatchedEntity>;
  /** Other deliveries matter by their order, their barcodes, their customer. */
  readonly siblings: boolean;
  readonly pieces: boolean;
  readonly credit: boolean;
  readonly time: boolean;
  readonly calendar: boolean;
  /** Rules ask about accepted deliveries as well. */
  readonly accepted: boolean;
}

function isEntity(name: string): name is keyof typeof MOVED_BY {
  return Object.hasOwn(MOVED_BY, name);
}

/** Lists of which most rows may change at once. */
const LISTS = ['stock_variant', 'season_variant', 'style', 'style_color', 'color'] as const;
export type PulledList = (typeof LISTS)[number];

/** Of the lists, those that rules read which act. */
export function listsRead({ rules }: RuleSet): readonly PulledList[] {
  const paths = new Set(rules.flatMap(({ mode, reads }) => (mode === 'live' ? reads : [])));
  return LISTS.filter((entity) => MOVED_BY[entity].some((path) => paths.has(path)));
}

/** Paths that decide, and those whose change ends a hold, with everything below them. */
function pathsOf({ rules }: RuleSet): ReadonlySet<string> {
  const paths = new Set<string>();
  for (const rule of rules) {
    if (rule.mode === 'off') continue;
    for (const path of rule.reads) paths.add(path);
    const until = rule.hold?.until;
    if (until?.kind !== 'changes') continue;
    for (const path of ALL_PATHS) {
      // An age changes all the time; who waits for a record to change does not mean that.
      const below = path.startsWith(`${until.path}.`) && !BY_TIME.includes(path);
      if (path === until.path || below) paths.add(path);
    }
  }
  return paths;
}

export function readsOf(ruleSet: RuleSet): Reads {
  const paths = pathsOf(ruleSet);
  const reads = (moved: readonly string[]): boolean => moved.some((path) => paths.has(path));
  const entities = Object.entries(MOVED_BY).flatMap(([entity, moved]) =>
    isEntity(entity) && reads(moved) ? [entity] : [],
  );
  const accepted = ruleSet.rules.some(
    ({ mode, appliesTo }) => mode !== 'off' && appliesTo.includes('accepted'),
  );
  return {
    entities: new Set([...entities, ...(accepted ? OF_ACCEPTED : [])]),
    siblings: reads(BY_SIBLINGS),
    pieces: reads(BY_PIECES),
    credit: reads(BY_CREDIT),
    time: reads(BY_TIME),
    calendar: reads(BY_CALENDAR),
    accepted,
  };
}
