/**
 * Clients of public generators, made from the OpenAPI documents that the product ships and serves.
 * They are installed in folders of the test, because none is a dependency of ours.
 */
import { execFile, execFileSync } from 'node:child_process';
import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { consoleDocument } from '../../../src/console/openapi/document.ts';
import { localApiDocument } from '../../../src/local-api/openapi/document.ts';
import type { Reference } from '../../../src/reference/reference.ts';

export const DOCUMENTS = ['erp', 'console', 'v1', 'v2'] as const;

/** Packages of a folder, pinned; two folders, because one generator wants an old zod. */
const PACKAGES = {
  new: [
    '@hey-api/openapi-ts@0.99.0',
    '@kubb/cli@4.39.3',
    '@kubb/core@4.39.3',
    '@kubb/plugin-client@4.39.3',
    '@kubb/plugin-oas@4.39.3',
    '@kubb/plugin-ts@4.39.3',
    '@types/node@24.19.2',
    'openapi-fetch@0.17.0',
    'openapi-typescript@7.13.0',
    'orval@8.38.0',
    'typescript@5.9.3',
    'zod@4.4.3',
  ],
  old: [
    '@types/node@24.19.2',
    '@zodios/core@10.9.6',
    'axios@1.7.9',
    'openapi-zod-client@1.18.3',
    'typescript@5.9.3',
    'zod@3.25.76',
  ],
} as const;
export type Kind = keyof typeof PACKAGES;

const COMPILER = {
  compilerOptions: {
    strict: true,
    module: 'commonjs',
    moduleResolution: 'node10',
    target: 'es2022',
    lib: ['es2023', 'dom', 'dom.iterable'],
    skipLibCheck: true,
    esModuleInterop: true,
    rewriteRelativeImportExtensions: true,
    types: ['node'],
    outDir: 'compiled',
    rootDir: '.',
  },
  include: ['src'],
};

/** Installs packages from the registry; false: it cannot be reached. */
export function install(folder: string, packages: readonly string[]): boolean {
  writeFileSync(join(folder, 'package.json'), '{ "private": true }\n');
  const args = ['install', '--no-audit', '--no-fund', '--ignore-scripts', '--save-exact'];
  try {
    execFileSync('npm', [...args, ...packages], { cwd: folder, stdio: 'pipe' });
    return true;
  } catch (error) {
    if (/ENOTFOUND|EAI_AGAIN|ECONNREFUSED|ETIMEDOUT|ENETUNREACH/.test(String(error))) return false;
    throw error;
  }
}

export const installKind = (folder: string, kind: Kind) => install(folder, PACKAGES[kind]);

/** Writes the four documents, `NAME.json`. */
export async function writeDocuments(folder: string, reference: Reference): Promise<void> {
  const get = async (base: string) => (await fetch(`${base}/openapi.json`)).text();
  const texts = {
    erp: JSON.stringify(localApiDocument()),
    console: JSON.stringify(consoleDocument()),
    v1: await get(reference.v1Url),
    v2: await get(reference.v2Url),
  };
  for (const [name, text] of Object.entries(texts))
    writeFileSync(join(folder, `${name}.json`), text);
}

export async function run(folder: string, program: string, args: readonly string[], env = {}) {
  const at = join(folder, 'node_modules/.bin', program);
  const { stdout } = await promisify(execFile)(at, args, {
    cwd: folder,
    env: { ...process.env, CI: 'true', ...env },
    maxBuffer: 1e8,
  });
  return stdout;
}

const KUBB = (name: string) => `
  import { defineConfig } from '@kubb/core';
  import { pluginClient } from '@kubb/plugin-client';
  import { pluginOas } from '@kubb/plugin-oas';
  import { pluginTs } from '@kubb/plugin-ts';
  export default defineConfig({
    root: '.',
    input: { path: './${name}.json' },
    output: { path: './src/${name}/kubb', clean: true },
    plugins: [pluginOas(), pluginTs(), pluginClient({ client: 'fetch', bundle: true })],
  });`;

const ORVAL = (name: string) => `
  const input = './${name}.json';
  const output = { target: './src/${name}/orval/api.ts', client: 'fetch' };
  const zod = { target: './src/${name}/orval/zod.ts', client: 'zod' };
  module.exports = { api: { input, output }, zod: { input, output: zod } };`;

/** Makes the clients of a document. */
export async function generate(folder: string, kind: Kind, name: string): Promise<void> {
  const [input, src] = [`${name}.json`, `src/${name}`];
  mkdirSync(join(folder, src), { recursive: true });
  if (kind === 'old') {
    await run(folder, 'openapi-zod-client', [input, '-o', `${src}/zodios.ts`]);
    return;
  }
  writeFileSync(join(folder, 'kubb.config.mjs'), KUBB(name));
  writeFileSync(join(folder, 'orval.config.cjs'), ORVAL(name));
  await run(folder, 'openapi-typescript', [input, '-o', `${src}/types.ts`]);
  await run(folder, 'openapi-ts', ['-i', input, '-o', `${src}/heyapi`]);
  await run(folder, 'orval', ['--config', 'orval.config.cjs']);
  await run(folder, 'kubb', ['generate', '--config', 'kubb.config.mjs']);
}

/** Compiles all clients and programs of a folder. */
export async function compile(folder: string): Promise<void> {
  writeFileSync(join(folder, 'tsconfig.json'), JSON.stringify(COMPILER));
  await run(folder, 'tsc', ['-p', '.']);
}

/** Programs that place an order with a client, and say what its receipt is. */
export const PROGRAMS: Record<Kind, Readonly<Record<string, string>>> = {
  new: {
    'openapi-typescript': `
      import createClient from 'openapi-fetch';
      import type { paths } from './erp/types';
      const client = createClient<paths>({ baseUrl, headers });
      const { data, error } = await client.POST('/api/orders', { body: order });
      tell(data?.state, error);`,
    'hey-api': `
      import { submitOrder } from './erp/heyapi/sdk.gen';
      const { data, error } = await submitOrder({ baseUrl, headers, body: order });
      tell(data?.state, error);`,
    orval: `
      import { submitOrder } from './erp/orval/api';
      import { SubmitOrderBody } from './erp/orval/zod';
      const own = globalThis.fetch;
      globalThis.fetch = (at, init) => own(baseUrl + String(at), init);
      SubmitOrderBody.parse(order);
      const { status, data } = await submitOrder(order, { headers });
      tell(status === 202 ? data.state : undefined, data);`,
    kubb: `
      import { submitOrder } from './erp/kubb/clients/submitOrder';
      const typed = { ...headers, 'content-type': 'application/json' };
      const taken = await submitOrder(order, undefined, { baseURL: baseUrl, headers: typed });
      tell('state' in taken ? taken.state : undefined, taken);`,
  },
  old: {
    'openapi-zod-client': `
      import { createApiClient } from './erp/zodios';
      const api = createApiClient(baseUrl, { axiosConfig: { headers } });
      const taken = await api.submitOrder(order);
      tell(taken.state, taken);`,
  },
};

const AROUND = `
  const baseUrl = process.env.URL ?? '';
  const headers = { authorization: 'Bearer ' + process.env.TOKEN };
  const shippingAddress = {
    firstName: 'Ada', lastName: 'Højholt 🧵', address: 'Torvet 1', city: 'Viborg', zip: '8800',
    countryCode: 'DK', phone: '+45 1234', email: 'ada@example.com',
  };
  const lines = [{ barcode: process.env.BARCODE ?? '', quantity: 1, price: '249.95' }];
  const order = { reference: process.env.REFERENCE ?? '', lines, shippingAddress, currency: 'EUR' };
  const tell = (state: unknown, all: unknown) => console.log(state ?? JSON.stringify(all));`;

/** Writes the programs of a folder; each is \`src/NAME.ts\`. */
export function writePrograms(folder: string, kind: Kind): void {
  for (const [name, text] of Object.entries(PROGRAMS[kind])) {
    const lines = text.split('\n');
    const imports = lines.filter((line) => /^ *import /.test(line));
    const rest = lines.filter((line) => !/^ *import /.test(line));
    const body = `void (async () => {${rest.join('\n')}\n})();\n`;
    const whole = `${imports.join('\n')}\n${AROUND}\n${body}`;
    writeFileSync(join(folder, 'src', `${name}.ts`), whole);
  }
}
