/** Seasons: spring/summer and autumn/winter in turn, the newest one open for pre-order. */

interface DeliveryWindow {
  readonly name: string;
  /** Calendar days of the window in UTC, `YYYY-MM-DD`. */
  readonly from: string;
  readonly to: string;
}

export interface Season {
  readonly name: string;
  readonly deliveries: readonly DeliveryWindow[];
}

/** The newest generated season; older ones precede it half a year apart. */
const NEWEST = { year: 2027, half: 0 };

const HALVES = [
  { letters: 'SS', months: ['01', '02', '03'] },
  { letters: 'AW', months: ['07', '08', '09'] },
] as const;

function seasonAt(halfYears: number): Season {
  const year = Math.floor(halfYears / 2);
  const half = HALVES[halfYears % 2] ?? HALVES[0];
  const name = `${half.letters}${String(year).slice(2)}`;
  return {
    name,
    deliveries: half.months.map((month, index) => ({
      name: `${name} Drop ${index + 1}`,
      from: `${year}-${month}-01`,
      to: `${year}-${month}-28`,
    })),
  };
}

/** Generates `count` seasons, oldest first. */
export function generateSeasons(count: number): Season[] {
  const newest = NEWEST.year * 2 + NEWEST.half;
  return Array.from({ length: count }, (_, index) => seasonAt(newest - count + 1 + index));
}
