/** The cost that a screen of the console may have on the way to a browser, for every screen. */
import { gzipSync } from 'node:zlib';
import type { Browser, BrowserContext } from 'playwright-core';
import { afterAll, beforeAll, expect, it, onTestFinished } from 'vitest';
import { startRulesHouse } from '../console/rules-house.ts';
import { screensOf } from '../console/screens.ts';
import { caller, signIn } from '../console/support.ts';
import { launchBrowser } from '../support/chromium.ts';

const FIRST = { requests: 10, zippedBytes: 50 * 1_024 };
const NEXT = { requests: 3 };

/** Screens that are looked at side by side. */
const LANES = 4;

/** Asked again and again while a page is open, and never part of its load. */
const LIVE = /\/changes\.json$/;

let browser: Browser;

beforeAll(async () => {
  browser = await launchBrowser();
});

afterAll(async () => {
  await browser?.close();
});

interface Cost {
  readonly requests: number;
  readonly zippedBytes: number;
  readonly scripts: readonly string[];
}

/** Opens a page and counts what came over the wire, not what the browser had already. */
async function costOf(context: BrowserContext, url: string): Promise<Cost> {
  const page = await context.newPage();
  const wire = await context.newCDPSession(page);
  const asked = new Map<string, string>();
  await wire.send('Network.enable');
  wire.on('Network.responseReceived', ({ requestId, response }) => {
    if (!response.fromDiskCache && !LIVE.test(response.url)) asked.set(requestId, response.url);
  });
  wire.on('Network.requestServedFromCache', ({ requestId }) => asked.delete(requestId));
  await page.goto(url, { waitUntil: 'networkidle' });
  let zippedBytes = 0;
  for (const requestId of asked.keys()) {
    const { body, base64Encoded } = await wire.send('Network.getResponseBody', { requestId });
    zippedBytes += gzipSync(Buffer.from(body, base64Encoded ? 'base64' : 'utf8')).length;
  }
  await page.close();
  const scripts = [...asked.values()].filter((one) => one.endsWith('.js'));
  return { requests: asked.size, zippedBytes, scripts };
}

it('no screen asks for more than 10 things or 50 KB at first, and 3 after that', async () => {
  const house = await startRulesHouse(onTestFinished);
  const { cookie } = await signIn(house, 'anna', 'approver');
  const screens = await screensOf(house, caller(house.url, { cookie }));
  const [name = '', value = ''] = cookie.split('=');
  const beyond: string[] = [];
  const look = async (path: string): Promise<void> => {
    const context = await browser.newContext();
    await context.addCookies([{ name, value, url: house.url }]);
    const first = await costOf(context, `${house.url}${path}`);
    const next = await costOf(context, `${house.url}${path}`);
    await context.close();
    const scripts = first.scripts.map((one) => one.replace(/^.*\//, '')).sort();
    expect([path, scripts]).toEqual([path, ['console.js']]);
    const isOver =
      first.requests > FIRST.requests ||
      first.zippedBytes > FIRST.zippedBytes ||
      next.requests > NEXT.requests;
    if (isOver) beyond.push(`${path}: ${JSON.stringify({ first, next })}`);
  };
  // A page is silent for half a second before it counts as loaded: others load in that time.
  const left = screens.values();
  const lane = async (): Promise<void> => {
    for (const path of left) await look(path);
  };
  await Promise.all(Array.from({ length: LANES }, lane));
  expect(beyond).toEqual([]);
});
