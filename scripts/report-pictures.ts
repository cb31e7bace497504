/**
 * Takes the pictures of docs/reports.md: `npm run pictures:reports` starts the demo, waits until
 * enough was delivered, runs reports as pages and photographs them. With the folder of a demo
 * (`npm run pictures:reports -- FOLDER`), of that one.
 */
import { execFile } from 'node:child_process';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { promisify } from 'node:util';
import { launchBrowser } from '../test/support/chromium.ts';
import { LAUNCHER, launcherEnv } from '../test/support/launcher.ts';
import { savePicture, until, withDemo } from './demo-pictures.ts';

const SIZE = { width: 1_100, height: 560 };
const STYLES_MIN = 20;

interface Sold {
  readonly style_no: string;
}

async function takePictures(folder: string): Promise<void> {
  const report = async (...args: string[]): Promise<string> => {
    const config = ['--config', join(folder, 'selvedge.yaml')];
    const { stdout } = await promisify(execFile)(
      process.execPath,
      [LAUNCHER, 'report', 'run', ...args, ...config],
      { env: launcherEnv(), maxBuffer: 67_108_864 },
    );
    return stdout;
  };
  let styles: readonly string[] = [];
  await until(`${STYLES_MIN} styles that sold`, async () => {
    const sold: readonly Sold[] = JSON.parse(await report('best-sellers', '--format', 'json'));
    styles = sold.map(({ style_no: style }) => style);
    return sold.length >= STYLES_MIN;
  });
  // A style that sold from a season's list need not be in that of the stock.
  let style = '';
  for (const one of styles) {
    const rows = await report('stock-grid', '--param', `style=${one}`, '--format', 'json');
    style = one;
    if (rows.trim() !== '[]') break;
  }
  const shown: readonly (readonly string[])[] = [
    ['stock-grid', '--param', `style=${style}`],
    ['best-sellers', '--param', 'top=20'],
    ['order-book', '--param', 'by=brand'],
    ['stock-value'],
  ];
  const browser = await launchBrowser();
  try {
    const page = await browser.newPage({ viewport: SIZE, colorScheme: 'light' });
    for (const [name = '', ...args] of shown) {
      const file = join(folder, `${name}.html`);
      await report(name, ...args, '--format', 'html', '--output', file);
      await page.goto(pathToFileURL(file).href);
      await savePicture(page, `report-${name}`);
    }
  } finally {
    await browser.close();
  }
}

const [, , folder] = process.argv;
await (folder === undefined ? withDemo(takePictures) : takePictures(folder));
