/** The service beside a daemon on a large mirror (shop-process.ts). */
import { fork } from 'node:child_process';
import { on } from 'node:events';
import { join } from 'node:path';
import type { YearSize } from './mirror.ts';

/** From here on the reference numbers its deliveries: beyond those of a large mirror. */
export const FIRST_NEW_DELIVERY = 500_001;

export type Asked =
  | { readonly place: number }
  | { readonly pack: readonly number[] }
  | { readonly ship: readonly number[] }
  | { readonly listener: string; readonly secret: string };

export interface Shop {
  readonly v1Url: string;
  readonly credentials: { readonly clientId: string; readonly clientSecret: string };
  /** Asks it for something; gives the ids of the orders. */
  ask(asked: Asked): Promise<readonly number[]>;
  end(): void;
}

export async function openShop({ variants, orders }: YearSize): Promise<Shop> {
  const file = join(import.meta.dirname, 'shop-process.ts');
  const child = fork(file, [String(variants), String(orders)]);
  const messages = on(child, 'message', { close: ['exit'] });
  const next = async () => {
    const { value, done } = await messages.next();
    if (done) throw new Error('the reference service has ended');
    return value[0];
  };
  const { v1Url, credentials } = await next();
  return {
    v1Url,
    credentials,
    async ask(asked) {
      child.send(asked);
      return next();
    },
    end: () => child.disconnect(),
  };
}
