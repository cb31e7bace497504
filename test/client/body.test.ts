import * as zlib from 'node:zlib';
import { describe, expect, it } from 'vitest';
import type { HttpRequest } from '../../src/client/http/request.ts';
import type { Transport } from '../../src/client/transport.ts';
import { type Handler, impatient, rejection, startFaulty } from './support.ts';

const read = (url: string): HttpRequest => ({ method: 'GET', url: `${url}/x`, priority: 'read' });
const push = (url: string): HttpRequest => ({
  ...{ method: 'POST', url: `${url}/x`, priority: 'push' },
  json: {},
});

type Headers = Record<string, string>;

function answer(body: Buffer, headers: Headers, pieceBytes = body.length): Handler {
  return (_request, response) => {
    response.writeHead(200, { 'content-type': 'application/json', ...headers });
    const rest = (at: number): void => {
      if (at >= body.length) response.end();
      else response.write(body.subarray(at, at + pieceBytes), () => rest(at + pieceBytes));
    };
    rest(0);
  };
}

async function with_(
  handler: Handler,
  use: (url: string, transport: Transport) => Promise<void>,
  options: Parameters<typeof impatient>[0] = {},
): Promise<void> {
  await using server = await startFaulty(handler);
  await using transport = impatient(options);
  await use(server.url, transport);
}

async function streamed(transport: Transport, url: string): Promise<string> {
  const { body } = await transport.stream(read(url));
  const chunks: Buffer[] = [];
  for await (const chunk of body) chunks.push(chunk);
  return Buffer.concat(chunks).toString();
}

const dialects = (transport: Transport) => Object.keys(transport.stats().dialects);

/** Å and é in the middle of a text, and an apostrophe that only windows-1252 has there. */
const NAMES = { brand: 'Ålborg Côté', color: 'Blåbær’s' };
const WINDOWS = Buffer.from(JSON.stringify(NAMES).replace('’', '\x92'), 'latin1');
const UTF8 = Buffer.from(JSON.stringify(NAMES));
const MARK = Buffer.from('\ufeff');
const UTF16 = Buffer.from(`\ufeff${JSON.stringify(NAMES)}`, 'utf16le');

describe('charset', () => {
  it.each<[string, Buffer, Headers, readonly string[]]>([
    ['none', UTF8, {}, []],
    ['utf-8', UTF8, { 'content-type': 'application/json; charset="UTF-8"' }, []],
    [
      'windows-1252',
      WINDOWS,
      { 'content-type': 'text/json;charset=windows-1252' },
      ['charset=windows-1252'],
    ],
    ['latin1', WINDOWS, { 'content-type': 'text/json; Charset=Latin1' }, ['charset=latin1']],
    ['none, and the bytes are of windows-1252', WINDOWS, {}, ['charset=none (windows-1252 came)']],
    [
      'Latin by the default of a server that sends UTF-8',
      UTF8,
      { 'content-type': 'application/json; charset=ISO-8859-1' },
      ['charset=iso-8859-1 (UTF-8 came)'],
    ],
    [
      'one that nobody knows',
      UTF8,
      { 'content-type': 'a/b; charset=x-own' },
      ['charset=x-own (unknown)'],
    ],
    ['a mark of UTF-16', UTF16, {}, ['charset=utf-16le']],
    ['a mark of UTF-8', Buffer.concat([MARK, UTF8]), {}, []],
    ['the marks of two scripts that make the answer', Buffer.concat([MARK, MARK, UTF8]), {}, []],
    [
      'windows-1252, behind the mark of a script in UTF-8',
      Buffer.concat([MARK, WINDOWS]),
      { 'content-type': 'text/json;charset=windows-1252' },
      ['charset=windows-1252'],
    ],
    [
      'utf-16 without a mark',
      UTF16.subarray(2),
      { 'content-type': 'a/b; charset=utf-16' },
      ['charset=utf-16'],
    ],
  ])('is read from the header: %s', async (_name, bytes, headers, noted) => {
    await with_(answer(bytes, headers), async (url, transport) => {
      expect((await transport.request(read(url))).json).toEqual(NAMES);
      expect(dialects(transport)).toEqual(noted);
    });
  });

  it.each([1, 2, 3, 7, 1_000])('is read in a stream of pieces of %i bytes', async (piece) => {
    const rows = Array.from({ length: 40 }, () => NAMES);
    for (const [bytes, type] of [
      [Buffer.from(JSON.stringify(rows)), 'application/json'],
      [Buffer.from(JSON.stringify(rows)), 'application/json; charset=utf-8'],
      [Buffer.from(JSON.stringify(rows).replaceAll('’', '\x92'), 'latin1'), 'application/json'],
      [Buffer.from(JSON.stringify(rows), 'utf16le'), 'application/json; charset=utf-16le'],
      [Buffer.from(`\ufeff\ufeff${JSON.stringify(rows)}`), 'application/json'],
      [
        Buffer.concat([MARK, Buffer.from(JSON.stringify(rows).replaceAll('’', '\x92'), 'latin1')]),
        'application/json; charset=windows-1252',
      ],
    ] as const) {
      await with_(answer(bytes, { 'content-type': type }, piece), async (url, transport) => {
        expect(JSON.parse(await streamed(transport, url))).toEqual(rows);
      });
    }
  });

  it.each<[string, Buffer, string, RegExp]>([
    ['UTF-8', WINDOWS, 'a/b; charset=utf-8', /it says utf-8, and is no UTF-8 behind ‹.*brand":"›/],
    [
      'UTF-16',
      Buffer.from([0x22, 0x00, 0x00, 0xd8, 0x22, 0x00]),
      'a/b; charset=utf-16le',
      /utf-16le/,
    ],
    [
      'nothing, and two charsets stand in it',
      Buffer.concat([UTF8.subarray(0, -1), Buffer.from(',"x":"\xe5"}', 'latin1')]),
      'application/json',
      /names no charset, and is no UTF-8/,
    ],
  ])('that the bytes are not of breaks a read: %s', async (_name, bytes, type, message) => {
    await with_(answer(bytes, { 'content-type': type }), async (url, transport) => {
      const error = await rejection(transport.request(read(url)));
      const broken = { code: 'transport.broken_answer', message: expect.stringMatching(message) };
      expect(error).toMatchObject(broken);
      expect(await rejection(streamed(transport, url))).toMatchObject(broken);
    });
  });

  it('leaves the outcome of a write known, whatever its words have become', async () => {
    const bytes = Buffer.from('{"orderId":7,"comment":"\xe5"}', 'latin1');
    const headers = { 'content-type': 'application/json; charset=utf-8' };
    await with_(answer(bytes, headers), async (url, transport) => {
      expect((await transport.request(push(url))).json).toMatchObject({ orderId: 7 });
      expect(dialects(transport)).toEqual(['charset=another (in the answer to a write)']);
    });
  });

  it('is that of the words of an error, too', async () => {
    const handler: Handler = (_request, response) => {
      response.writeHead(422, { 'content-type': 'application/json; charset=iso-8859-1' });
      const said = { status: 422, message: 'ungültig', invalid_data: ['straße: fehlt'] };
      response.end(Buffer.from(JSON.stringify(said), 'latin1'));
    };
    await with_(handler, async (url, transport) => {
      const error = await rejection(transport.request(read(url)));
      expect(error).toMatchObject({ message: expect.stringContaining('ungültig: straße: fehlt') });
    });
  });
});

const rows = Array.from({ length: 5_000 }, (_, row) => ({ row, name: `Blåbær ${row}` }));
const TEXT = Buffer.from(JSON.stringify(rows));

describe('content coding', () => {
  it.each<[string, Buffer]>([
    ['gzip', zlib.gzipSync(TEXT)],
    ['GZIP', zlib.gzipSync(TEXT)],
    ['x-gzip', zlib.gzipSync(TEXT)],
    ['br', zlib.brotliCompressSync(TEXT)],
    ['deflate', zlib.deflateSync(TEXT)],
    ['deflate', zlib.deflateRawSync(TEXT)],
    ['zstd', zlib.zstdCompressSync(TEXT)],
    ['gzip, br', zlib.brotliCompressSync(zlib.gzipSync(TEXT))],
    ['identity, gzip', zlib.gzipSync(TEXT)],
  ])('%s is read, whole and as a stream', async (coding, bytes) => {
    for (const piece of [1_000, bytes.length]) {
      await with_(answer(bytes, { 'content-encoding': coding }, piece), async (url, transport) => {
        expect((await transport.request(read(url))).json).toEqual(rows);
        expect(JSON.parse(await streamed(transport, url))).toEqual(rows);
        expect(transport.limiter.active()).toBe(0);
      });
    }
  });

  it.each(['', 'none', 'utf-8', 'binary', 'application/json'])(
    'that is none is noted, and the body is read as it is: %j',
    async (coding) => {
      await with_(answer(TEXT, { 'content-encoding': coding }), async (url, transport) => {
        expect((await transport.request(read(url))).json).toEqual(rows);
        expect(JSON.parse(await streamed(transport, url))).toEqual(rows);
        expect(transport.stats().dialects).toEqual({ [`content-encoding=${coding} (none)`]: 2 });
      });
    },
  );

  it('is seen in the bytes where the header tells otherwise', async () => {
    await with_(answer(zlib.gzipSync(TEXT), {}, 7_000), async (url, transport) => {
      expect((await transport.request(read(url))).json).toEqual(rows);
      expect(JSON.parse(await streamed(transport, url))).toEqual(rows);
      expect(dialects(transport)).toEqual(['content-encoding=none (gzip came)']);
    });
    await with_(answer(TEXT, { 'content-encoding': 'gzip' }, 7_000), async (url, transport) => {
      expect((await transport.request(read(url))).json).toEqual(rows);
      expect(JSON.parse(await streamed(transport, url))).toEqual(rows);
      expect(dialects(transport)).toEqual(['content-encoding=gzip (none)']);
    });
  });

  it('has no say where there is no body', async () => {
    const handler: Handler = (_request, response) => {
      response.writeHead(204, { 'content-encoding': 'gzip' }).end();
    };
    await with_(handler, async (url, transport) => {
      expect(await transport.request(read(url))).toMatchObject({ status: 204, json: undefined });
    });
  });

  it.each<[string, string, Buffer, RegExp]>([
    ['that nobody reads', 'compress', TEXT, /packed with compress/],
    ['that is cut off', 'gzip', zlib.gzipSync(TEXT).subarray(0, 2_000), /cannot be unpacked/],
    ['that is damaged', 'br', TEXT, /cannot be unpacked \(br\)/],
  ])(
    '%s breaks the answer, and the connection is let go',
    async (_name, coding, bytes, message) => {
      await with_(answer(bytes, { 'content-encoding': coding }), async (url, transport) => {
        const broken = { code: 'transport.broken_answer', message: expect.stringMatching(message) };
        expect(await rejection(transport.request(read(url)))).toMatchObject(broken);
        expect(await rejection(streamed(transport, url))).toMatchObject(broken);
        expect(await rejection(transport.request(push(url)))).toMatchObject({
          name: 'InDoubtError',
        });
        expect(transport.limiter.active()).toBe(0);
      });
    },
  );

  it('is bounded by what it unpacks to: a bomb without end ends early', async () => {
    const bomb = zlib.gzipSync(Buffer.alloc(100_000_000, ' '));
    let closed = 0;
    const handler: Handler = (_request, response) => {
      response.on('close', () => {
        closed += 1;
      });
      response.writeHead(200, { 'content-encoding': 'gzip' });
      const more = (): void => {
        while (response.write(bomb));
        response.once('drain', more);
      };
      more();
    };
    const limits = { bodyBytesMax: 1_000_000, streamBytesMax: 1_000_000 };
    const before = process.memoryUsage().rss;
    await with_(
      handler,
      async (url, transport) => {
        const tooLarge = { code: 'transport.too_large' };
        expect(await rejection(transport.request(read(url)))).toMatchObject(tooLarge);
        expect(await rejection(streamed(transport, url))).toMatchObject(tooLarge);
        await expect.poll(() => closed).toBe(2);
        expect(transport.limiter.active()).toBe(0);
      },
      limits,
    );
    expect(process.memoryUsage().rss - before).toBeLessThan(100_000_000);
  });

  it('bounds the page of an error in the same way', async () => {
    const bomb = zlib.gzipSync(Buffer.alloc(200_000_000, 'maintenance '));
    let closed = 0;
    const handler: Handler = (_request, response) => {
      response.on('close', () => {
        closed += 1;
      });
      response.writeHead(503, { 'content-encoding': 'gzip', 'content-type': 'text/html' });
      response.write(bomb);
    };
    await with_(handler, async (url, transport) => {
      const error = await rejection(transport.request(read(url)));
      expect(error).toMatchObject({
        ...{ code: 'service.unavailable', message: expect.stringContaining('maintenance') },
      });
      await expect.poll(() => closed).toBe(3);
    });
  });

  it('lets go of a stream that its reader leaves in the middle', async () => {
    let closed = 0;
    const handler: Handler = (_request, response) => {
      response.on('close', () => {
        closed += 1;
      });
      response.writeHead(200, { 'content-encoding': 'gzip' });
      // The rest never comes.
      response.write(zlib.gzipSync(TEXT).subarray(0, 5_000));
    };
    await with_(handler, async (url, transport) => {
      const { body } = await transport.stream(read(url));
      for await (const chunk of body) {
        expect(chunk.length).toBeGreaterThan(0);
        break;
      }
      await expect.poll(() => closed).toBe(1);
      expect(transport.limiter.active()).toBe(0);
    });
  });
});

describe('a page in place of the answer', () => {
  const PAGE = `<!doctype html>\n<html><head><title>Down for maintenance</title></head></html>`;

  it.each([PAGE, 'Service under maintenance', ''])('is told as such: %j', async (page) => {
    const handler: Handler = (_request, response) => {
      response.writeHead(200, { 'content-type': 'text/html' }).end(page);
    };
    await with_(handler, async (url, transport) => {
      const decoded = (body: Buffer): unknown => JSON.parse(body.toString());
      const error = await rejection(transport.send(read(url), decoded));
      expect(error).toMatchObject({ name: 'RetryLaterError', code: 'transport.page' });
      const said = page === '' ? 'nothing came' : page.slice(0, 20).replace('\n', ' ');
      expect(error).toMatchObject({ message: expect.stringContaining(said) });
      const write = await rejection(transport.send(push(url), decoded));
      expect(write).toMatchObject({
        name: 'InDoubtError',
        message: expect.stringMatching(/came.*does not say whether the write had an effect/),
      });
    });
  });

  it('is told of a stream, too', async () => {
    const handler: Handler = (_request, response) => response.writeHead(200).end(PAGE);
    await with_(handler, async (url, transport) => {
      expect(await rejection(streamed(transport, url))).toMatchObject({
        ...{ code: 'transport.page', message: expect.stringContaining('Down for maintenance') },
      });
    });
  });
});

describe('an answer out of a cache', () => {
  it('is as old as the cache says, and so is its clock', async () => {
    const handler: Handler = (_request, response) => {
      response.setHeader('age', '7200');
      response.setHeader('date', new Date(Date.now() - 7_200_000).toUTCString());
      response.end('{}');
    };
    await with_(handler, async (url, transport) => {
      const { startedAt } = await transport.request(read(url));
      expect(Date.now() - startedAt).toBeGreaterThanOrEqual(7_200_000);
      expect(Math.abs(transport.stats().clockOffsetMs ?? 1e9)).toBeLessThan(60_000);
      expect(dialects(transport)).toEqual(['age=over 1m (out of a cache)']);
    });
  });

  it.each(['59', '-7200', 'yesterday', ''])('is not told for an Age of %j', async (age) => {
    const handler: Handler = (_request, response) => {
      response.setHeader('age', age);
      response.end('{}');
    };
    await with_(handler, async (url, transport) => {
      const { startedAt } = await transport.request(read(url));
      expect(Date.now() - startedAt).toBeLessThan(120_000);
      expect(dialects(transport)).toEqual([]);
    });
  });
});
