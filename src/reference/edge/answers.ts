/**
 * Answers that the edge gives in place of a route, in the error format of the API that was asked.
 */
import { STATUS_CODES } from 'node:http';
import { errorBody, JSON_TYPE, V1Error } from '../v1/answer.ts';
import { errorsDocument, V2_MEDIA_TYPE } from '../v2/problem.ts';

export interface EdgeAnswer {
  readonly status: number;
  readonly contentType: string;
  readonly body: string;
  /** Value of `Retry-After`: seconds or a date; null or left out: no such header. */
  readonly retryAfter?: number | string | null;
}

/**
 * Error answer in the format of the API that was asked: V1's envelope, or V2's JSON:API errors
 * document.
 */
export function errorAnswer(path: string, status: number, detail: string): EdgeAnswer {
  if (path.startsWith('/api/v2')) {
    const code = (STATUS_CODES[status] ?? 'Error').toLowerCase().replaceAll(/[^a-z]+/g, '_');
    const document = errorsDocument([{ status, code, detail }]);
    return { status, contentType: V2_MEDIA_TYPE, body: JSON.stringify(document) };
  }
  const error = new V1Error(status, detail, status === 422 ? { invalidData: [detail] } : {});
  return { status, contentType: JSON_TYPE, body: JSON.stringify(errorBody(error)) };
}

/** Answer of a gateway in place of the service's. */
export function gatewayAnswer(
  status: number,
  body: 'html' | 'json' | 'text' | 'none',
  title = STATUS_CODES[status] ?? 'Server Error',
): EdgeAnswer {
  if (body === 'json') {
    const text = JSON.stringify({ error: title });
    return { status, contentType: JSON_TYPE, body: text };
  }
  if (body === 'text') return { status, contentType: 'text/plain', body: `${title}\n` };
  const heading = status === 200 ? title : `${status} ${title}`;
  const page =
    `<html>\r\n<head><title>${heading}</title></head>\r\n<body>\r\n` +
    `<center><h1>${heading}</h1></center>\r\n<hr><center>nginx</center>\r\n` +
    '</body>\r\n</html>\r\n';
  return { status, contentType: 'text/html', body: body === 'html' ? page : '' };
}
