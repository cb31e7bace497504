/** Style sheet, script and icon of the pages. */
import { createHash } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { gzipSync } from 'node:zlib';
import type { FastifyInstance } from 'fastify';

const FILES = {
  'console.css': [join(import.meta.dirname, 'assets/console.css'), 'text/css; charset=utf-8'],
  'console.js': [join(import.meta.dirname, 'assets/console.js'), 'text/javascript; charset=utf-8'],
  'console.svg': [join(import.meta.dirname, 'assets/console.svg'), 'image/svg+xml'],
} as const;

export type AssetName = keyof typeof FILES;

interface Asset {
  readonly type: string;
  readonly content: Buffer;
  readonly zipped: Buffer;
  readonly tag: string;
}

const assets = new Map<string, Asset>();
for (const [name, [path, type]] of Object.entries(FILES)) {
  const content = readFileSync(path);
  const tag = createHash('sha256').update(content).digest('hex').slice(0, 12);
  assets.set(name, { type, content, tag, zipped: gzipSync(content) });
}

/** Address of an asset. It changes with the content, so that browsers may cache it for ever. */
export function assetPath(name: AssetName): string {
  return `/assets/${assets.get(name)?.tag}/${name}`;
}

export function installAssets(app: FastifyInstance): void {
  app.get<{ Params: { name: string } }>('/assets/:tag/:name', (request, reply) => {
    const asset = assets.get(request.params.name);
    if (!asset) return reply.callNotFound();
    const takesGzip = String(request.headers['accept-encoding'] ?? '').includes('gzip');
    reply
      .header('cache-control', 'public, max-age=31536000, immutable')
      .header('vary', 'accept-encoding');
    if (takesGzip) reply.header('content-encoding', 'gzip');
    return reply.type(asset.type).send(takesGzip ? asset.zipped : asset.content);
  });
}
