/**
 * Takes the pictures of docs/console.md: `npm run pictures` starts the demo, signs in by a printed
 * link as a person does, and photographs the pages. Rules hold what they hold, so it waits until
 * enough deliveries are held.
 */
import { execFile, spawn } from 'node:child_process';
import { mkdirSync, mkdtempSync, rmSync, statSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, relative } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { promisify } from 'node:util';
import type { Page } from 'playwright-core';
import { launchBrowser } from '../test/support/chromium.ts';
import { LAUNCHER, launcherEnv } from '../test/support/launcher.ts';
import { repositoryRoot } from '../test/support/source.ts';

const WIDE = { width: 1_100, height: 640 };
const CARD = { width: 760, height: 960 };
const NARROW = { width: 390, height: 960 };
const HELD_MIN = 5;
const BYTES_MAX = 120 * 1_024;
const WAIT_MS_MAX = 300_000;
const POLL_MS = 2_000;

const pictures = join(repositoryRoot, 'docs/pictures');

async function until(what: string, isTrue: () => Promise<boolean>): Promise<void> {
  const end = performance.now() + WAIT_MS_MAX;
  while (performance.now() < end) {
    if (await isTrue()) return;
    await sleep(POLL_MS);
  }
  throw new Error(`waited too long for ${what}`);
}

async function picture(page: Page, name: string): Promise<void> {
  const path = join(pictures, `console-${name}.png`);
  await page.screenshot({ path, animations: 'disabled' });
  const { size } = statSync(path);
  if (size > BYTES_MAX) throw new Error(`${path} has ${size} bytes, more than ${BYTES_MAX}`);
  console.log(`${relative(repositoryRoot, path)}: ${size} bytes`);
}

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
    await picture(page, 'review');
    await page.setViewportSize(CARD);
    await page.locator('#detail h2 a').click();
    await page.locator('main > .columns article').waitFor();
    await picture(page, 'delivery');
    await page.setViewportSize(NARROW);
    await page.goto(at('/review'));
    await picture(page, 'narrow');
    await page.setViewportSize(WIDE);
    await page.goto(at('/'));
    await picture(page, 'overview');
  } finally {
    await browser.close();
  }
}

mkdirSync(pictures, { recursive: true });
const folder = mkdtempSync(join(tmpdir(), 'selvedge-pictures-'));
const args = [LAUNCHER, 'demo', '--plain', '--dir', folder];
const demo = spawn(process.execPath, args, {
  env: launcherEnv(),
  stdio: ['ignore', 'pipe', 'inherit'],
});
const ended = new Promise((resolve) => demo.once('exit', resolve));
try {
  let said = '';
  demo.stdout.setEncoding('utf8').on('data', (text: string) => {
    said += text;
  });
  await until('the demo', async () => {
    if (demo.exitCode !== null) throw new Error(`the demo ended:\n${said}`);
    return /^console {2}http/m.test(said);
  });
  await takePictures(folder);
} finally {
  demo.kill('SIGINT');
  await ended;
  rmSync(folder, { recursive: true, force: true });
}
