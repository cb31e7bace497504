/** The daemon's side of the pages about rules: calls the operations that the command line uses. */
import type { RejectOperations } from '../../decisions/reject/arm.ts';
import type { Actor } from '../../store/audit.ts';
import type { RuleWish } from './rule-wishes.ts';

export interface RuleOperations {
  readonly rejects: RejectOperations;
  /** Preview of a reload; throws a ConfigError that names every mistake. */
  readonly preview: () => Promise<object>;
  readonly reload: (who: Actor, agreed: { rules: string; mode: string }) => Promise<object>;
}

export async function operateRules(
  { rejects, reload }: RuleOperations,
  wish: RuleWish,
  actor: Actor,
): Promise<unknown> {
  switch (wish.do) {
    case 'rules.reload':
      return reload(actor, wish.agreed);
    case 'rules.arm':
      return rejects.arm(wish.rule, wish.lastsMs, actor);
    case 'rules.disarm':
      return rejects.disarm(wish.rule, actor);
    case 'rules.seen':
      return { seen: await rejects.seen(wish.rule, [wish.decisionId], actor) };
    case 'rules.report':
      return { reportId: await rejects.keepReport(wish.report, actor) };
    default:
      return rejects.resetBreaker(actor);
  }
}
