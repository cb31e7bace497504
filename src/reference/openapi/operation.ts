/** Parts that the descriptions of V1 and V2 share. */

/** Path as OpenAPI writes it: `/orders/{orderId}` for `/orders/:orderId`. */
export function templatedPath(path: string): string {
  return path.replaceAll(/:(\w+)/g, '{$1}');
}

/** Id of an operation, such as `getOrdersByOrderId`: unique, because method and path are. */
export function operationId(method: string, path: string): string {
  const words = path
    .split('/')
    .filter((step) => step !== '')
    .flatMap((step) => (step.startsWith(':') ? ['by', step.slice(1)] : step.split(/[-.]/)));
  const capital = (word: string) => word.charAt(0).toUpperCase() + word.slice(1);
  return method.toLowerCase() + words.map(capital).join('');
}

/** How a token is sent, as far as knobs decide that. */
export interface TokenWay {
  /** Header of the token; null: the usual header. */
  readonly tokenHeader: string | null;
  readonly bearer: boolean;
}

const TOKEN = 'The token of a log-in. It may expire at any moment.';

/** Security scheme in force. OpenAPI has a bearer scheme for the header `Authorization` only. */
export function tokenSecurity({ tokenHeader, bearer }: TokenWay) {
  if (bearer && tokenHeader === 'authorization') {
    return { type: 'http', scheme: 'bearer', description: TOKEN } as const;
  }
  const name = tokenHeader ?? 'X-Service-Authorization';
  const description = bearer ? `${TOKEN} It is sent as \`Bearer <token>\`.` : TOKEN;
  return { type: 'apiKey', in: 'header', name, description } as const;
}

export const CONTACT = { name: 'The reference service' } as const;
export const LICENSE = { name: 'MIT', identifier: 'MIT' } as const;
