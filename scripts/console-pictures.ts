/**
 * Takes the pictures of docs/console.md: `npm run pictures` starts the demo, signs in by a printed
 * link as a person does, and photographs the pages. Rules hold what they hold, so it waits until
 * enough deliveries are held.
 */
import { launchBrowser } from '../test/support/chromium.ts';
import { savePicture, signInAt, until, withDemo } from './demo-pictures.ts';

const WIDE = { width: 1_100, height: 640 };
const CARD = { width: 760, height: 960 };
const NARROW = { width: 390, height: 960 };
const HELD_MIN = 5;

async function takePictures(folder: string): Promise<void> {
  const browser = await launchBrowser();
  try {
    const page = await browser.newPage({ viewport: WIDE, colorScheme: 'light' });
    const at = await signInAt(page, folder);
    await until(`${HELD_MIN} held deliveries`, async () => {
      await page.goto(at('/review'));
      return (await page.locator('tr[data-row]').count()) >= HELD_MIN;
    });
    await page.locator('a[data-open]').first().click();
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
  } finally {
    await browser.close();
  }
}

await withDemo(takePictures);
