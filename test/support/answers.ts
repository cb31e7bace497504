/**
 * Holds answers of V1 and V2 against the schemas that their descriptions are made of. Schemas are
 * strict: a member that the wire contract does not name is a problem.
 */
import { z } from 'zod';
import { manualClock } from '../../src/lib/clock.ts';
import { systemRandom } from '../../src/lib/random.ts';
import { knobsSchema } from '../../src/reference/control/knobs.ts';
import { createKeyRing } from '../../src/reference/keys.ts';
import {
  V1_ANSWERS,
  v1Envelope,
  v1Error,
  v1Invalid,
} from '../../src/reference/openapi/v1-answers.ts';
import { createPageTokens } from '../../src/reference/v2/pages.ts';
import { createPdm } from '../../src/reference/v2/pdm/pdm.ts';
import { v2Routes } from '../../src/reference/v2/routes.ts';
import { errorsSchema } from '../../src/reference/v2/schemas.ts';
import { createCatalog } from '../../src/reference/world/catalog/catalog.ts';

interface Described {
  readonly method: string;
  readonly pattern: RegExp;
  readonly schema: z.ZodType | undefined;
}

function described(method: string, path: string, schema: z.ZodType | undefined): Described {
  // A named path (`/variants/stock`) goes before a parameter (`/variants/:barcode`).
  const pattern = path.replaceAll(/:\w+/g, '(?!stock$|season$)[^/]+');
  return { method, pattern: new RegExp(`^${pattern}$`), schema };
}

function v1Described(): Described[] {
  return Object.entries(V1_ANSWERS).map(([name, schema]) => {
    const [method = '', path = ''] = name.split(' ');
    return described(method, `/api/v1${path}`, v1Envelope(schema));
  });
}

function v2Described(): Described[] {
  const clock = manualClock();
  const knobs = () => knobsSchema.parse({});
  const random = systemRandom();
  const routes = v2Routes({
    pdm: createPdm(createCatalog({ ...knobs().world, styles: 1, brands: 1 }), clock),
    tokens: createPageTokens({ clock, random, lifetime: () => 1 }),
    keys: createKeyRing({ knobs, clock, secrets: random }),
    portalLink: () => ({ url: 'https://portal.example/#x', expiresAt: '' }),
  });
  return routes.map(({ method, path, answer }) => described(method, `/api/v2${path}`, answer));
}

const routes = [...v1Described(), ...v2Described()];

function errorSchema(path: string, status: number): z.ZodType {
  if (path.startsWith('/api/v2')) return errorsSchema;
  return status === 422 ? v1Invalid : v1Error;
}

/** Names the problem of an answer; undefined: there is none. */
export function problemOfAnswer(
  method: string,
  url: string,
  status: number,
  body: unknown,
): string | undefined {
  const path = new URL(url).pathname;
  const route = routes.find((one) => one.method === method && one.pattern.test(path));
  if (!route && status < 400) return `${method} ${path} answers ${status} and is not described`;
  const schema = status >= 400 ? errorSchema(path, status) : route?.schema;
  if (!schema) return body === undefined ? undefined : `${method} ${path} has no body described`;
  const parsed = schema.safeParse(body);
  return parsed.success
    ? undefined
    : `${method} ${path} ${status}: ${z.prettifyError(parsed.error)}`;
}
