/** Body of a 2xx answer for its readers: decompressed UTF-8, with failures mapped to errors. */
import { SelvedgeError } from '../../../lib/errors.ts';
import {
  type Asked,
  errorOfBrokenAnswer,
  errorOfFailure,
  errorOfPage,
  isNoJson,
} from '../answer.ts';
import { ExchangeFailure, headerText, type RawAnswer } from '../exchange.ts';
import { isPage } from '../said.ts';
import { createToUtf8, type Note, textOf, utf8Of } from './charset.ts';
import { type BodyLimit, streamedBody, wholeBody } from './encoding.ts';

/** Converts the body to UTF-8. The answer to a write is read however damaged its text is. */
function toUtf8(body: Buffer, { headers }: RawAnswer, { safe }: Asked, note: Note): Buffer {
  try {
    return utf8Of(body, headerText(headers, 'content-type'), note);
  } catch (error) {
    if (safe) throw error;
    note('charset=another (in the answer to a write)');
    return Buffer.from(textOf(body));
  }
}

/** Error for an answer that its reader cannot use. */
function errorOfBody(asked: Asked, body: Buffer | undefined, error: unknown): Error {
  if (error instanceof ExchangeFailure) return errorOfFailure(asked, error);
  if (error instanceof SelvedgeError) return error;
  const text = body && textOf(body);
  if (text !== undefined && isNoJson(text)) return errorOfPage(asked, text);
  return errorOfBrokenAnswer(asked, error);
}

/** Decodes the whole body; `decode` may throw the answer's meaning. */
export async function decodedWhole<T>(
  answer: RawAnswer,
  asked: Asked,
  limit: BodyLimit,
  decode: (body: Buffer) => T,
): Promise<T> {
  let body: Buffer | undefined;
  try {
    body = toUtf8(await wholeBody(answer, limit), answer, asked, limit.note);
    return decode(body);
  } catch (error) {
    throw errorOfBody(asked, body, error);
  }
}

/** Body as a stream; `onEnd` is called when it was read, or abandoned. */
export async function* textStream(
  answer: RawAnswer,
  asked: Asked,
  limit: BodyLimit,
  onEnd: () => void,
): AsyncGenerator<Buffer, void, undefined> {
  const transcoder = createToUtf8(headerText(answer.headers, 'content-type'), limit.note);
  let isFirst = true;
  try {
    for await (const chunk of streamedBody(answer, limit)) {
      const text = transcoder.push(chunk);
      if (text.length === 0) continue;
      if (isFirst && isPage(text.toString('latin1', 0, 64).replace(/^\xef\xbb\xbf/, ''))) {
        throw errorOfPage(asked, textOf(text));
      }
      isFirst = false;
      yield text;
    }
    const rest = transcoder.end();
    if (rest.length > 0) yield rest;
  } catch (error) {
    throw errorOfBody(asked, undefined, error);
  } finally {
    onEnd();
  }
}
