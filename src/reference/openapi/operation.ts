/** What the descriptions of V1 and V2 have in common. */

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

export const TOKEN_SECURITY = {
  type: 'apiKey',
  in: 'header',
  name: 'X-Service-Authorization',
  description: 'The token of a log-in. It may expire at any moment.',
} as const;

export const LICENSE = { name: 'MIT', identifier: 'MIT' } as const;
