/** A demo for scripts that take pictures of it, and where the pictures go. */
import { execFile, spawn } from 'node:child_process';
import { mkdirSync, mkdtempSync, rmSync, statSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, relative } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { promisify } from 'node:util';
import type { Page } from 'playwright-core';
import { LAUNCHER, launcherEnv } from '../test/support/launcher.ts';
import { repositoryRoot } from '../test/support/source.ts';

const BYTES_MAX = 120 * 1_024;
/** A machine that does much else takes its time. */
const WAIT_MS_MAX = 1_200_000;
const POLL_MS = 2_000;

export async function until(what: string, isTrue: () => Promise<boolean>): Promise<void> {
  const end = performance.now() + WAIT_MS_MAX;
  while (performance.now() < end) {
    if (await isTrue()) return;
    await sleep(POLL_MS);
  }
  throw new Error(`waited too long for ${what}`);
}

/** A link for a name that is nobody's, so that the pictures do not tell who took them. */
export async function printedLink(folder: string): Promise<string> {
  const env = { ...launcherEnv(), SELVEDGE_CONFIG: join(folder, 'selvedge.yaml') };
  const args = [LAUNCHER, 'console', 'open', '--as', 'anna'];
  const { stdout } = await promisify(execFile)(process.execPath, args, { env });
  return stdout.trim();
}

/** Signs in by a printed link, as a person does; gives the way to spell addresses. */
export async function signInAt(page: Page, folder: string): Promise<(path: string) => string> {
  const link = await printedLink(folder);
  const at = (path: string): string => new URL(path, link).href;
  await page.goto(link);
  await page.getByRole('button', { name: 'Sign in with this link' }).click();
  await page.waitForURL(at('/'));
  return at;
}

/** Writes docs/pictures/NAME.png; throws where it would be too large for a repository. */
export async function savePicture(page: Page, name: string): Promise<void> {
  const path = join(repositoryRoot, 'docs/pictures', `${name}.png`);
  await page.screenshot({ path, animations: 'disabled' });
  const { size } = statSync(path);
  if (size > BYTES_MAX) throw new Error(`${path} has ${size} bytes, more than ${BYTES_MAX}`);
  console.log(`${relative(repositoryRoot, path)}: ${size} bytes`);
}

/** Runs a demo in a folder of its own while `take` takes pictures of it. */
export async function withDemo(take: (folder: string) => Promise<void>): Promise<void> {
  mkdirSync(join(repositoryRoot, 'docs/pictures'), { recursive: true });
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
      return /^console\b.* {2}http/m.test(said);
    });
    await take(folder);
  } finally {
    demo.kill('SIGINT');
    await ended;
    rmSync(folder, { recursive: true, force: true });
  }
}
