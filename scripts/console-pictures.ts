/**
 * Takes the pictures of docs/console.md: `npm run pictures` starts the demo, signs in by a printed
 * link as a person does, and photographs the pages. Rules hold what they hold, so it waits until
 * enough deliveries are held.
 */
import { execFile } from 'node:child_process';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { launchBrowser } from '../test/support/chromium.ts';
import { LAUNCHER, launcherEnv } from '../test/support/launcher.ts';
import { savePicture, until, withDemo } from './demo-pictures.ts';

const WIDE = { width: 1_100, height: 640 };
const CARD = { width: 760, height: 960 };
const NARROW = { width: 390, height: 960 };
const HELD_MIN = 5;

/** A link for a name that is nobody's, so that the pictures do not tell who took them. */
async function printedLink(folder: string): Promise<string> {
  const env = { ...launcherEnv(), SELVEDGE_CONFIG: join(folder, 'selvedge.yaml') };
  const args = [LAUNCHER, 'console', 'open', '--as', 'anna'];
  const { stdout } = await promisify(execFile)(process.execPath, args, { env });
  return stdout.trim();
}

async function takePictures(folder: string): Promise<void> {
  const browser = await launchBrowser();
  try {
    const page = await browser.newPage({ viewport: WIDE, colorScheme: 'light' });
    const link = await printedLink(folder);
    const at = (path: string): string => new URL(path, link).href;
    await page.goto(link);
    await page.getByRole('button', { name: 'Sign in with this link' }).click();
    await page.waitForURL(at('/'));
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
