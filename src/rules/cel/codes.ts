/** Checks country and currency codes of the ISO standards, by the tables in Node. */
import { nearestName } from '../../lib/nearest.ts';

const CURRENCIES: ReadonlySet<string> = new Set(Intl.supportedValuesOf('currency'));

/** Codes that have a name in Node's tables but are no countries, such as the EU. */
const NO_COUNTRIES: ReadonlySet<string> = new Set(['EU', 'EZ', 'QO', 'UN', 'XA', 'XB', 'ZZ']);

const NAMES = new Intl.DisplayNames('en', { type: 'region', fallback: 'none' });

/** Says why a code of the right form is unknown; undefined if it is known. */
export function unknownCode(kind: 'country' | 'currency', code: string): string | undefined {
  if (kind === 'currency') {
    if (CURRENCIES.has(code)) return undefined;
    const nearest = nearestName(code, CURRENCIES);
    return nearest === undefined ? 'no currency has this code' : `did you mean: ${nearest}?`;
  }
  // An outdated or colloquial code has another code as its canonical form: UK is GB.
  const canonical = new Intl.Locale('und', { region: code }).region;
  const proper = Intl.getCanonicalLocales(`und-${code}`)[0]?.slice('und-'.length);
  if (proper !== undefined && proper !== code) return `did you mean: ${proper}?`;
  const isKnown = canonical !== undefined && NAMES.of(canonical) !== undefined;
  return isKnown && !NO_COUNTRIES.has(code) ? undefined : 'no country has this code';
}
