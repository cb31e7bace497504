/**
 * Takes the pictures of docs/console.md and docs/rules.md: `npm run pictures` starts the demo,
 * signs in by a printed link as a person does, and photographs the pages. Rules hold what they
 * hold, so it waits until enough deliveries are held. With a demo's folder
 * (`npm run pictures -- FOLDER`), of that one.
 */
import type { Page } from 'playwright-core';
import { launchBrowser } from '../test/support/chromium.ts';
import { savePicture, signInAt, until, withDemo } from './demo-pictures.ts';

const WIDE = { width: 1_100, height: 640 };
const CARD = { width: 760, height: 960 };
const NARROW = { width: 390, height: 960 };
const RULE = { width: 1_000, height: 800 };
const PROPOSAL = { width: 1_000, height: 900 };
/** The matrix of a trial, with sums in five currencies. */
const PAST = { width: 1_000, height: 720 };
const RESULT = { width: 1_000, height: 560 };
const HELD_MIN = 5;
const WAIT_MS_MAX = 300_000;

/** Change that the tutorial has its reader try: a limit for what passes today. */
const TRIED = `rules:
  - id: hold-large
    title: Somebody looks at large deliveries
    action: hold
    mode: shadow
    owner: sales
    when:
      - delivery.quantity > 30
    message: '{{delivery.quantity}} pieces'
`;

/** From the rule that holds a delivery to a trial of another one, and to arming. */
async function takeRules(page: Page, at: (path: string) => string): Promise<void> {
  await page.setViewportSize(RULE);
  await page.goto(at('/rules/hold-short-stock'));
  await savePicture(page, 'console-rule');
  await page.goto(at('/rules/trial'));
  await page.locator('textarea').fill(TRIED);
  await page.getByLabel('rules that only watch are live here').check();
  await savePicture(page, 'console-try');
  await page.getByRole('button', { name: 'Try' }).click();
  await page.locator('.matrix').waitFor();
  await page.setViewportSize(RESULT);
  await page.locator('h2', { hasText: 'The past' }).scrollIntoViewIfNeeded();
  await savePicture(page, 'console-trial');
  await page.setViewportSize(WIDE);
  await page.goto(at('/rules/reject-closed-season-nothing-left/arm'));
  await savePicture(page, 'console-arming');
  await page.goto(at('/rules'));
  await savePicture(page, 'console-rules');
}

/** From what people decided to the text of a rule, and to its trial. */
async function takeProposals(page: Page, at: (path: string) => string): Promise<void> {
  await page.setViewportSize(WIDE);
  await page.goto(at('/rules/suggest'));
  const card = page.locator('article.card').first();
  await card.waitFor();
  await savePicture(page, 'console-proposals');
  await card.getByText('Text to keep in a file').click();
  await page.setViewportSize(PROPOSAL);
  await card.evaluate((element) => element.scrollIntoView());
  await savePicture(page, 'console-proposal');
  await page.setViewportSize(PAST);
  await card.getByRole('link', { name: 'Try it' }).click();
  await page.getByRole('button', { name: 'Try', exact: true }).click();
  await page.locator('.matrix').waitFor();
  const past = page.locator('h2', { hasText: 'The past' });
  await past.evaluate((element) => element.scrollIntoView());
  await savePicture(page, 'console-proposal-trial');
}

async function takePictures(folder: string): Promise<void> {
  const browser = await launchBrowser();
  try {
    const page = await browser.newPage({ viewport: WIDE, colorScheme: 'light' });
    page.setDefaultTimeout(WAIT_MS_MAX);
    const at = await signInAt(page, folder);
    // A reason with pieces comes with the first stock; until then the daemon waits for that.
    const short = page.locator('tr[data-row]', { hasText: 'missing)' });
    await until(`${HELD_MIN} held deliveries, one of them short`, async () => {
      await page.goto(at('/review'));
      const held = await page.locator('tr[data-row]').count();
      return held >= HELD_MIN && (await short.count()) > 0;
    });
    await short.first().locator('a[data-open]').click();
    await page.locator('#detail article').waitFor();
    await savePicture(page, 'console-review');
    await page.setViewportSize(CARD);
    await page.locator('#detail h2 a').click();
    await page.locator('main > .columns article').waitFor();
    await savePicture(page, 'console-delivery');
    await page.setViewportSize(NARROW);
    await page.goto(at('/review'));
    await savePicture(page, 'console-narrow');
    await page.setViewportSize(WIDE);
    await page.goto(at('/'));
    await savePicture(page, 'console-overview');
    await takeRules(page, at);
    await takeProposals(page, at);
  } finally {
    await browser.close();
  }
}

const [, , folder] = process.argv;
await (folder === undefined ? withDemo(takePictures) : takePictures(folder));
