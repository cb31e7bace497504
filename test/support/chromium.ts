/** A real browser for tests of web pages: Debian's Chromium, driven through playwright-core. */
import { existsSync } from 'node:fs';
import { type Browser, chromium, type Page } from 'playwright-core';

const EXECUTABLE = '/usr/bin/chromium';

/** Throws, never skips: a page that nobody looked at is not tested. */
export async function launchBrowser(): Promise<Browser> {
  if (!existsSync(EXECUTABLE)) {
    throw new Error(`${EXECUTABLE} is missing; install it: apt-get install chromium`);
  }
  return chromium.launch({
    executablePath: EXECUTABLE,
    args: [
      '--headless',
      '--no-sandbox',
      '--disable-gpu',
      '--disable-quic',
      '--no-first-run',
      '--disable-background-networking',
      '--disable-component-update',
      '--disable-sync',
    ],
  });
}

/**
 * Collects what a page must never do: break its content security policy, throw, log an error or
 * ask another server. The list is empty at the end of a good test.
 */
export function watchPage(page: Page, ownOrigin: string): string[] {
  const complaints: string[] = [];
  page.on('pageerror', (error) => complaints.push(`threw: ${error.message}`));
  page.on('console', (message) => {
    // Chromium reports every answer 4xx as an error; a refusal is an answer like any other.
    const expected = /status of 4\d\d/.test(message.text());
    if (message.type() === 'error' && !expected) complaints.push(`console: ${message.text()}`);
  });
  page.on('request', (request) => {
    if (new URL(request.url()).origin !== ownOrigin) complaints.push(`asked ${request.url()}`);
  });
  return complaints;
}
