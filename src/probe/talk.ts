/** Reads below one interface, with the token and, where the account requires one, a brand. */
import type { PlainAnswer, ProbeClient } from '../client/probe-client.ts';
import type { Access, Hands } from './access.ts';
import { isGood, isRefused, messageIn, rowsOf, textOf, wantsBrand, wordsOf } from './answers.ts';
import type { Witness } from './findings.ts';

export type Query = Readonly<Record<string, string | number | boolean | undefined>>;

export interface Talk {
  readonly baseUrl: string;
  readonly witness: Witness;
  get(path: string, query?: Query): Promise<PlainAnswer>;
  /** Reads like `get`; where the service requires a brand, under each brand until one has rows. */
  getBranded(kind: BrandedRead, path: string, query?: Query): Promise<PlainAnswer>;
  /** Kinds of read that required a brand, each with the service's message. */
  readonly branded: ReadonlyMap<BrandedRead, string>;
  /** Sets the names of the brands, in the order in which they are tried. */
  know(brandNames: readonly string[]): void;
  brands(): readonly string[];
}

type BrandedRead = 'stock' | 'season' | 'seasons';

/** Maximum of brands that are tried until one has rows. */
const BRANDS_TRIED_MAX = 4;

const ROWS_OF: Readonly<Record<BrandedRead, string>> = {
  stock: 'variants',
  season: 'variants',
  seasons: 'seasons',
};

export function createTalk(
  asker: ProbeClient,
  access: Access,
  { witness }: Pick<Hands, 'witness'>,
): Talk {
  const branded = new Map<BrandedRead, string>();
  let brands: readonly string[] = [];
  const get: Talk['get'] = (path, query) =>
    asker.ask({ method: 'GET', url: access.baseUrl + path, query, headers: access.headers });
  return {
    baseUrl: access.baseUrl,
    witness,
    branded,
    get,
    know(names) {
      brands = names;
    },
    brands: () => brands,
    async getBranded(kind, path, query) {
      let refusal: PlainAnswer | undefined;
      if (!branded.has(kind)) {
        const answer = await get(path, query);
        // Some services refuse without saying that a brand is missing.
        const isMute = isRefused(answer) && messageIn(answer) === '';
        if (!wantsBrand(answer) && !isMute) return answer;
        refusal = answer;
      }
      let answer = refusal;
      for (const brandName of brands.slice(0, BRANDS_TRIED_MAX)) {
        answer = await get(path, { ...query, brandName });
        if (!isGood(answer) && refusal && !wantsBrand(refusal)) return refusal;
        if (refusal) branded.set(kind, `GET ${path} without brandName: ${wordsOf(refusal)}`);
        if (isGood(answer) && rowsOf(answer, ROWS_OF[kind])?.length !== 0) {
          // Later reads begin with the brand that has rows.
          brands = [brandName, ...brands.filter((one) => one !== brandName)];
          return answer;
        }
      }
      return answer ?? get(path, query);
    },
  };
}

/** Names of rows, without rows that have none. */
export function namesIn(
  rows: readonly Readonly<Record<string, unknown>>[],
  ...members: readonly string[]
): readonly string[] {
  return rows.flatMap((row) => {
    const [name] = members.map((member) => textOf(row[member])).filter((one) => one !== undefined);
    return name === undefined ? [] : [name];
  });
}
