/** Answers the edge gives in place of a route, in the error shape of the API that was asked. */
import { STATUS_CODES } from 'node:http';

export interface EdgeAnswer {
  readonly status: number;
  readonly contentType: string;
  readonly body: string;
}

const V2_MEDIA_TYPE = 'application/vnd.api+json';

/** The V1 envelope or the JSON:API errors document. */
export function errorAnswer(path: string, status: number, detail: string): EdgeAnswer {
  if (path.startsWith('/api/v2')) {
    const title = STATUS_CODES[status] ?? 'Error';
    const code = title.toLowerCase().replaceAll(/[^a-z]+/g, '_');
    const error = { status: String(status), code, title, detail };
    return { status, contentType: V2_MEDIA_TYPE, body: JSON.stringify({ errors: [error] }) };
  }
  const problem = status === 422 ? { invalid_data: [detail] } : { data: {} };
  const body = JSON.stringify({ status, message: detail, ...problem });
  return { status, contentType: 'application/json; charset=utf-8', body };
}

/** What a broken gateway says instead of the service. */
export function gatewayAnswer(status: number, body: 'html' | 'json' | 'none'): EdgeAnswer {
  const title = STATUS_CODES[status] ?? 'Server Error';
  if (body === 'json') {
    const text = JSON.stringify({ error: title });
    return { status, contentType: 'application/json; charset=utf-8', body: text };
  }
  const page =
    `<html>\r\n<head><title>${status} ${title}</title></head>\r\n<body>\r\n` +
    `<center><h1>${status} ${title}</h1></center>\r\n<hr><center>nginx</center>\r\n` +
    '</body>\r\n</html>\r\n';
  return { status, contentType: 'text/html', body: body === 'html' ? page : '' };
}
