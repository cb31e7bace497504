/** Parts that the descriptions of V1 and V2 share. */

/** `/orders/:orderId` as OpenAPI writes it. */
export function templatedPath(path: string): string {
  return path.replaceAll(/:(\w+)/g, '{$1}');
}

/** `getOrdersByOrderId`: unique, because method and path are. */
export function operationId(method: string, path: string): string {
  const words = path
    .split('/')
    .filter((step) => step !== '')
    .flatMap((step) => (step.startsWith(':') ? ['by', step.slice(1)] : step.split(/[-.]/)));
  const capital = (word: string) => word.charAt(0).toUpperCase() + word.slice(1);
  return method.toLowerCase() + words.map(capital).join('');
}

/** How a token is sent, as far as knobs decide it. */
export interface TokenWay {
  /** Null is the usual header. */
  readonly tokenHeader: string | null;
  readonly bearer: boolean;
}

const TOKEN = 'The token of a log-in. It may expire at any moment.';

/** The scheme in force; OpenAPI knows bearers in the usual header only. */
export function tokenSecurity({ tokenHeader, bearer }: TokenWay) {
  if (bearer && tokenHeader === 'authorization') {
    return { type: 'http', scheme: 'bearer', description: TOKEN } as const;
  }
  const name = tokenHeader ?? 'X-Service-Authorization';
  const description = bearer ? `${TOKEN} It is sent as \`Bearer <token>\`.` : TOKEN;
  return { type: 'apiKey', in: 'header', name, description } as const;
}

export const LICENSE = { name: 'MIT', identifier: 'MIT' } as const;
