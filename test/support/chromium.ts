/**
 * A real browser for tests of web pages: the system's Chromium where it starts, else the one in
 * the npm package @sparticuz/chromium (x64 only).
 */
import { existsSync, mkdirSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { type Browser, chromium, type Page } from 'playwright-core';

const SYSTEM = '/usr/bin/chromium';

interface Executable {
  readonly executablePath: string;
  readonly env: Record<string, string | undefined>;
}

/**
 * Unpacks the package's browser once per user. Its libraries (nss, nspr, expat) lie in an archive
 * that the package itself unpacks only on AWS Lambda, and without a list of fonts it dies.
 */
async function unpackFromNpm(): Promise<Executable> {
  if (process.arch !== 'x64') {
    throw new Error(`npm has no Chromium for ${process.arch}: apt-get install chromium`);
  }
  const folder = join(tmpdir(), `selvedge-chromium-${process.getuid?.() ?? 0}`);
  mkdirSync(folder, { recursive: true, mode: 0o700 });
  const before = process.env.TMPDIR;
  // The package unpacks into os.tmpdir().
  process.env.TMPDIR = folder;
  try {
    const { default: packed, inflate } = await import('@sparticuz/chromium');
    const bin = join(dirname(fileURLToPath(import.meta.resolve('@sparticuz/chromium'))), '../bin');
    const executablePath = await packed.executablePath();
    await inflate(join(bin, 'al2023.tar.br'));
    const fonts = join(folder, 'fonts');
    mkdirSync(fonts, { recursive: true });
    const cache = join(folder, 'fonts-cache');
    writeFileSync(
      join(fonts, 'fonts.conf'),
      '<?xml version="1.0"?><!DOCTYPE fontconfig SYSTEM "fonts.dtd">' +
        `<fontconfig><dir>${fonts}</dir><cachedir>${cache}</cachedir></fontconfig>`,
    );
    const env = {
      ...process.env,
      HOME: folder,
      LD_LIBRARY_PATH: join(folder, 'al2023', 'lib'),
      FONTCONFIG_PATH: fonts,
    };
    return { executablePath, env };
  } finally {
    if (before === undefined) delete process.env.TMPDIR;
    else process.env.TMPDIR = before;
  }
}

function start({ executablePath, env }: Executable): Promise<Browser> {
  return chromium.launch({
    executablePath,
    env,
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

/** Throws, never skips: a page that nobody looked at is not tested. */
export async function launchBrowser(): Promise<Browser> {
  if (existsSync(SYSTEM)) {
    try {
      return await start({ executablePath: SYSTEM, env: process.env });
    } catch (error) {
      // Debian's is a shell script: it fails where PATH has no grep.
      if (process.arch !== 'x64') throw error;
    }
  }
  return start(await unpackFromNpm());
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
