/** Acts by hand in a real browser: what was pressed, what came of it, what the service was sent. */
import type { Browser, Page } from 'playwright-core';
import { afterAll, beforeAll, describe, expect, it, onTestFinished } from 'vitest';
import { hashPassword } from '../../src/console/access/password.ts';
import { seededRandom } from '../../src/lib/random.ts';
import { launchBrowser } from '../support/chromium.ts';
import { until } from '../support/house.ts';
import { startRulesHouse } from './rules-house.ts';
import { screensOf } from './screens.ts';
import {
  auditOf,
  type ConsoleHouse,
  caller,
  heldIds,
  holdMore,
  seenRows,
  sharedEnd,
  signIn,
  startConsole,
} from './support.ts';
import { picture, visit } from './visit.ts';

const PASSWORD = 'a long enough phrase';
const SOON_MS = 15_000;

const { atEnd, end } = sharedEnd();
let browser: Browser;
let house: ConsoleHouse;

const settings = async () => {
  const password = await hashPassword(PASSWORD, seededRandom(3));
  const anna = { name: 'anna', role: 'operator', password, sees: ['addresses'] };
  return [{ path: 'console.operators', value: [anna] }];
};

beforeAll(async () => {
  browser = await launchBrowser();
  house = await startConsole({ held: 4, settings: await settings(), atEnd });
});

afterAll(async () => {
  await browser?.close();
  await end();
});

/** Decisions that the service was sent since the last look, oldest first. */
function createSent({ reference }: ConsoleHouse) {
  let seen = reference.edge.journal.list().length;
  return (): readonly string[] => {
    const { all } = reference.world.book.deliveries;
    const since = reference.edge.journal.list().slice(seen);
    seen += since.length;
    const writes = since.filter(({ method, path }) => method === 'POST' && !/login$/.test(path));
    return writes.map(({ path, status }) => {
      const id = Number(/\d+$/.exec(path)?.[0]);
      const delivery = all.find(({ orderDeliveryId }) => orderDeliveryId === id);
      return `${id} is ${delivery?.status} (${status})`;
    });
  };
}

const reasonIn = (page: Page) => page.locator('#detail, main').last().getByLabel('Reason').first();
const markedIn = (page: Page) => page.locator('tr.open').getAttribute('data-row');
const shownIn = (page: Page) => page.locator('#detail article').getAttribute('data-delivery');
const openedIn = (page: Page) => new URL(page.url()).searchParams.get('open');

async function waitFor(page: Page, id: string | number): Promise<void> {
  await page.locator(`#detail:not([inert]) article[data-delivery="${id}"]`).waitFor();
}

/** Ends all sessions of a name, as another browser of the same person does. */
async function endSessionsOf(name: string): Promise<void> {
  const other = await signIn(house, name, 'operator');
  expect((await other.form('/sign-out/everywhere', {})).status).toBe(303);
}

describe('a row of the list', () => {
  it('opens by address: Back, reload and links lead to it again', async () => {
    const { page, complaints } = await visit(browser, house, 'anna', 'operator');
    const [first = 0, second = 0] = await heldIds(house.daemon);
    await page.goto(`${house.url}/review?shown=held`);
    for (const id of [first, second]) {
      await page.locator(`a[data-open="${id}"]`).click();
      await waitFor(page, id);
      expect([openedIn(page), await markedIn(page)]).toEqual([String(id), String(id)]);
    }
    await page.goBack();
    await waitFor(page, first);
    expect([openedIn(page), await markedIn(page)]).toEqual([String(first), String(first)]);
    await page.reload();
    await waitFor(page, first);
    await page.getByRole('link', { name: 'Overview' }).click();
    await page.getByRole('heading', { name: 'Overview' }).waitFor();
    await page.goBack();
    await waitFor(page, first);
    expect(new URL(page.url()).searchParams.get('shown')).toBe('held');
    expect(complaints).toEqual([]);
  });

  it('opens a tab of its own by Ctrl, Shift and the middle button, unmarked', async () => {
    const { page } = await visit(browser, house, 'anna', 'operator');
    const [first = 0, second = 0] = await heldIds(house.daemon);
    await page.goto(`${house.url}/review`);
    await page.locator(`a[data-open="${first}"]`).click();
    await waitFor(page, first);
    const link = page.locator(`a[data-open="${second}"]`);
    // Headless Chromium loses a new tab now and then once a page says whom it may be opened by (a
    // static page, too): so this looks whether the click is left to it, and where the link leads.
    for (const how of [
      { modifiers: ['Control' as const] },
      { modifiers: ['Shift' as const] },
      { button: 'middle' as const },
    ]) {
      const type = 'button' in how ? 'auxclick' : 'click';
      const left = link.evaluate((element, type) => {
        const { promise, resolve } = Promise.withResolvers<boolean>();
        const look = (event: Event) => {
          resolve(!event.defaultPrevented);
          event.preventDefault();
        };
        element.ownerDocument.defaultView?.addEventListener(type, look, { once: true });
        return promise;
      }, type);
      await link.click(how);
      expect(await left).toBe(true);
      expect([await markedIn(page), await shownIn(page)]).toEqual([String(first), String(first)]);
    }
    const tab = await page.context().newPage();
    await tab.goto(new URL((await link.getAttribute('href')) ?? '', page.url()).href);
    await tab.locator(`article[data-delivery="${second}"]`).waitFor();
    await tab.close();
    // Cmd is for macOS: here the browser follows the link, and the page leaves that to it, too.
    const followed = page.waitForNavigation();
    await link.click({ modifiers: ['Meta'] });
    await followed;
    expect([await markedIn(page), await shownIn(page)]).toEqual([String(second), String(second)]);
  });

  it('that is marked is the one that keys act on, however late another one comes', async () => {
    const sent = createSent(house);
    const { page } = await visit(browser, house, 'anna', 'operator');
    const [first = 0, second = 0] = await heldIds(house.daemon);
    await page.goto(`${house.url}/review`);
    const late = Promise.withResolvers<void>();
    await page.route(`**/review/card/${first}`, async (route) => {
      await late.promise;
      await route.continue();
    });
    await page.locator(`a[data-open="${first}"]`).click();
    // Nothing is open yet, so that a key has nothing to act on.
    await page.keyboard.press('h');
    expect(await page.locator('#detail article').count()).toBe(0);
    await page.locator(`a[data-open="${second}"]`).click();
    await waitFor(page, second);
    const answered = page.waitForResponse(`**/review/card/${first}`);
    late.resolve();
    await (await answered).finished();
    await page.keyboard.press('h');
    await page.keyboard.type('the one that is marked');
    await page.keyboard.press('Enter');
    await page.locator('#done', { hasText: 'is held.' }).waitFor();
    const [held] = (await auditOf(house, 'delivery.hold')).slice(-1);
    expect(held).toMatchObject({ subject: `delivery:${second}`, reason: 'the one that is marked' });
    expect(sent()).toEqual([]);
  });
});

/** Where everything is that somebody may aim at, except what says that there is news. */
const placesIn = (page: Page) =>
  page.locator('a:not(#newer *, #lost *), button, input, summary').evaluateAll((all) =>
    all.map((one) => {
      const { x, y, width } = one.getBoundingClientRect();
      return [x, y, width].map(Math.round).join(' ');
    }),
  );

it('no button moves when news comes by itself, where it is asked once more, too', async () => {
  await holdMore(house, 3);
  const { page } = await visit(browser, house, 'anna', 'operator');
  const ben = await signIn(house, 'ben', 'operator');
  const rows = await seenRows(ben, '?rule=hold-all&sort=number');
  for (const [index, path] of ['/review', '/review/all?act=accept&rule=hold-all', '/'].entries()) {
    await page.goto(`${house.url}${path}`);
    const before = await placesIn(page);
    const { orderDeliveryId, decisionId, contentHash } = rows[index] ?? {};
    const seen = { decisionId, contentHash, reason: 'ask Jutta' };
    expect((await ben.json(`/deliveries/${orderDeliveryId}/hold`, seen)).status).toBe(200);
    await page.getByText('Something was decided meanwhile').waitFor({ timeout: SOON_MS });
    await page.locator('[data-count]').evaluateAll((all) => {
      for (const one of all) Object.assign(one, { hidden: false, textContent: '1234' });
    });
    expect([path, await placesIn(page)]).toEqual([path, before]);
  }
  await picture(page, 'news');
});

describe('an act by hand', () => {
  it('is done once however often it is pressed, and opens the next of its list', async () => {
    const sent = createSent(house);
    await holdMore(house, 2);
    const { page, complaints } = await visit(browser, house, 'anna', 'operator');
    await page.goto(`${house.url}/review?rule=hold-all&sort=number`);
    const ids = await page
      .locator('tr[data-row]')
      .evaluateAll((all) => all.map((row) => row.getAttribute('data-row')));
    const [first = '', second = ''] = ids.map(String);
    await page.locator(`a[data-open="${first}"]`).click();
    await waitFor(page, first);
    await reasonIn(page).fill('price agreed');
    const asked: string[] = [];
    page.on('request', (one) => one.method() === 'POST' && asked.push(one.url()));
    const accept = page.locator('#detail [data-key="a"]');
    await accept.evaluate((button: { click(): void }) => {
      button.click();
      button.click();
    });
    await page.locator('#done', { hasText: 'is accepted, being sent.' }).waitFor();
    await waitFor(page, second);
    const at = new URL(page.url());
    expect([at.pathname, at.searchParams.get('rule'), at.searchParams.get('open')]).toEqual([
      ...['/review', 'hold-all', second],
    ]);
    expect(await markedIn(page)).toBe(second);
    // A typed text belongs to one delivery, and goes with its act.
    expect(await reasonIn(page).inputValue()).toBe('');
    await page.goto(`${house.url}/deliveries/${first}`);
    expect(await page.getByLabel('Reason').count()).toBeLessThan(2);
    expect(asked.map((url) => new URL(url).pathname)).toEqual([`/deliveries/id%3A${first}/accept`]);
    await until('the service to hear of it', () => {
      const { all } = house.reference.world.book.deliveries;
      const found = all.find(({ orderDeliveryId }) => orderDeliveryId === Number(first));
      return found?.status === 'accepted' || undefined;
    });
    expect(sent()).toEqual([`${first} is accepted (200)`]);
    expect(complaints).toEqual([]);
  });

  it('leaves the next one alone for a moment: a second click decides nothing unread', async () => {
    const sent = createSent(house);
    await holdMore(house, 2);
    const { page } = await visit(browser, house, 'anna', 'operator');
    // The page's own time stands still but where the test lets it pass.
    await page.clock.install();
    await page.goto(`${house.url}/review?rule=hold-all&sort=number`);
    await page.clock.pauseAt(Date.now() + 60_000);
    await page.locator('a[data-open]').first().click();
    const first = String(await markedIn(page));
    await waitFor(page, first);
    await reasonIn(page).fill('price agreed');
    await page.locator('#detail [data-key="a"]').click();
    await page.locator('#done', { hasText: 'is accepted, being sent.' }).waitFor();
    const second = String(await markedIn(page));
    expect(second).not.toBe(first);
    await waitFor(page, second);
    // Even with a reason, neither a click nor Enter acts on what has just come up.
    await reasonIn(page).fill('typed before');
    const accept = page.locator('#detail [data-key="a"]');
    expect(await accept.isDisabled()).toBe(true);
    await accept.evaluate((button: { click(): void }) => button.click());
    await reasonIn(page).press('Enter');
    expect([await shownIn(page), await reasonIn(page).inputValue()]).toEqual([
      second,
      'typed before',
    ]);
    await page.clock.runFor(1_000);
    await accept.click();
    await until('the service to hear of both', () => {
      const { all } = house.reference.world.book.deliveries;
      const accepted = all.filter(
        ({ orderDeliveryId: id, status }) =>
          status === 'accepted' && [first, second].includes(String(id)),
      );
      return accepted.length === 2 || undefined;
    });
    expect(sent()).toEqual([first, second].map((id) => `${id} is accepted (200)`));
  });

  it('that somebody else was faster with says so in the card, and keeps the text', async () => {
    const sent = createSent(house);
    const { page } = await visit(browser, house, 'anna', 'operator');
    const ben = await signIn(house, 'ben', 'operator');
    const [row] = await seenRows(ben, '?sort=number');
    if (!row) throw new Error('nothing is held');
    const place = `/review?rule=hold-all&sort=number&open=${row.orderDeliveryId}`;
    await page.goto(`${house.url}${place}`);
    const { decisionId, contentHash } = row;
    const seen = { decisionId, contentHash, reason: 'ask Jutta' };
    expect((await ben.json(`/deliveries/${row.orderDeliveryId}/hold`, seen)).status).toBe(200);
    await page.keyboard.press('a');
    await page.keyboard.type('price agreed');
    await page.keyboard.press('Enter');
    const said = page.locator('#detail .refused');
    await said.getByText('ben decided "hold"').waitFor();
    await picture(page, 'conflict');
    const text = (await said.textContent()) ?? '';
    expect([text.includes('selvedge'), text.includes('--')]).toEqual([false, false]);
    expect(await reasonIn(page).inputValue()).toBe('price agreed');
    expect(page.url()).toBe(`${house.url}${place}`);
    await said.getByRole('link', { name: 'Show it as it is now' }).click();
    await page.locator('#detail').getByText('ben decided "hold": ask Jutta').waitFor();
    expect(await reasonIn(page).inputValue()).toBe('price agreed');
    expect(sent()).toEqual([]);
  });

  it('on all that fit is refused where they changed, and asks again about the rest', async () => {
    const sent = createSent(house);
    await holdMore(house, 2);
    const { page } = await visit(browser, house, 'anna', 'operator');
    const ben = await signIn(house, 'ben', 'operator');
    await page.goto(`${house.url}/review?rule=hold-all`);
    await page.getByText(/^Decide all \d+…/).click();
    await page.getByRole('button', { name: 'Accept all…' }).click();
    await page.getByLabel('Reason').fill('all checked');
    const [row] = await seenRows(ben, '?rule=hold-all');
    if (!row) throw new Error('nothing is held');
    const { decisionId, contentHash } = row;
    const seen = { decisionId, contentHash, reason: 'ask Jutta' };
    expect((await ben.json(`/deliveries/${row.orderDeliveryId}/hold`, seen)).status).toBe(200);
    await page.getByLabel('Reason').press('Enter');
    const went = `went: ${row.deliveryNo} (ben decided "hold"`;
    await page.locator('.refused', { hasText: went }).waitFor();
    await picture(page, 'all-changed');
    await page.locator('.refused').getByRole('link', { name: 'Show it as it is now' }).click();
    await page.locator('p.problem[role="alert"]', { hasText: went }).waitFor();
    expect(await page.getByText(row.deliveryNo, { exact: true }).count()).toBe(0);
    expect(await page.getByLabel('Reason').inputValue()).toBe('all checked');
    expect(sent()).toEqual([]);
  });

  it('on what is not there any more is refused inside the card, beside its list', async () => {
    const { page } = await visit(browser, house, 'anna', 'operator');
    await page.goto(`${house.url}/review`);
    const row = page.locator('a[data-open]').first();
    await row.evaluate((link) => link.setAttribute('data-open', '4711'));
    await row.click();
    await page.locator('#detail', { hasText: 'there is no delivery' }).waitFor();
    expect(await page.locator('h1').allTextContents()).toEqual(['Review']);
    await page.goto(`${house.url}/review?open=4711`);
    await page.locator('#detail', { hasText: 'there is no delivery' }).waitFor();
    expect(await page.locator('tr[data-row]').count()).toBeGreaterThan(0);
    await picture(page, 'not-there');
  });
});

describe('ticks', () => {
  it('go with their deliveries through a reload, and keys act on them', async () => {
    const sent = createSent(house);
    await holdMore(house, 5);
    const { page, complaints } = await visit(browser, house, 'anna', 'operator');
    const ben = await signIn(house, 'ben', 'operator');
    await page.goto(`${house.url}/review?rule=hold-all&sort=number`);
    const ticked = () => page.locator('[data-tick]:checked');
    const named = () => ticked().evaluateAll((all) => all.map((box) => box.dataset.tick));
    const says = page.locator('[data-ticks]');
    const [first, second, third, fourth] = await page
      .locator('[data-tick]')
      .evaluateAll((all) => all.map((box) => box.dataset.tick));
    await page.keyboard.press('j');
    await page.keyboard.press('x');
    for (const key of ['j', 'j']) await page.keyboard.press(key);
    await page.keyboard.press('Shift+X');
    expect(await named()).toEqual([first, second, third]);
    await page.getByLabel(`Tick ${third}`).click();
    await page.getByLabel(`Tick ${fourth}`).click();
    await says.getByText('3 ticked').waitFor();
    await picture(page, 'ticked');
    const row = (await seenRows(ben)).find(({ deliveryNo }) => deliveryNo === second);
    if (!row) throw new Error('it is not held');
    const { decisionId, contentHash } = row;
    const seen = { decisionId, contentHash, reason: 'ask Jutta' };
    expect((await ben.json(`/deliveries/${row.orderDeliveryId}/hold`, seen)).status).toBe(200);
    // The list has a new first row, and another place for each of the others.
    await page.goto(`${house.url}/review?rule=hold-all&sort=number&descending=1`);
    expect(await named()).toEqual([]);
    await page.goto(`${house.url}/review?rule=hold-all&sort=number`);
    await says.getByText(`Not ticked any more, as changed or gone: ${second}.`).waitFor();
    expect(await named()).toEqual([first, fourth]);
    await page.keyboard.press('a');
    await page.getByRole('heading', { name: 'Accept 2 deliveries?' }).waitFor();
    await picture(page, 'ticked-asked');
    await page.goBack();
    await says.getByText('2 ticked').waitFor();
    await page.keyboard.press('a');
    // The page that asks takes the reason at once, so that nothing but keys is needed.
    await page.locator('#bulk-reason:focus').waitFor();
    await page.keyboard.type('checked');
    await page.keyboard.press('Enter');
    await page.locator('#done', { hasText: '2 accepted, being sent.' }).waitFor();
    await says.getByText('None is ticked').waitFor();
    await until('the service to hear of both', () => {
      const { all } = house.reference.world.book.deliveries;
      const accepted = all.filter(
        ({ deliveryNo, status }) =>
          status === 'accepted' && [first, fourth].includes(deliveryNo ?? ''),
      );
      return accepted.length === 2 || undefined;
    });
    expect(sent()).toHaveLength(2);
    expect(complaints).toEqual([]);
  });
});

describe('a session that ended', () => {
  it('shows on an open page, and its sign-in leads back to place and text', async () => {
    const sent = createSent(house);
    const { page, complaints } = await visit(browser, house, 'anna', 'operator');
    const [id] = await heldIds(house.daemon);
    const place = `/review?rule=hold-all&open=${id}`;
    await page.goto(`${house.url}${place}`);
    await page.keyboard.press('h');
    await page.keyboard.type('a long reason');
    await endSessionsOf('anna');
    const lost = page.locator('#lost', { hasText: 'Your session has ended' });
    await lost.waitFor({ timeout: SOON_MS });
    await page.keyboard.press('Enter');
    await page.getByRole('heading', { name: 'Sign in to Selvedge' }).waitFor();
    expect(await page.locator('header.top').count()).toBe(0);
    await page.getByLabel('Name').fill('anna');
    await page.getByLabel('Password').fill(PASSWORD);
    await page.getByRole('button', { name: 'Sign in', exact: true }).click();
    await page.waitForURL(`${house.url}${place}`);
    expect(await reasonIn(page).inputValue()).toBe('a long reason');
    expect(sent()).toEqual([]);
    await page.keyboard.press('h');
    await page.locator('#done', { hasText: 'is held.' }).waitFor();
    expect(complaints).toEqual([]);
  });

  it('brings the sign-in as a page where a part of one was asked for', async () => {
    const { page } = await visit(browser, house, 'anna', 'operator');
    await page.goto(`${house.url}/review`);
    await page.context().clearCookies();
    await page.locator('a[data-open]').first().click();
    await page.getByRole('heading', { name: 'Sign in to Selvedge' }).waitFor();
    expect(await page.locator('#list').count()).toBe(0);
    expect(new URL(page.url()).searchParams.get('to')).toMatch(/^\/review\?open=\d+$/);
  });

  it('leaves nothing that was typed in any tab once its person signs out', async () => {
    const { page } = await visit(browser, house, 'anna', 'operator');
    const [id] = await heldIds(house.daemon);
    const typed = () => page.evaluate(() => JSON.stringify(sessionStorage));
    await page.goto(`${house.url}/deliveries/${id}`);
    await page.getByLabel('Reason').first().fill('known to anna alone');
    expect(await typed()).toContain('known to anna alone');
    const tab = await page.context().newPage();
    await tab.goto(house.url);
    await tab.getByRole('button', { name: 'Sign out', exact: true }).click();
    await tab.getByRole('heading', { name: 'Signed out' }).waitFor();
    await page.waitForURL(`${house.url}/signed-out`);
    expect(await typed()).toBe('{}');
  });

  it('does nothing under the name of somebody else who signed in at the same browser', async () => {
    const { page } = await visit(browser, house, 'anna', 'operator');
    const [id] = await heldIds(house.daemon);
    await page.goto(`${house.url}/deliveries/${id}`);
    const tab = await page.context().newPage();
    await tab.goto(await house.daemon.consoleLink('bén', 'operator'));
    await tab.getByRole('button', { name: 'Sign in with this link' }).click();
    await tab.getByText('bén · operator').waitFor();
    await page.locator('#lost', { hasText: 'Your session has ended' }).waitFor();
    await page.keyboard.press('h');
    await page.keyboard.type('by whom?');
    await page.keyboard.press('Enter');
    await page.getByRole('heading', { name: 'Sign in to Selvedge' }).waitFor();
    await page.getByRole('link', { name: 'Go on where you were' }).click();
    await page.getByText('bén · operator').waitFor();
    expect(await page.getByLabel('Reason').first().inputValue()).toBe('');
    const reasons = (await auditOf(house, 'delivery.hold')).map(({ reason }) => reason);
    expect(reasons).not.toContain('by whom?');
  });

  it('shows its texts to nobody else who signs in at the same tab', async () => {
    const { page } = await visit(browser, house, 'anna', 'operator');
    const [id] = await heldIds(house.daemon);
    await page.goto(`${house.url}/deliveries/${id}`);
    await page.getByLabel('Reason').first().fill('known to anna alone');
    await page.context().clearCookies();
    await page.goto(await house.daemon.consoleLink('ben', 'operator'));
    await page.getByRole('button', { name: 'Sign in with this link' }).click();
    await page.goto(`${house.url}/deliveries/${id}`);
    expect(await page.getByLabel('Reason').first().inputValue()).toBe('');
    expect(await page.evaluate(() => JSON.stringify(sessionStorage))).not.toContain('anna');
  });
});

it('a page that nobody looks at asks for nothing, and at once when somebody does', async () => {
  const { page } = await visit(browser, house, 'anna', 'operator');
  await page.addInitScript({
    content: `globalThis.shown = 'hidden';
      Object.defineProperty(document, 'visibilityState', { get: () => globalThis.shown });`,
  });
  await page.clock.install();
  await page.goto(house.url);
  let asked = 0;
  page.on('request', (one) => {
    if (one.url().endsWith('/changes.json')) asked += 1;
  });
  await page.clock.runFor(60_000);
  expect(asked).toBe(0);
  const answered = page.waitForResponse('**/changes.json');
  await page.evaluate(`globalThis.shown = 'visible';
    document.dispatchEvent(new Event('visibilitychange'));`);
  await answered;
  expect(asked).toBe(1);
});

it('sends by Enter in any field the act of its own form, and nothing else', async () => {
  const own = await startRulesHouse(onTestFinished);
  const { cookie } = await signIn(own, 'carl', 'approver');
  const { page } = await visit(browser, own, 'carl', 'approver');
  const sent: string[] = [];
  await page.route('**', async (route) => {
    const request = route.request();
    if (request.method() !== 'POST') return route.fallback();
    sent.push(new URL(request.url()).pathname);
    return route.fulfill({ status: 409, contentType: 'text/html', body: '<p>not now</p>' });
  });
  const [name = '', value = ''] = cookie.split('=');
  await page.context().addCookies([{ name, value, url: own.url }]);
  let tried = 0;
  for (const path of await screensOf(own, caller(own.url, { cookie }))) {
    await page.goto(`${own.url}${path}`);
    const forms = page.locator('#main form[method="post"]');
    for (let at = 0; at < (await forms.count()); at += 1) {
      const form = forms.nth(at);
      await form.evaluate((node) => {
        for (let up = node.parentElement; up; up = up.parentElement) {
          if (up.tagName === 'DETAILS') up.setAttribute('open', '');
        }
      });
      const fields = form.locator('input:is([type="text"], [type="number"], :not([type]))');
      for (let one = 0; one < (await fields.count()); one += 1) await fields.nth(one).fill('1');
      if ((await fields.count()) === 0) continue;
      const isOpen = (await form.locator('[data-enter]').count()) > 0;
      await fields.first().press('Enter');
      const said = form.locator(isOpen ? '[data-says]' : '.refused');
      await said.filter({ hasText: isOpen ? 'Enter alone decides nothing' : 'not now' }).waitFor();
      const action = await form.getAttribute('action');
      expect([path, sent.splice(0)]).toEqual([path, isOpen ? [] : [action]]);
      tried += 1;
    }
  }
  expect(tried).toBeGreaterThan(20);
});

it('all that were accepted and did not leave are called back in one press', async () => {
  const own = await startConsole({ held: 2 });
  const { page, complaints } = await visit(browser, own, 'anna', 'operator');
  const sent = createSent(own);
  const ben = await signIn(own, 'ben', 'approver');
  await ben.form('/pause', { target: 'pushes', reason: 'the warehouse moves' });
  await page.goto(`${own.url}/review?rule=hold-all`);
  await page.getByText('Decide all 2…').click();
  await page.getByRole('button', { name: 'Accept all…' }).click();
  await page.getByLabel('Reason').fill('all checked');
  await page.getByLabel('Reason').press('Enter');
  await page.locator('#done', { hasText: '2 accepted, being sent.' }).waitFor();
  expect(new URL(page.url()).searchParams.get('rule')).toBe('hold-all');
  await page.keyboard.press('z');
  await page.locator('#done', { hasText: '2 undone.' }).waitFor();
  await ben.form('/resume', { target: 'pushes', reason: 'it has moved' });
  expect(sent()).toEqual([]);
  expect((await heldIds(own.daemon)).length).toBe(2);
  expect(complaints).toEqual([]);
});

it('while the service is away an act is kept, and nothing of it is sent twice', async () => {
  const own = await startConsole({ held: 1 });
  const { page } = await visit(browser, own, 'anna', 'operator');
  const sent = createSent(own);
  own.reference.knobs.patch({
    faults: [{ kind: 'serverError', path: '*' }],
  });
  const [id] = await heldIds(own.daemon);
  await page.goto(`${own.url}/review?open=${id}`);
  await page.keyboard.press('a');
  await page.keyboard.type('price agreed');
  await page.keyboard.press('Enter');
  await page.locator('#done', { hasText: 'is accepted, being sent.' }).waitFor();
  // While a try goes on it says so, and can be pressed again.
  await until('the undo', async () => {
    await page.keyboard.press('z');
    return (await page.locator('#done', { hasText: 'Undone' }).count()) > 0 || undefined;
  });
  own.reference.knobs.patch({ faults: [] });
  expect(sent().filter((one) => /\(200\)/.test(one))).toEqual([]);
});

it('a daemon that stopped shows on an open page, and a press there loses no text', async () => {
  const own = await startConsole({ held: 1 });
  const { page } = await visit(browser, own, 'anna', 'operator');
  const sent = createSent(own);
  const [id] = await heldIds(own.daemon);
  await page.goto(`${own.url}/review?open=${id}`);
  await page.keyboard.press('a');
  await page.keyboard.type('price agreed');
  await own.daemon.stop();
  await page.keyboard.press('Enter');
  await page.locator('#detail .refused', { hasText: 'The daemon does not answer.' }).waitFor();
  expect(await reasonIn(page).inputValue()).toBe('price agreed');
  const lost = page.locator('#lost', { hasText: 'The daemon does not answer' });
  const before = await placesIn(page);
  await lost.waitFor({ timeout: SOON_MS });
  expect(await placesIn(page)).toEqual(before);
  await picture(page, 'daemon-stopped');
  expect(sent()).toEqual([]);
});
