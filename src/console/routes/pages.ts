/** Installs the pages for people, each with its twins for programs: `/x`, `/x.json`, `/x.csv`. */
import type { FastifyInstance } from 'fastify';
import type { ConsoleDeps } from '../context.ts';
import type { ReadRules } from '../rules.ts';
import { mountActs } from '../surface/http.ts';
import { mountLists } from '../surface/lists.ts';
import { installDeliveryParts } from './delivery-parts.ts';
import { installDescription } from './description.ts';
import { installEvents } from './events.ts';
import { installOutbox } from './outbox.ts';
import { installOverview } from './overview.ts';
import { createPageContext } from './page-context.ts';
import { installPulls } from './pulls.ts';
import { installReports } from './reports.ts';
import { installReview } from './review.ts';
import { installRules } from './rules.ts';
import { installStock } from './stock.ts';
import { installSystem } from './system.ts';
import { installTrial } from './trial.ts';

export function installPages(app: FastifyInstance, deps: ConsoleDeps, rulesShown: ReadRules): void {
  const context = createPageContext(deps, rulesShown);
  app.addHook('onClose', async () => context.figures.close());
  installOverview(app, context);
  installReview(app, context);
  installDeliveryParts(app, context);
  installOutbox(app, context);
  installStock(app, context);
  installReports(app, context);
  installRules(app, context);
  installTrial(app, context);
  installPulls(app, context);
  installEvents(app, context);
  installSystem(app, context);
  mountActs(app, context);
  mountLists(app, context);
  installDescription(app);
}
