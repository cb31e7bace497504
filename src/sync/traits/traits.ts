/** Traits of an account, learned while pulling. */
import type { BrandNeeds } from '../../client/v1/brands.ts';
import { endIncidents, type Incident, openIncident } from '../../store/incidents.ts';
import { createLevelWatch, type LevelWatch, type LevelWatchDeps } from './level-watch.ts';

export interface Traits {
  readonly needs: BrandNeeds;
  readonly levels: LevelWatch;
  /** Opens an incident, until it is over. */
  readonly tell: (incident: Incident) => Promise<void>;
  readonly over: (incident: Omit<Incident, 'detail'>) => Promise<void>;
}

export async function createTraits(deps: LevelWatchDeps, needs: BrandNeeds): Promise<Traits> {
  const { store, clock } = deps;
  return {
    needs,
    levels: await createLevelWatch(deps),
    tell: (incident) => openIncident(store.db, incident, clock.now()),
    async over(incident) {
      await endIncidents(store.db, incident, [incident.key], clock.now());
    },
  };
}
