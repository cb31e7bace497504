/**
 * The stream `seasons`: the seasons of the service, requested at once, or by brand where the
 * account wants that. A season may be listed once per brand; the mirror merges its entries, with
 * the delivery names of all.
 */
import type { CallOptions } from '../../client/calls.ts';
import { isNotFound } from '../../client/http/answer.ts';
import type { Listing } from '../../client/v1/calls.ts';
import { seasonNameOf } from '../../client/v1/catalog.ts';
import type { V1Client } from '../../client/v1/client.ts';
import type { Season } from '../../client/v1/short-lists.ts';
import { SEASON } from '../../mirror/catalog/names.ts';
import type { Traits } from '../account-traits.ts';
import type { PartCount } from '../stream.ts';
import { readBrands, wholeOrByBrand } from './by-brand.ts';
import { withoutNameless } from './short-list.ts';

interface SeasonListing extends Listing<Season> {
  /** Arguments against knowing every season, as messages. */
  readonly doubts: readonly string[];
  /** The service's counts of seasons per brand, if they were read by brand. */
  readonly counts?: readonly PartCount[];
  /** Brands that list each season, by its name, if the seasons were read by brand. */
  readonly brandsOf?: ReadonlyMap<string, readonly string[]>;
}

interface SeasonDeps {
  readonly v1: Pick<V1Client, 'shortList'>;
  readonly traits: Traits | undefined;
}

/** Names under which the whole list of seasons is counted; no season is called `/`. */
const ALL_SEASONS = { part: '/', what: 'the list of seasons', unit: 'seasons' };

function countOf({ rows, rejects, count }: Listing<Season>, brandName?: string): PartCount {
  const counted = { first: count, last: count, came: rows.length + rejects.length };
  if (brandName === undefined) return { ...ALL_SEASONS, ...counted };
  const unit = `seasons of ${brandName}`;
  return { part: `/${brandName}`, what: `the list of ${unit}`, unit, ...counted };
}

/** The service's counts of the seasons: of the whole list, or per brand. */
export function countsOfSeasons({ counts, ...listing }: SeasonListing): readonly PartCount[] {
  return counts ?? [countOf(listing)];
}

async function byBrand({ v1 }: SeasonDeps, call: CallOptions | undefined): Promise<SeasonListing> {
  const brands = await readBrands(v1, call);
  const brandsOf = new Map<string, string[]>();
  const counts: PartCount[] = [];
  const listings: Listing<Season>[] = [];
  let unknown: unknown;
  for (const brandName of brands.names) {
    try {
      const listing = await v1.shortList('seasons', { ...call, brandName });
      listings.push(listing);
      counts.push(countOf(listing, brandName));
      for (const seasonName of namedSeasons(listing).names) {
        brandsOf.set(seasonName, [...(brandsOf.get(seasonName) ?? []), brandName]);
      }
    } catch (error) {
      // A brand without seasons may be unknown to this list.
      if (!isNotFound(error)) throw error;
      unknown = error;
    }
  }
  if (unknown !== undefined && listings.length === 0) throw unknown;
  return {
    rows: listings.flatMap(({ rows }) => rows),
    rejects: listings.flatMap(({ rejects }) => rejects),
    count: undefined,
    startedAt: Math.min(...listings.map(({ startedAt }) => startedAt)),
    doubts: brands.doubts,
    counts,
    brandsOf,
  };
}

export async function readSeasons(
  deps: SeasonDeps,
  call: CallOptions | undefined,
): Promise<SeasonListing> {
  const { v1, traits } = deps;
  return wholeOrByBrand<SeasonListing>(traits, 'seasons', {
    whole: async () => ({ ...(await v1.shortList('seasons', call)), doubts: [] }),
    byBrand: () => byBrand(deps, call),
    isEmpty: ({ rows, rejects }) => rows.length + rejects.length === 0,
    async tryOne() {
      const [brandName] = (await readBrands(v1, call)).names;
      if (brandName === undefined) return 0;
      return (await v1.shortList('seasons', { ...call, brandName })).rows.length;
    },
  });
}

/** Names of all seasons that have one; the stream `seasons` handles other oddities. */
export function namedSeasons({ rows, rejects }: Pick<Listing<Season>, 'rows' | 'rejects'>) {
  const named = withoutNameless({ rows, rejects }, SEASON.wireKey);
  const odd = named.map(({ raw }) => seasonNameOf(raw));
  const doubts = odd.includes(undefined) ? ['a season has no name that can be read'] : [];
  const readable = odd.filter((name) => name !== undefined);
  return {
    names: [...new Set([...rows.map(({ seasonName }) => seasonName), ...readable])],
    doubts,
  };
}
