/** Checks country and currency codes of the ISO standards, by tables of Node and of this file. */
import { nearestName } from '../../lib/nearest.ts';

/** Currencies of ISO 4217 that one can pay with; Node's table has also what ended, and metals. */
const CURRENCIES: ReadonlySet<string> = new Set(
  (
    'AED AFN ALL AMD AOA ARS AUD AWG AZN BAM BBD BDT BHD BIF BMD BND BOB BRL BSD BTN BWP BYN BZD ' +
    'CAD CDF CHF CLP CNY COP CRC CUP CVE CZK DJF DKK DOP DZD EGP ERN ETB EUR FJD FKP GBP GEL GHS ' +
    'GIP GMD GNF GTQ GYD HKD HNL HTG HUF IDR ILS INR IQD IRR ISK JMD JOD JPY KES KGS KHR KMF KPW ' +
    'KRW KWD KYD KZT LAK LBP LKR LRD LSL LYD MAD MDL MGA MKD MMK MNT MOP MRU MUR MVR MWK MXN MYR ' +
    'MZN NAD NGN NIO NOK NPR NZD OMR PAB PEN PGK PHP PKR PLN PYG QAR RON RSD RUB RWF SAR SBD SCR ' +
    'SDG SEK SGD SHP SLE SOS SRD SSP STN SVC SYP SZL THB TJS TMT TND TOP TRY TTD TWD TZS UAH UGX ' +
    'USD UYU UZS VES VND VUV WST XAF XCD XCG XOF XPF YER ZAR ZMW ZWG'
  ).split(' '),
);

/** Ended currencies: the day from which another one takes their place. */
const ENDED: Readonly<Record<string, readonly [from: string, successor: string]>> = {
  ...Object.fromEntries(
    'ATS BEF DEM ESP FIM FRF GRD IEP ITL LUF NLG PTE'
      .split(' ')
      .map((code) => [code, ['2002-01-01', 'EUR']] as const),
  ),
  SIT: ['2007-01-01', 'EUR'],
  CYP: ['2008-01-01', 'EUR'],
  MTL: ['2008-01-01', 'EUR'],
  SKK: ['2009-01-01', 'EUR'],
  EEK: ['2011-01-01', 'EUR'],
  LVL: ['2014-01-01', 'EUR'],
  LTL: ['2015-01-01', 'EUR'],
  HRK: ['2023-01-01', 'EUR'],
  BGN: ['2026-01-01', 'EUR'],
  ANG: ['2025-03-31', 'XCG'],
  TRL: ['2005-01-01', 'TRY'],
  ROL: ['2005-07-01', 'RON'],
  GHC: ['2007-07-01', 'GHS'],
  ZMK: ['2013-01-01', 'ZMW'],
  BYR: ['2016-07-01', 'BYN'],
  MRO: ['2018-01-01', 'MRU'],
  STD: ['2018-01-01', 'STN'],
  VEF: ['2018-08-20', 'VES'],
  CUC: ['2021-01-01', 'CUP'],
  SLL: ['2022-07-01', 'SLE'],
  ZWL: ['2024-04-08', 'ZWG'],
};

/** Codes of Node's table: also of what ended long ago, and of funds. */
const EVER: ReadonlySet<string> = new Set(Intl.supportedValuesOf('currency'));

/** Codes that have a name in Node's tables but are no countries, such as the EU. */
const NO_COUNTRIES: ReadonlySet<string> = new Set(['EU', 'EZ', 'QO', 'UN', 'XA', 'XB', 'ZZ']);

/** Prefixes of tax numbers, which are no codes of countries. */
const TAX_PREFIXES: Readonly<Record<string, string>> = {
  EL: 'Greece is GR; EL is for tax numbers only',
  XI: 'Northern Ireland is GB; XI is for tax numbers only',
};

const NAMES = new Intl.DisplayNames('en', { type: 'region', fallback: 'none' });

function unknownCurrency(code: string): string | undefined {
  if (CURRENCIES.has(code)) return undefined;
  const ended = ENDED[code];
  if (ended) return `it ended: since ${ended[0]} it is ${ended[1]}`;
  // The standard gives X to what belongs to no country: metals, units of account, tests.
  if (EVER.has(code) || code.startsWith('X'))
    return 'nobody pays with it: it ended, or is a metal, a fund or a test';
  const nearest = nearestName(code, CURRENCIES);
  return nearest === undefined ? 'no currency has this code' : `did you mean: ${nearest}?`;
}

/** Says why a code of the right form is unknown; undefined if it is known. */
export function unknownCode(kind: 'country' | 'currency', code: string): string | undefined {
  if (kind === 'currency') return unknownCurrency(code);
  const prefix = TAX_PREFIXES[code];
  if (prefix !== undefined) return prefix;
  // An outdated or colloquial code has another code as its canonical form: UK is GB.
  const canonical = new Intl.Locale('und', { region: code }).region;
  const proper = Intl.getCanonicalLocales(`und-${code}`)[0]?.slice('und-'.length);
  if (proper !== undefined && proper !== code) return `did you mean: ${proper}?`;
  const isKnown = canonical !== undefined && NAMES.of(canonical) !== undefined;
  return isKnown && !NO_COUNTRIES.has(code) ? undefined : 'no country has this code';
}
