/** Accounts: the shops that order, with address, currency and discount agreement. */
import { elementAt, numberAt } from './catalog/hash.ts';
import {
  COUNTRIES,
  type Currency,
  FIRST_NAMES,
  LAST_NAMES,
  SHOP_KINDS,
  SHOP_WORDS,
} from './catalog/words.ts';

export interface ShippingAddress {
  readonly address: string;
  readonly address2: string;
  readonly city: string;
  readonly company: string;
  readonly countryCode: string;
  readonly name: string;
  readonly phone: string;
  readonly email: string;
  readonly provinceCode: string;
  readonly zip: string;
  readonly accountNo: string;
}

export interface Account {
  readonly accountNo: string;
  readonly currency: Currency;
  /** Agreed discount on wholesale prices, percent. */
  readonly discountPercentage: number;
  readonly address: ShippingAddress;
}

const FIRST_ACCOUNT_NO = 20_001;
const DISCOUNTS = [0, 5, 7.5, 10, 12.5, 20] as const;

const SALT = { country: 300, city: 301, shop: 302, kind: 303, person: 304, street: 305, more: 306 };

export function accountAt(seed: number, index: number): Account {
  const draw = (salt: number): number => numberAt(seed, index, salt, 1_000_000);
  const country = elementAt(COUNTRIES, draw(SALT.country));
  const accountNo = String(FIRST_ACCOUNT_NO + index);
  const city = elementAt(country.cities, draw(SALT.city));
  const first = elementAt(FIRST_NAMES, draw(SALT.person));
  const last = elementAt(LAST_NAMES, Math.floor(draw(SALT.person) / 64));
  const word = elementAt(SHOP_WORDS, draw(SALT.shop));
  const more = draw(SALT.more);
  return {
    accountNo,
    currency: country.currency,
    discountPercentage: elementAt(DISCOUNTS, Math.floor(more / 7)),
    address: {
      address: `${elementAt(country.streets, draw(SALT.street))} ${1 + (more % 140)}`,
      address2: '',
      city,
      company: `${word} ${elementAt(SHOP_KINDS, draw(SALT.kind))}`,
      countryCode: country.code,
      name: `${first} ${last}`,
      phone: `${country.phone} ${20_000_000 + (more % 70_000_000)}`,
      email: `shop${accountNo}@buyers.example`,
      provinceCode: '',
      zip: String(10_000 + (more % 89_999)),
      accountNo,
    },
  };
}
