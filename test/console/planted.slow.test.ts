/** Strings of the service and of people: masked for some, and markup or a formula for nobody. */
import { parse } from 'csv-parse/sync';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { MASK } from '../../src/lib/reading/quoted.ts';
import { MARK, type PlantedHouse, PRIVATE, PRIVATE_WORDS, startPlanted } from './planted.ts';
import { consoleRoutes, readAddresses } from './routes.ts';
import { trialOf } from './rules-house.ts';
import { type Answer, type Caller, program, sharedEnd, signIn } from './support.ts';

const { atEnd, end } = sharedEnd();
let house: PlantedHouse;
/** Reads of all pages and their twins. */
let addresses: readonly string[];
/** Signed in by a link, which may see everything. */
let anna: Caller;
/** A program, which may not. */
let bi: Caller;

beforeAll(async () => {
  house = await startPlanted(atEnd);
  const routes = await consoleRoutes(house.daemon.store.db);
  addresses = [...readAddresses(routes, house), `/review?open=${house.delivery}`];
  anna = await signIn(house, `${MARK} anna`, 'approver');
  bi = await program(house, 'approver');
  const tick = /name="t" value="([\w-]+)"/.exec((await anna.get('/review')).text)?.[1];
  addresses = [...addresses, `/review/ticked?act=accept&t=${tick}`];
});

afterAll(end);

async function readAll(who: Caller): Promise<Map<string, Answer>> {
  const answers = new Map<string, Answer>();
  const trial = await trialOf(who);
  for (const one of addresses) {
    const address = one.replace('/trial/own', `/trial/${trial}`);
    const answer = await who.get(address);
    expect([address, answer.status]).toEqual([address, 200]);
    answers.set(address, answer);
  }
  return answers;
}

/** With the places in lists, which anybody could decode. */
function decoded(text: string): string {
  return text.replaceAll(/"(?:next|back)":"([\w-]+)"/g, (_all, place: string) =>
    Buffer.from(place, 'base64url').toString(),
  );
}

it('no route tells a program who a customer is, and many say that they do not', async () => {
  const answers = await readAll(bi);
  answers.set('sorted', await bi.get('/review.json?sort=customer&limit=1'));
  const masked: string[] = [];
  for (const [address, { text }] of answers) {
    const at = decoded(text).search(PRIVATE_WORDS);
    expect([address, at < 0 ? '' : decoded(text).slice(Math.max(0, at - 60), at + 30)]).toEqual([
      address,
      '',
    ]);
    if (text.includes(MASK)) masked.push(address);
  }
  const { delivery, push } = house;
  const paths = [`/deliveries/${delivery}`, `/outbox/${push}`, '/outbox', '/review', '/index'];
  expect(masked).toEqual(expect.arrayContaining(paths.map((path) => `${path}.json`)));
  expect(masked).toEqual(expect.arrayContaining(['/review.csv', '/outbox.csv', '/review', '/']));
});

it('a program finds no delivery by a name that it does not see', async () => {
  const found = async (who: Caller, q: string) => (await who.get(`/review.json?q=${q}`)).json;
  expect(await found(bi, 'Quillfeather')).toMatchObject({ rows: [], next: null, back: null });
  expect(await found(anna, 'Quillfeather')).toMatchObject({ rows: [{}] });
  expect(await found(bi, 'PO-')).toMatchObject({ rows: [{ decisionId: expect.any(Number) }] });
});

it('a person who may see addresses finds them: in the list, at delivery and push', async () => {
  const { delivery, push } = house;
  const card = await anna.get(`/deliveries/${delivery}.json`);
  expect(card.json).toMatchObject({
    card: { order: { comment: PRIVATE.comment }, customer: { company: PRIVATE.company } },
  });
  expect((await anna.get('/review.json')).json).toMatchObject({
    rows: [{ customer: PRIVATE.company, reason: expect.stringContaining(PRIVATE.city) }],
  });
  expect((await anna.get(`/outbox/${push}.json`)).json).toMatchObject({
    document: { shippingAddress: { email: PRIVATE.email } },
  });
});

it('no string of the service or of a person becomes markup on any page', async () => {
  const answers = await readAll(anna);
  const paths = [
    ...[`/review?sort=${MARK}`, `/review?q=${MARK}&rule=${MARK}&customer=${MARK}&season=${MARK}`],
    ...[`/review?done=${MARK}`, `/deliveries/${MARK}`, `/outbox/${MARK}`, `/sign-in?key=${MARK}`],
    ...[`/outbox?reference=${MARK}`, `/outbox?kind=${MARK}`, `/${MARK}`],
  ];
  for (const path of paths) {
    const encoded = path.replaceAll(MARK, encodeURIComponent(MARK));
    answers.set(path, await anna.get(encoded));
  }
  const name = { name: `${MARK} ben`, password: 'a wrong phrase' };
  answers.set('sign-in', await anna.form('/sign-in/password', name));
  const shown: string[] = [];
  for (const [address, { headers, text }] of answers) {
    expect([address, headers.get('x-content-type-options')]).toEqual([address, 'nosniff']);
    const type = headers.get('content-type') ?? '';
    expect(type).toMatch(
      /^(?:text\/(?:html|csv)|application\/json); charset=utf-8$|^application\/(?:json|vnd\.\S+)$/,
    );
    if (!type.startsWith('text/html')) continue;
    expect([address, text.indexOf('<i data-planted')]).toEqual([address, -1]);
    if (text.includes('&lt;i data-planted&gt;&quot;&#39;&amp;')) shown.push(address);
  }
  const { delivery, push } = house;
  const pages = ['/', '/review', '/outbox', `/review/card/${delivery}`, 'sign-in'];
  expect(shown).toEqual(
    expect.arrayContaining([...pages, `/deliveries/${delivery}`, `/outbox/${push}`]),
  );
});

it('no cell of a table is a formula, with either separator', async () => {
  const trial = await trialOf(anna);
  const tables = addresses.filter((address) => address.endsWith('.csv'));
  expect(tables.length).toBeGreaterThan(3);
  let defused = 0;
  for (const address of tables) {
    for (const [query, delimiter] of [
      ['', ','],
      ['?locale=da-DK', ';'],
    ] as const) {
      const { text } = await anna.get(
        `${address.replace('/trial/own', `/trial/${trial}`)}${query}`,
      );
      const rows: string[][] = parse(text, { bom: true, delimiter });
      for (const cell of rows.flat()) {
        expect([address, cell]).not.toEqual([address, expect.stringMatching(/^[=+@\t\r]|^-\D/)]);
        if (cell.startsWith(`'${MARK}`)) defused += 1;
      }
    }
  }
  expect(defused).toBeGreaterThan(10);
});
