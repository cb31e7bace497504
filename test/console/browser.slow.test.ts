/** The console in a real browser, used as the people who decide use it. */

import { join } from 'node:path';
import type { Browser, Page } from 'playwright-core';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { launchBrowser } from '../support/chromium.ts';
import { auditOf, type ConsoleHouse, heldIds, startConsole } from './support.ts';
import { visit } from './visit.ts';

let browser: Browser;

beforeAll(async () => {
  browser = await launchBrowser();
});

afterAll(async () => {
  await browser?.close();
});

/** With SCREENSHOTS set to a folder, keeps a picture of the page for a person to look at. */
async function picture(page: Page, name: string): Promise<void> {
  const folder = process.env.SCREENSHOTS;
  if (folder) await page.screenshot({ path: join(folder, `${name}.png`) });
}

async function isDone(page: Page, text: string): Promise<void> {
  await page.locator('#done', { hasText: text }).waitFor();
}

/** What people did, in order: subject, act and reason. */
async function acts({ daemon }: ConsoleHouse): Promise<readonly (readonly (string | null)[])[]> {
  const rows = await daemon.store.db
    .selectFrom('audit')
    .select(['subject', 'action', 'reason'])
    .where('action', 'like', 'delivery.%')
    .orderBy('id')
    .execute();
  return rows.map(({ subject, action, reason }) => [subject, action, reason]);
}

/** Every status that was to be set at the service, and is set there. */
async function pushed({ daemon, reference }: ConsoleHouse): Promise<readonly string[]> {
  const rows = await daemon.store.db.selectFrom('outbox').select('body').execute();
  const { all } = reference.world.book.deliveries;
  return rows.map(({ body }) => {
    const { orderDeliveryId: id, status } = JSON.parse(body);
    const there = all.find(({ orderDeliveryId }) => orderDeliveryId === id)?.status;
    return there === status || there === 'pending' ? `${id} ${status}` : `${id} is ${there}`;
  });
}

/** Opens the first delivery of the list beside it. */
async function openFirst(page: Page): Promise<string> {
  const link = page.locator('a[data-open]').first();
  const number = (await link.textContent()) ?? '';
  await link.click();
  await page.locator('#detail article h2', { hasText: number }).waitFor();
  return number;
}

/** Pixels of each part that are seen by scrolling alone. */
const beyondEdge = (
  all: readonly { readonly scrollWidth: number; readonly clientWidth: number }[],
) => all.map(({ scrollWidth, clientWidth }) => scrollWidth - clientWidth);

describe('the console in a browser', () => {
  it('lets a person filter, read why, accept with a reason, hold, and undo', async () => {
    const house = await startConsole({ held: 3 });
    const { page, complaints } = await visit(browser, house, 'anna', 'operator');
    await picture(page, 'overview');
    await page.getByRole('link', { name: /^Review/ }).click();
    await page.getByLabel('Rule').selectOption('hold-all');
    await page.getByRole('button', { name: 'Filter' }).click();
    await page.waitForURL('**/review?**rule=hold-all**');
    const number = await openFirst(page);
    await page.getByText('Somebody looks at each delivery').last().waitFor();
    await page.getByText('show the rule').first().click();
    await page.getByText('delivery.quantity > 0').waitFor();
    await picture(page, 'review');
    await page.locator('#detail').getByLabel('Reason').fill('price agreed');
    await page
      .locator('#detail')
      .getByRole('button', { name: /^Accept/ })
      .click();
    await isDone(page, `${number} is accepted, being sent.`);
    expect(new URL(page.url()).searchParams.get('rule')).toBe('hold-all');
    const other = await openFirst(page);
    await page.locator('#detail').getByLabel('Reason').fill('ask Jutta');
    await page.locator('#detail').getByRole('button', { name: /^Hold/ }).click();
    await isDone(page, `${other} is held.`);
    await page.getByRole('button', { name: /^Undo/ }).click();
    await isDone(page, 'Undone');
    expect(await auditOf(house, 'delivery.accept')).toMatchObject([{ reason: 'price agreed' }]);
    expect(await auditOf(house, 'delivery.hold')).toMatchObject([{ reason: 'ask Jutta' }]);
    expect(complaints).toEqual([]);
  });

  it('does by Enter what the key said that led to the reason', async () => {
    const house = await startConsole({ held: 3 });
    const { page, complaints } = await visit(browser, house, 'anna', 'operator', {
      timeoutMs: 15_000,
    });
    const does = async (key: string, text: string) => {
      await page.keyboard.press(key);
      await page.keyboard.type(`looked at it, ${key}`);
      await page.keyboard.press('Enter');
      await isDone(page, text);
    };
    await page.goto(`${house.url}/review`);
    await page.keyboard.press('j');
    const shown = await page.locator('#detail article').getAttribute('data-delivery');
    const held = Number(shown);
    await does('h', 'is held.');
    const others = (await heldIds(house.daemon)).filter((id) => id !== held);
    const [given = 0, accepted = 0] = others;
    await page.goto(`${house.url}/review?open=${given}`);
    await does('u', 'is given back to the rules.');
    await page.goto(`${house.url}/deliveries/${accepted}`);
    await does('a', 'is accepted, being sent.');
    expect(await acts(house)).toEqual([
      [`delivery:${held}`, 'delivery.hold', 'looked at it, h'],
      [`delivery:${given}`, 'delivery.release', 'looked at it, u'],
      [`delivery:${accepted}`, 'delivery.accept', 'looked at it, a'],
    ]);
    expect(await pushed(house)).toEqual([`${accepted} accepted`]);
    expect(complaints).toEqual([]);
  });

  it.each([
    ['with scripts', true],
    ['without scripts', false],
  ])('decides nothing by Enter alone %s', async (_, scripts) => {
    const house = await startConsole({ held: 2 });
    const { page, complaints } = await visit(browser, house, 'anna', 'operator', {
      ...{ scripts, timeoutMs: 30_000 },
    });
    const [id] = await heldIds(house.daemon);
    const tells = async () => {
      if (scripts) await page.getByText('Enter alone decides nothing').waitFor();
    };
    await page.goto(`${house.url}/deliveries/${id}`);
    const reason = page.getByLabel('Reason').first();
    await reason.fill('looked at it');
    await reason.press('Enter');
    await tells();
    if (scripts) {
      // The key had led here, and then the person went elsewhere.
      await reason.fill('');
      await page.locator('h1').click();
      await page.keyboard.press('h');
      await page.keyboard.type('looked at it');
      await page.locator('h1').click();
      await reason.press('Enter');
      await tells();
    }
    await page.goto(`${house.url}/review`);
    await page.getByText('Decide all 2…').click();
    await page.getByRole('button', { name: 'Hold all' }).click();
    await page.getByRole('heading', { name: 'Hold 2 deliveries?' }).waitFor();
    expect(await page.locator('tr[data-row]').count()).toBe(2);
    await picture(page, `hold-all-${scripts}`);
    // The page has one act, and Enter does it.
    await page.getByLabel('Reason').fill('all checked');
    await page.getByLabel('Reason').press('Enter');
    await isDone(page, '2 held.');
    expect((await acts(house)).map(([, act]) => act)).toEqual(['delivery.hold', 'delivery.hold']);
    expect(await pushed(house)).toEqual([]);
    expect(complaints).toEqual([]);
  });

  it('takes the same decisions without scripts', async () => {
    const house = await startConsole({ held: 3 });
    const { page } = await visit(browser, house, 'carl', 'approver', { scripts: false });
    await page.getByRole('link', { name: /^Review/ }).click();
    const number = await openFirst(page);
    await page.getByText('Reject…').click();
    const form = page.locator('form[data-act="reject"]');
    await form.getByLabel(`Type ${number} to go on`).fill(number);
    await form.getByLabel('Reason').fill('ordered twice');
    await form.getByRole('button', { name: 'Reject for good' }).click();
    await isDone(page, `${number} is rejected, being sent.`);
    await page.goto(`${house.url}/review`);
    await page.getByText('Decide all 2…').click();
    await page.getByRole('button', { name: 'Accept all…' }).click();
    await page.getByLabel('Reason').fill('all checked');
    await page.getByRole('button', { name: 'Accept all 2' }).click();
    await isDone(page, '2 accepted, being sent.');
    expect(await heldIds(house.daemon)).toEqual([]);
  });

  it('is no wider than a telephone where people decide', async () => {
    const house = await startConsole({ held: 1 });
    const { page } = await visit(browser, house, 'anna', 'operator');
    await page.setViewportSize({ width: 390, height: 800 });
    const [id] = await heldIds(house.daemon);
    for (const path of ['/', '/review', `/review?open=${id}`, `/deliveries/${id}`]) {
      await page.goto(`${house.url}${path}`);
      await picture(page, `narrow${path.replaceAll(/[^a-z]/g, '-')}`);
      const width = await page.locator('html').evaluate((html) => html.scrollWidth);
      expect([path, width]).toEqual([path, 390]);
      // Sums stand below each other, none beyond the edge of its table.
      const sums = await page.locator('.table:has(.stack)').evaluateAll(beyondEdge);
      expect([path, sums]).toEqual([path, sums.map(() => 0)]);
    }
    await page.setViewportSize({ width: 1_280, height: 800 });
    await page.goto(`${house.url}/review?open=${id}`);
    expect(await page.locator('#detail .grids').evaluateAll(beyondEdge)).toEqual([0]);
    await picture(page, 'card');
  });

  it('folds the filter on a telephone, and shows it on a wide screen', async () => {
    const house = await startConsole({ held: 1 });
    const { page } = await visit(browser, house, 'anna', 'operator');
    const [fold, filter] = [page.locator('.fold > summary'), page.getByLabel('Country')];
    await page.goto(`${house.url}/review`);
    expect([await fold.isVisible(), await filter.isVisible()]).toEqual([false, true]);
    await page.setViewportSize({ width: 390, height: 800 });
    expect([await fold.isVisible(), await filter.isVisible()]).toEqual([true, false]);
    await picture(page, 'narrow-folded');
    await fold.click();
    await page.getByLabel('Name or number').fill('DN-');
    await page.getByRole('button', { name: 'Filter' }).click();
    await page.waitForURL('**/review?**q=DN-**');
    expect(await fold.textContent()).toBe('Filter (1 set)');
    expect(await page.locator('tr[data-row]').count()).toBe(1);
  });

  it('leads from each tile to a page for people', async () => {
    const house = await startConsole({ held: 1 });
    const { page, complaints } = await visit(browser, house, 'anna', 'operator');
    expect(await page.locator('#night a').getAttribute('href')).toBe('/incidents/past?since=7d');
    const tiles = await page.locator('a.tile').evaluateAll((all) => all.map((one) => String(one)));
    expect(tiles.length).toBeGreaterThan(5);
    for (const href of tiles) {
      await page.goto(`${house.url}/`);
      const answer = await page.goto(href);
      expect([href, answer?.headers()['content-type'] ?? 'text/html']).toEqual([
        href,
        expect.stringContaining('text/html'),
      ]);
      const { hash } = new URL(href);
      if (hash !== '') expect([hash, await page.locator(hash).count()]).toEqual([hash, 1]);
    }
    expect(complaints).toEqual([]);
  });

  it('shows what the service and people write as text', async () => {
    const house = await startConsole({ held: 1 });
    const { daemon } = house;
    const evil = '<img src=x onerror="fetch(1)"><script>document.title=1</script>';
    await daemon.store.transaction(async (tx) => {
      await tx.updateTable('sales_order').set({ company: evil, comment: evil }).execute();
    });
    const { page, complaints } = await visit(browser, house, 'anna', 'operator');
    const [id] = await heldIds(daemon);
    await page.goto(`${house.url}/review?open=${id}`);
    expect(await page.getByText(evil).count()).toBeGreaterThan(1);
    expect(await page.locator('img').count()).toBe(0);
    expect(complaints).toEqual([]);
  });
});
