/** The decisions as the configuration describes them. */
import type { Config } from '../config/schema.ts';
import type { Decided } from '../decisions/decide.ts';
import { createDecider, type Decider } from '../decisions/decider.ts';
import { createReview, type Review } from '../decisions/review/review.ts';
import type { LoadedRuleSet } from '../decisions/rule-files.ts';
import type { Clock } from '../lib/clock.ts';
import type { Logger } from '../lib/log.ts';
import type { Store } from '../store/store.ts';

export interface DecisionsDeps {
  readonly store: Store;
  readonly clock: Clock;
  readonly log: Logger;
  readonly rules: () => LoadedRuleSet;
  readonly onDecided: (decided: Decided) => void;
  readonly onPush: () => void;
}

export interface Decisions {
  readonly decider: Decider;
  readonly review: Review;
}

export function createDecisions(config: Config, deps: DecisionsDeps): Decisions {
  const decider = createDecider({
    ...deps,
    log: deps.log.child({ room: 'decisions' }),
    mode: config.rules.mode,
    settleMs: config.decisions.settle,
    reconsiderMs: config.decisions.reconsider,
  });
  return { decider, review: createReview({ ...deps, onReviewed: decider.nudge }) };
}
