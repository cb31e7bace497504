/** Reasons for which a regularity is no proposal. */
import { plural } from '../lib/strings.ts';
import type { Evidence, RefusalCode } from '../surface/suggestion.ts';
import type { Ground } from './evidence.ts';
import type { Question } from './question.ts';

const ACTS_MIN = 10;
const DAYS_MIN = 5;
/** Share of the acts that one person may have; what remains is a second look at least. */
const ONE_PERSON_MAX = 0.9;
const ONE_CUSTOMER_MAX = 0.5;
/** Customers among which none may be said to be the one. */
const CUSTOMERS_MIN = 3;
/**
 * Probability of chance that all rules which are looked at share: a hundred houses in which nothing
 * is to be found get none.
 */
const CHANCE_MAX = 1e-4;
const DAYS_CHANCE_MAX = 1e-3;

export interface Looked {
  readonly question: Question;
  readonly checked: Evidence;
  readonly ground: Ground;
  /** The same of the later part alone. */
  readonly groundChecked: Ground;
  readonly errorMax: number;
  readonly chance: number;
  /** The same by whole days; undefined: the time is not asked. */
  readonly chanceOfDays?: number | undefined;
  /** Number of rules that were looked at on the later part. */
  readonly looked: number;
}

export interface Why {
  readonly code: RefusalCode;
  readonly why: string;
}

function percent(share: number): string {
  return `${(100 * share).toFixed(1)} %`;
}

function onPeople({ people, ofOnePerson }: Ground, part: string): Why | undefined {
  if (people >= 2 && ofOnePerson <= ONE_PERSON_MAX) return undefined;
  const all = people === 0 ? 'nobody here decided any' : 'one person decided all';
  const share = people < 2 ? `${all} of ${part}` : `one person decided ${percent(ofOnePerson)}`;
  const of = people < 2 ? '' : ` of ${part}`;
  return { code: 'one_person', why: `${share}${of}: a second one should decide some of it first` };
}

function onCustomers({ customers, ofOneCustomer }: Ground, part: string): Why | undefined {
  if (customers >= CUSTOMERS_MIN && ofOneCustomer <= ONE_CUSTOMER_MAX) return undefined;
  const share =
    ofOneCustomer > ONE_CUSTOMER_MAX
      ? `${percent(ofOneCustomer)} of ${part} is of one customer`
      : `${part} is about ${plural(customers, 'customer')} only`;
  return {
    code: 'one_customer',
    why: `${share}: a rule needs three, and none with more than half`,
  };
}

/** The first reason that speaks against a proposal; undefined: none does. */
export function refusalOf(of: Looked): Why | undefined {
  const { checked, ground, groundChecked, errorMax, question } = of;
  const { chance, chanceOfDays = 0, looked } = of;
  if (checked.acts < ACTS_MIN) {
    const why = `${plural(checked.acts, 'act')} in the later part; ${ACTS_MIN} are needed`;
    return { code: 'few_acts', why };
  }
  if (ground.days < DAYS_MIN) {
    return {
      code: 'few_days',
      why: `decided on ${plural(ground.days, 'day')}; ${DAYS_MIN} are needed`,
    };
  }
  const resting =
    onPeople(ground, 'it') ??
    onPeople(groundChecked, 'the later part') ??
    onCustomers(ground, 'it') ??
    onCustomers(groundChecked, 'the later part');
  if (resting) return resting;
  const { agreed, undecided } = checked;
  if (undecided.deliveries > agreed.deliveries) {
    const why = `people left ${undecided.deliveries} of them alone in the later part`;
    return { code: 'left_alone', why: `${why}, and decided ${agreed.deliveries} so` };
  }
  if (errorMax > question.errorAllowed) {
    const seen = `${checked.otherwise} of ${checked.acts} acts were otherwise in the later part`;
    const allowed = `${percent(question.errorAllowed)} is allowed`;
    const why = `${seen}: up to ${percent(errorMax)} may be wrong, ${allowed}`;
    return { code: 'unsure', why };
  }
  if (chance > CHANCE_MAX / Math.max(1, looked) || chanceOfDays > DAYS_CHANCE_MAX) {
    return { code: 'chance', why: 'people decide others alike: no fact tells these from them' };
  }
  return undefined;
}
