/**
 * Routes of the control API for the clock, and for states of the world that are saved, restored or
 * started again.
 */
import { z } from 'zod';
import type { Clock, ManualClock } from '../../lib/clock.ts';
import type { Edge } from '../edge/edge.ts';
import type { KeyRing } from '../keys.ts';
import type { PageTokens } from '../v2/pages.ts';
import type { Pdm, PdmState } from '../v2/pdm/pdm.ts';
import type { World } from '../world/world.ts';
import { duration } from './knob-types.ts';
import { ControlError, type ControlRoute, found, read } from './route.ts';

export interface StateRouteDeps {
  readonly clock: Clock;
  readonly world: World;
  readonly pdm: Pdm;
  readonly pageTokens: PageTokens;
  readonly edge: Edge;
  readonly keys: KeyRing;
}

interface Kept {
  readonly world: ReturnType<World['snapshot']>;
  readonly pdm: PdmState;
}

/** Maximum number of snapshots, because they are kept in memory. */
const SNAPSHOTS_MAX = 20;
const stepBody = z.strictObject({ by: duration('1s') });
const nameBody = z.strictObject({ name: z.string().regex(/^[\w.-]{1,60}$/) });

function isManual(clock: Clock): clock is ManualClock {
  return 'advance' in clock;
}

function clockRoutes({ clock }: StateRouteDeps): ControlRoute[] {
  const shown = () => ({ now: new Date(clock.now()).toISOString(), stepped: isManual(clock) });
  return [
    { method: 'GET', path: '/clock', summary: 'The time of the service', run: shown },
    {
      method: 'POST',
      path: '/clock/step',
      summary: 'Move a stepped clock on, and let happen what falls due: {by: "10s"}',
      async run({ body }) {
        const { by } = read(stepBody, body);
        if (!isManual(clock)) {
          throw new ControlError(409, 'The clock runs by itself; start with a stepped one');
        }
        await clock.advance(by);
        return shown();
      },
    },
  ];
}

function snapshotRoutes(deps: StateRouteDeps): ControlRoute[] {
  const { world, pdm, pageTokens, edge, keys } = deps;
  const take = (): Kept => ({ world: world.snapshot(), pdm: pdm.state() });
  const restore = (state: Kept): void => {
    world.restore(state.world);
    pdm.restore(state.pdm);
    pageTokens.clear();
  };
  const first = take();
  const kept = new Map<string, Kept>();
  return [
    {
      method: 'GET',
      path: '/snapshots',
      summary: 'Names of the states that are kept',
      run: () => ({ snapshots: [...kept.keys()] }),
    },
    {
      method: 'POST',
      path: '/snapshots',
      summary: 'Keep the state of the world: {name}',
      run({ body }) {
        const { name } = read(nameBody, body);
        if (kept.size >= SNAPSHOTS_MAX && !kept.has(name)) {
          throw new ControlError(409, `No more than ${SNAPSHOTS_MAX} snapshots are kept`);
        }
        kept.set(name, take());
        return { snapshots: [...kept.keys()] };
      },
    },
    {
      method: 'POST',
      path: '/snapshots/:name/restore',
      summary: 'Bring a state back; tokens of pages expire',
      run({ params }) {
        restore(found(kept.get(params.name ?? ''), 'Snapshot'));
        return {};
      },
    },
    {
      method: 'POST',
      path: '/page-tokens/expire',
      summary: 'Every page token of V2 is as if expired',
      run() {
        pageTokens.clear();
        return {};
      },
    },
    {
      method: 'POST',
      path: '/reset',
      summary: 'As at the start: world, journal, counts of faults, tokens; knobs stay',
      run() {
        restore(first);
        edge.restart();
        keys.revokeAll();
        return {};
      },
    },
  ];
}

export function stateRoutes(deps: StateRouteDeps): ControlRoute[] {
  return [...clockRoutes(deps), ...snapshotRoutes(deps)];
}
