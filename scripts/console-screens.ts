/**
 * Photographs every screen of the console of a demo for somebody who looks at them:
 * `npm run screens -- DEMO OUT [PART]` with the folder of a demo that has run for some minutes.
 * Each screen is there light, dark, on a telephone and printed; PART names those to take.
 */
import { mkdirSync } from 'node:fs';
import { join } from 'node:path';
import type { APIResponse, Page } from 'playwright-core';
import { z } from 'zod';
import { launchBrowser } from '../test/support/chromium.ts';
import { printedLink, signInAt, until } from './demo-pictures.ts';

const WIDE = { width: 1_280, height: 900 };
const NARROW = { width: 390, height: 800 };
const NAVIGATION_MS_MAX = 120_000;

type At = (path: string) => string;

async function jsonOf<T extends z.ZodType>(answer: APIResponse, schema: T): Promise<z.output<T>> {
  return schema.parse(await answer.json());
}

const rowsOf = <T extends z.ZodType>(row: T) => z.looseObject({ rows: z.array(row) });
const runsSchema = rowsOf(z.looseObject({ runId: z.int() }));

/** Paths of all screens, by the names of their pictures. */
async function screensOf(page: Page, at: At): Promise<Map<string, string>> {
  const ask = (path: string) => page.request.get(at(path));
  const delivery = z.looseObject({ orderDeliveryId: z.int() });
  const { rows: held } = await jsonOf(await ask('/review.json'), rowsOf(delivery));
  const { rows: pushes } = await jsonOf(
    await ask('/outbox.json'),
    rowsOf(z.looseObject({ outboxId: z.int() })),
  );
  const { rows: runs } = await jsonOf(await ask('/pulls/stock.json'), runsSchema);
  const { rows: events } = await jsonOf(
    await ask('/events.json'),
    rowsOf(z.looseObject({ eventId: z.string() })),
  );
  const { rows: styles } = await jsonOf(
    await ask('/reports/best-sellers.json'),
    rowsOf(z.looseObject({ style_no: z.string() })),
  );
  const { rules } = await jsonOf(
    await ask('/rules.json'),
    z.looseObject({ rules: z.array(z.looseObject({ id: z.string(), action: z.string() })) }),
  );
  const id = held[0]?.orderDeliveryId;
  const style = encodeURIComponent(styles[0]?.style_no ?? '');
  const reject = rules.find(({ action }) => action === 'reject')?.id;
  const parts = ['now', 'facts', 'changes', 'raw'];
  return new Map([
    ['overview', '/'],
    ['review', '/review'],
    ['review-open', `/review?open=${id}`],
    ['review-empty', '/review?q=nobody-at-all'],
    ['delivery', `/deliveries/${id}`],
    ...parts.map((part): [string, string] => [`delivery-${part}`, `/deliveries/${id}/${part}`]),
    ['delivery-nowhere', '/deliveries/4711'],
    ['outbox', '/outbox'],
    ['outbox-empty', '/outbox?state=dead'],
    ['outbox-push', `/outbox/${pushes[0]?.outboxId}`],
    ['pulls', '/pulls'],
    ['pulls-stream', '/pulls/stock'],
    ['pulls-run', `/pulls/runs/${runs[0]?.runId}`],
    ['events', '/events'],
    ['events-empty', '/events?type=nothing'],
    ['events-event', `/events/${events[0]?.eventId}`],
    ['events-replay', '/acts/events.replay?since=1d'],
    ['rules', '/rules'],
    ['rules-rule', '/rules/hold-short-stock'],
    ['rules-reject', `/rules/${reject}`],
    ['rules-arm', `/rules/${reject}/arm`],
    ['rules-reload', '/rules/reload'],
    ['rules-trial', '/rules/trial'],
    ['stock', '/stock'],
    ['stock-empty', '/stock?q=nothing-like-it'],
    ['stock-style', `/stock/${style}`],
    ['stock-past', `/stock/${style}?asOf=2020-01-01T00:00`],
    ['reports', '/reports'],
    ['reports-form', '/reports/stock-grid'],
    ['reports-grid', `/reports/stock-grid?param.style=${style}`],
    ['reports-order-book', '/reports/order-book?run=1'],
    ['reports-customers', '/reports/customers?run=1'],
    ['reports-ats', '/reports/ats?run=1'],
    ['reports-refused', '/reports/stock-as-of?param.style=x&param.at=soon'],
    ['system', '/system'],
    ['system-doctor', '/system/doctor?now=1'],
    ['system-settings', '/system/settings'],
    ['system-audit', '/system/audit'],
    ['system-people', '/system/people'],
    ['nowhere', '/nowhere'],
  ]);
}

async function photograph(page: Page, path: string): Promise<void> {
  await page.screenshot({ path, animations: 'disabled', fullPage: true });
}

/** Pictures of the page that is open. */
async function takeAll(page: Page, out: string, name: string): Promise<void> {
  const shot = (kind: string) => photograph(page, join(out, `${name}-${kind}.png`));
  await page.setViewportSize(WIDE);
  for (const colorScheme of ['dark', 'light'] as const) {
    await page.emulateMedia({ colorScheme });
    await shot(colorScheme);
  }
  await page.setViewportSize(NARROW);
  await shot('narrow');
  const wide = await page.evaluate('document.documentElement.scrollWidth');
  if (Number(wide) > NARROW.width) console.log(`${name}: ${wide} px wide on a telephone`);
  await page.pdf({ path: join(out, `${name}.pdf`), preferCSSPageSize: true });
  await page.setViewportSize(WIDE);
}

/** A trial of a rule that holds more. */
async function tryRules(page: Page, at: At): Promise<void> {
  const text = `rules:
  - id: hold-large
    title: Large deliveries
    action: hold
    mode: live
    owner: sales
    when:
      - delivery.quantity > 20
    message: '{{delivery.quantity}} pieces'
`;
  await page.goto(at('/rules/trial'));
  await page.locator('textarea').fill(text);
  await page.getByRole('button', { name: 'Try' }).click();
  await until('the trial', async () => {
    await page.reload();
    return (await page.locator('.matrix').count()) > 0;
  });
}

const PAUSED = [
  ['overview', '/'],
  ['rules', '/rules'],
  ['pulls', '/pulls'],
  ['stream', '/pulls/brands'],
  ['system', '/system'],
] as const;

/** Screens while decisions and a stream are paused. */
async function takePaused(page: Page, at: At, out: string): Promise<void> {
  const targets = [
    { target: 'decisions', name: '' },
    { target: 'stream', name: 'brands' },
  ];
  const post = async (path: string): Promise<void> => {
    for (const one of targets) {
      const form = { ...one, reason: 'the stock is counted', back: '/' };
      await page.request.post(at(path), { form, headers: { origin: new URL(at('/')).origin } });
    }
  };
  await post('/pause');
  try {
    for (const [name, path] of PAUSED) {
      await page.goto(at(path));
      await takeAll(page, out, `paused-${name}`);
    }
  } finally {
    await post('/resume');
  }
}

async function main(demo: string, out: string, part: string): Promise<void> {
  mkdirSync(out, { recursive: true });
  const browser = await launchBrowser();
  try {
    const page = await browser.newPage({ viewport: WIDE, colorScheme: 'light' });
    page.setDefaultNavigationTimeout(NAVIGATION_MS_MAX);
    if ('sign-in'.includes(part)) {
      await page.goto(await printedLink(demo));
      await takeAll(page, out, 'sign-in');
    }
    const at = await signInAt(page, demo);
    const screens = await screensOf(page, at);
    for (const [name, path] of screens) {
      if (!name.includes(part)) continue;
      await page.goto(at(path));
      await takeAll(page, out, name);
    }
    if ('rules-tried'.includes(part)) {
      await tryRules(page, at);
      await takeAll(page, out, 'rules-tried');
    }
    if ('paused'.includes(part)) await takePaused(page, at, out);
  } finally {
    await browser.close();
  }
}

const [, , demo, out, part = ''] = process.argv;
if (demo === undefined || out === undefined) throw new Error('name the demo and a folder');
await main(demo, out, part);
