/** The portal in a real browser, used as its owner uses it. */
import { join } from 'node:path';
import type { Browser, Page } from 'playwright-core';
import { afterAll, beforeAll, describe, expect, it, onTestFinished } from 'vitest';
import { launchBrowser, watchPage } from '../../support/chromium.ts';
import { answering } from '../relay/receiver.ts';
import { DELIVERY } from '../relay/support.ts';
import { type PortalBench, startPortal } from './support.ts';

let browser: Browser;

beforeAll(async () => {
  browser = await launchBrowser();
});

afterAll(async () => {
  await browser?.close();
});

interface Visit extends PortalBench {
  readonly page: Page;
  /** Must be empty at the end. */
  readonly complaints: readonly string[];
}

async function visit(): Promise<Visit> {
  const bench = await startPortal();
  const context = await browser.newContext({ viewport: { width: 1200, height: 900 } });
  onTestFinished(() => context.close());
  const page = await context.newPage();
  page.setDefaultTimeout(120_000);
  const complaints = watchPage(page, bench.url);
  await page.goto(bench.portal.mintLink().url);
  await page.waitForURL('**/portal/');
  return { ...bench, page, complaints };
}

/** With SCREENSHOTS set to a folder, keeps a picture of the page for a person to look at. */
async function picture(page: Page, name: string): Promise<void> {
  const folder = process.env.SCREENSHOTS;
  if (folder) await page.screenshot({ path: join(folder, `${name}.png`), fullPage: true });
}

/**
 * Presses a button that acts and waits for the page that says what was done: a click comes back
 * before the browser has asked the server, and the page before it may look the same.
 */
async function press(page: Page, name: string | RegExp, done: string): Promise<void> {
  await page.getByRole('button', { name }).click();
  await page.waitForURL(new RegExp(`[?&]done=${done}\\b`));
}

async function addEndpoint({ page, receiver }: Visit): Promise<void> {
  await page.getByRole('link', { name: 'Add endpoint' }).click();
  await page.waitForURL('**/endpoints/new');
  await page.getByLabel('URL').fill(receiver.url);
  await page.getByLabel('Description').fill('ERP, production');
  await page.getByLabel('sales_order.delivery_created').check();
  await page.getByLabel('ping').check();
  await picture(page, 'new-endpoint');
  await press(page, 'Add endpoint', 'added');
}

describe('the portal in a browser', () => {
  it('adds an endpoint, shows its secret, rotates it, sends an example', async () => {
    const bench = await visit();
    const { page, relay, receiver } = bench;
    await picture(page, 'empty');
    await addEndpoint(bench);
    const [endpoint] = relay.listEndpoints();
    const id = endpoint?.id ?? '';
    expect(endpoint).toMatchObject({
      url: receiver.url,
      eventTypes: ['ping', 'sales_order.delivery_created'],
    });
    const before = relay.secret(id);
    await page.getByText(before).waitFor();
    await press(page, 'Rotate secret', 'rotated');
    await page.getByText(relay.secret(id)).waitFor();
    expect(relay.liveSecrets(id).map(({ secret }) => secret)).toEqual([relay.secret(id), before]);
    await page.getByText(before).waitFor();
    await press(page, 'Send example', 'sent');
    await page.getByRole('status').filter({ hasText: 'The example was sent' }).waitFor();
    await relay.idle();
    await page.reload();
    await page.getByText('HTTP 204').waitFor();
    expect(await page.getByText(relay.secret(id)).count()).toBe(0);
    await picture(page, 'endpoint');
    expect(bench.complaints).toEqual([]);
  });

  it('changes, disables, enables and deletes an endpoint', async () => {
    const bench = await visit();
    const { page, relay } = bench;
    await addEndpoint(bench);
    const endpoint = () => relay.listEndpoints()[0];
    await page.getByLabel('URL').fill('ftp://example.com/');
    await page.getByRole('button', { name: 'Save' }).click();
    await page.getByRole('alert').filter({ hasText: 'not http or https' }).waitFor();
    await page.getByLabel('URL').fill(`${bench.receiver.url}/2`);
    await page.getByLabel('ping').uncheck();
    await press(page, 'Save', 'saved');
    await page.getByRole('status').filter({ hasText: 'Saved' }).waitFor();
    expect(endpoint()).toMatchObject({ eventTypes: ['sales_order.delivery_created'] });
    expect(endpoint()?.url).toMatch(/\/2$/);
    await press(page, 'Disable', 'disabled');
    await page.getByRole('button', { name: 'Enable' }).waitFor();
    expect(endpoint()?.disabledReason).toBe('switched off by its owner');
    await press(page, 'Enable', 'enabled');
    await page.getByRole('button', { name: 'Disable' }).waitFor();
    expect(endpoint()?.disabledReason).toBeNull();
    await page.getByRole('link', { name: 'Delete…' }).click();
    await press(page, 'Delete endpoint', 'deleted');
    await page.getByText('No endpoint yet').waitFor();
    expect(relay.listEndpoints()).toEqual([]);
    expect(bench.complaints).toEqual([]);
  });

  it('shows a failed message with its attempts, sends it again, recovers the rest', async () => {
    const bench = await visit();
    const { page, relay, receiver, clock } = bench;
    await addEndpoint(bench);
    receiver.respond = (response) => response.writeHead(503).end('try <b>later</b>');
    for (let count = 0; count < 3; count += 1) {
      relay.publish('sales_order.delivery_created', DELIVERY, { reference: `PO-${count}` });
      await relay.idle();
      await clock.advance(1_000);
    }
    relay.publish('sales_order.order_created', { salesOrder: { orderId: 1 } });
    for (const step of [5_000, 300_000, 1_800_000, 7_200_000, 18_000_000, 36_000_000, 36_000_000]) {
      await clock.advance(step);
      await relay.idle();
    }
    await page.getByRole('link', { name: 'Received' }).click();
    await page.locator('tbody').getByText('Never sent').waitFor();
    await picture(page, 'received');
    await page.getByLabel('State').selectOption('Failed');
    await page.getByRole('button', { name: 'Filter' }).click();
    await page.waitForURL(/status=failed/);
    expect(await page.locator('tbody tr').count()).toBe(3);
    await page.locator('tbody tr').first().getByRole('link').click();
    await page.getByText('"reference": "PO-2"').waitFor();
    await page.getByText('Answer', { exact: true }).nth(1).click();
    await page.getByText('try <b>later</b>').first().waitFor();
    await picture(page, 'message');
    receiver.respond = answering(204);
    receiver.requests.length = 0;
    await press(page, /^Re-send/, 'resent');
    await page.getByRole('status').filter({ hasText: 'sent again' }).waitFor();
    await relay.idle();
    await page.reload();
    await page.getByText('By hand').waitFor();
    await page.getByRole('link', { name: 'Endpoints' }).click();
    await page.getByRole('link', { name: receiver.url }).click();
    await page.getByLabel('Recover failed since').selectOption('Last 7 days');
    await press(page, 'Recover failed', 'recovered');
    await page.getByRole('status').filter({ hasText: 'is being sent again' }).waitFor();
    await relay.idle();
    const references = receiver.requests.map(({ body }) => JSON.parse(String(body)).references);
    expect(references.map(({ reference }) => reference)).toEqual(['PO-2', 'PO-0', 'PO-1']);
    await page.getByRole('link', { name: 'Sent', exact: true }).click();
    await page.getByRole('link', { name: 'Older →' }).click();
    await page.getByRole('link', { name: '← Newer' }).click();
    await page.getByText('By hand').first().waitFor();
    await picture(page, 'sent');
    await page.getByRole('link', { name: 'Event types' }).click();
    await page.getByText('The service canceled a delivery.').waitFor();
    await picture(page, 'event-types');
    expect(bench.complaints).toEqual([]);
  });

  it('refuses a link that was used, and says so', async () => {
    const bench = await visit();
    const { url } = bench.portal.mintLink();
    await bench.page.goto(url);
    await bench.page.waitForURL('**/portal/');
    const second = await browser.newPage();
    onTestFinished(() => second.close());
    await second.goto(url);
    await second.getByText('This link was used or has expired').waitFor();
    await second.waitForURL(`${bench.url}/portal/login`);
    await picture(second, 'spent');
    expect(bench.complaints).toEqual([]);
  });

  it('is no wider than a narrow screen, whatever a person writes', async () => {
    const bench = await visit();
    const { page, relay, receiver } = bench;
    const description = 'w'.repeat(200);
    const { id } = relay.createEndpoint({ url: receiver.url, description });
    relay.publish('sales_order.delivery_created', DELIVERY);
    await relay.idle();
    const [message] = relay.messages({ limit: 1 }).data;
    await page.setViewportSize({ width: 360, height: 740 });
    const widths: [string, unknown][] = [];
    const paths = ['', `endpoints/${id}`, `endpoints/${id}/delete`, 'messages', 'attempts'];
    for (const path of [...paths, `messages/${message?.id}`, 'event-types']) {
      await page.goto(`${bench.url}/portal/${path}`);
      widths.push([path, await page.evaluate('document.documentElement.scrollWidth')]);
    }
    expect(widths.filter(([, width]) => width !== 360)).toEqual([]);
    expect(bench.complaints).toEqual([]);
  });

  it('can be used with the keyboard alone', async () => {
    const bench = await visit();
    const { page, relay, receiver } = bench;
    const tabTo = async (name: string): Promise<void> => {
      for (let steps = 0; steps < 40; steps += 1) {
        await page.keyboard.press('Tab');
        const text = await page.evaluate(
          'const a = document.activeElement; a.id || a.value || a.textContent.trim()',
        );
        if (text === name) return;
      }
      throw new Error(`the keyboard does not reach "${name}"`);
    };
    await page.keyboard.press('Tab');
    await page.keyboard.press('Enter');
    await page.waitForURL(/#main$/);
    await tabTo('Add endpoint');
    await page.keyboard.press('Enter');
    await page.waitForURL('**/endpoints/new');
    await tabTo('url');
    await page.keyboard.type(receiver.url);
    await tabTo('sales_order.refund_created');
    await page.keyboard.press('Space');
    await page.keyboard.press('Enter');
    await page.waitForURL(/secret=show/);
    expect(relay.listEndpoints()).toMatchObject([{ eventTypes: ['sales_order.refund_created'] }]);
    await tabTo('Disable');
    await page.keyboard.press('Enter');
    await page.getByRole('button', { name: 'Enable' }).waitFor();
    expect(bench.complaints).toEqual([]);
  });
});
