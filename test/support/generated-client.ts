/**
 * A client of an API that nobody here wrote: made from its OpenAPI document by a generator that
 * knows nothing else of it. It takes what the document says of paths, queries, bodies and answers.
 */
import { execFile } from 'node:child_process';
import { symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { promisify } from 'node:util';
import { z } from 'zod';
import { runRedocly } from './openapi-lint.ts';
import { repositoryRoot } from './source.ts';

export interface Asked {
  readonly path?: Readonly<Record<string, number | string>>;
  readonly query?: Readonly<Record<string, string>>;
  readonly body?: object;
}

interface Told {
  readonly response: Response;
  /** JSON as a value, CSV and HTML as text, anything else as a Blob. */
  readonly data: unknown;
}

export interface GeneratedClient {
  /** Ids of all operations that it has. */
  readonly operations: readonly string[];
  /** Throws where an answer of success is not as the document says. */
  ask(operation: string, asked: Asked): Promise<Told>;
}

export interface Credentials {
  readonly token?: string;
  readonly headers?: Readonly<Record<string, string>>;
}

type Method = (asked: Asked) => Promise<{ data?: unknown; error?: unknown; response: Response }>;

const method = z.custom<Method>((value) => typeof value === 'function');
const clientModule = z.looseObject({
  OPERATIONS: z.record(z.string(), z.unknown()),
  createClient: z.custom<(operations: object, config: object) => Record<string, unknown>>(),
});
const schemas = z.looseObject({
  operationSchemas: z.record(z.string(), z.object({ request: z.custom<z.ZodType>().optional() })),
  zodValidation: z.custom<(options: object) => object>(),
});

const TYPES = ['--strict', '--noEmit', '--skipLibCheck', '--target', 'esnext', '--module'];

/** Throws where its types are not those of a client that could be used. */
async function checkTypes(folder: string): Promise<void> {
  const args = [join(repositoryRoot, 'node_modules/typescript/bin/tsc'), ...TYPES, 'nodenext'];
  const more = ['--allowImportingTsExtensions', '--types', 'node'];
  const files = ['client.ts', 'client.zod.ts'];
  await promisify(execFile)(process.execPath, [...args, ...more, ...files], { cwd: folder });
}

/** Generates a client from this document, in a folder of its own. */
export async function generateClient(
  folder: string,
  document: string,
): Promise<{
  as(serverUrl: string, credentials: Credentials): GeneratedClient;
}> {
  writeFileSync(join(folder, 'document.json'), document);
  writeFileSync(join(folder, 'package.json'), '{ "type": "module" }');
  symlinkSync(join(repositoryRoot, 'node_modules'), join(folder, 'node_modules'));
  await runRedocly(folder, [
    ...['generate-client', 'document.json', '--output', 'client.ts', '--import-ext', 'ts'],
    ...['--generator', 'typescript', '--generator', 'zod'],
    ...['--args-style', 'grouped', '--error-mode', 'result'],
  ]);
  await checkTypes(folder);
  const load = (name: string) => import(pathToFileURL(join(folder, name)).href);
  const { OPERATIONS, createClient } = clientModule.parse(await load('client.ts'));
  const { operationSchemas, zodValidation } = schemas.parse(await load('client.zod.ts'));
  return {
    as(serverUrl, { token, headers = {} }) {
      const client = createClient(OPERATIONS, {
        ...{ serverUrl, headers, errorMode: 'result' },
        auth: { bearer: token },
        middleware: [zodValidation({ request: false, response: 'throw' })],
      });
      return {
        operations: Object.keys(OPERATIONS),
        async ask(operation, asked) {
          const { data, error, response } = await method.parse(client[operation])(asked);
          // An answer of success must be as described; a refusal may be anything.
          if (response.ok) operationSchemas[operation]?.request?.parse(asked.body);
          return { response, data: data ?? error };
        },
      };
    },
  };
}
