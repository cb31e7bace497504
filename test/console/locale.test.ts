/** Pages write numbers and times as the reader's browser asks, and texts in English. */
import { afterAll, expect, it } from 'vitest';
import { message, money, time, whole } from '../../src/console/pages/format.ts';
import { html, renderHtml } from '../../src/lib/html.ts';
import { inLocale, localeOfReader, plural } from '../../src/lib/strings.ts';
import { caller, heldIds, sharedEnd, signIn, startConsole } from './support.ts';

const { atEnd, end } = sharedEnd();
afterAll(end);

const AT = Date.UTC(2026, 10, 29, 13, 5, 9);

function written(): readonly string[] {
  const moment = renderHtml(html`${time(AT, 'Europe/Copenhagen')}`).replaceAll(/<[^>]*>/g, '');
  const told = message('v1.25 DKK: 48430.00 NOK, over 10000.00 NOK, in 2026.00 pcs');
  return [whole(12_345), money(1_801.63, 'GBP'), plural(1_204, 'row'), moment, told];
}

it('numbers, amounts and times are written for the reader of each page at once', async () => {
  const british = ['12,345', '1,801.63 GBP', '1,204 rows', '29 Nov 2026, 14:05:09'];
  british.push('v1.25 DKK: 48,430.00 NOK, over 10,000.00 NOK, in 2026.00 pcs');
  const danish = ['12.345', '1.801,63 GBP', '1.204 rows', '29. nov. 2026, 14.05.09'];
  danish.push('v1.25 DKK: 48.430,00 NOK, over 10.000,00 NOK, in 2026.00 pcs');
  const [one, other] = await Promise.all(
    ['da-DK', ''].map((locale) =>
      inLocale(locale, async () => {
        await Promise.resolve();
        return written();
      }),
    ),
  );
  expect(one).toEqual(danish);
  expect(other).toEqual(british);
  expect(written()).toEqual(british);
  expect(localeOfReader()).toBe('en-GB');
});

it('a page is for the language that its browser asks for, and no CSV or JSON is', async () => {
  const house = await startConsole({ held: 1, atEnd });
  const anna = await signIn(house, 'anna', 'operator');
  const [id] = await heldIds(house.daemon);
  const asked = (language: string) =>
    caller(house.url, { ...anna.own, 'accept-language': language });
  const danish = (await asked('da-DK,en;q=0.5').get(`/deliveries/${id}`)).text;
  const other = (await asked('*').get(`/deliveries/${id}`)).text;
  const valueIn = (text: string) => /<dt>Value<\/dt><dd>([^<]*),/.exec(text)?.[1] ?? '';
  expect(valueIn(danish)).toMatch(/,\d\d [A-Z]{3}$/);
  expect(valueIn(other)).toMatch(/\.\d\d [A-Z]{3}$/);
  expect(danish).toContain('Reason');
  const programs = async (path: string) =>
    (await Promise.all(['da-DK', '*'].map((one) => asked(one).get(path)))).map(({ text }) => text);
  for (const path of ['/review.json', '/review.csv']) {
    const [one = '', another] = await programs(path);
    expect(one.length).toBeGreaterThan(20);
    expect(one).toBe(another);
  }
});
