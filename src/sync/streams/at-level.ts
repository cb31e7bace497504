/**
 * Wraps streams that lower levels of the interface lack. When a stream's address and that of a
 * sibling of the same level are unknown while orders are answered, the level is set too high, and
 * one incident says so.
 */
import type { V1Client } from '../../client/v1/client.ts';
import { type Capability, doubtOfLevel } from '../../config/level.ts';
import { RefusedError } from '../../lib/errors.ts';
import { isNoAddress, type Traits } from '../account-traits.ts';
import type { Stream, StreamRun } from '../stream.ts';
import { firstRows } from './parts.ts';

type LevelClient = Pick<V1Client, 'orders' | 'shortList' | 'stock'>;
type Call = StreamRun['call'];

export interface AtLevel {
  readonly v1: LevelClient;
  readonly traits: Traits | undefined;
  readonly capability: Capability;
  readonly level: string;
}

/** Another address that the same level introduced, by stream. */
const SIBLINGS: Readonly<Record<string, (v1: LevelClient, call: Call) => Promise<unknown>>> = {
  brands: (v1, call) => v1.shortList('freight', call),
  freight: (v1, call) => v1.shortList('brands', call),
  seasons: (v1, call) => firstRows(v1.stock({}, call)),
  season: (v1, call) => firstRows(v1.stock({}, call)),
};

/** Error of a request; undefined: the request was answered. */
async function failureOf(asking: Promise<unknown>, { signal }: Call): Promise<unknown> {
  try {
    await asking;
    return undefined;
  } catch (error) {
    signal.throwIfAborted();
    return error;
  }
}

async function isOfTheLevel(stream: string, v1: LevelClient, call: Call): Promise<boolean> {
  const sibling = SIBLINGS[stream];
  if (!sibling || (await failureOf(v1.orders(undefined, call), call)) !== undefined) return false;
  return isNoAddress(await failureOf(sibling(v1, call), call));
}

export function atLevel(stream: Stream, { v1, traits, capability, level }: AtLevel): Stream {
  if (!traits) return stream;
  const { levels } = traits;
  return {
    ...stream,
    async pull(context) {
      try {
        const end = await stream.pull(context);
        await levels.answered(capability);
        return end;
      } catch (error) {
        if (!isNoAddress(error)) throw error;
        if (!(await isOfTheLevel(stream.name, v1, context.call))) throw error;
        await levels.missing(capability, error);
        const { code, message } = error;
        const { hint } = doubtOfLevel(level, capability);
        throw new RefusedError(code, message, { cause: error, hint });
      }
    },
  };
}
