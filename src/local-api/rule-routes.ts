/** Routes that reload, arm and disarm rules, below `/api/rules/`. */
import { z } from 'zod';
import type { RejectOperations } from '../decisions/reject/arm.ts';
import type { Actor } from '../store/audit.ts';
import { actorFields, actorWithReason } from './actor.ts';
import type { RouteGroup } from './api.ts';

const DAY_MS = 86_400_000;
export const ARMED_MS_MIN = 60_000;
/** Most ms for which a rule can be armed: after a year, somebody must look again. */
export const ARMED_MS_MAX = 366 * DAY_MS;
const DECISIONS_MAX = 500;

/** Members of a request that only prepares an arming, which needs no reason. */
const actorMaySay = { ...actorFields, reason: actorFields.reason.default('') };

const ruleId = z.string().min(1).max(100);
const armBody = z.strictObject({
  ...actorWithReason,
  rule: ruleId,
  lastsMs: z.int().min(ARMED_MS_MIN).max(ARMED_MS_MAX),
});
const disarmBody = z.strictObject({ ...actorWithReason, rule: ruleId });
const seenBody = z.strictObject({
  ...actorMaySay,
  rule: ruleId,
  decisions: z.array(z.int()).min(1).max(DECISIONS_MAX),
});
const reportBody = z.strictObject({
  ...actorMaySay,
  report: z.strictObject({
    ruleSetHash: z.string(),
    since: z.int(),
    until: z.int(),
    deliveries: z.int().nonnegative(),
    rules: z.record(z.string(), z.string()),
    report: z.unknown(),
  }),
});
const reloadBody = z.strictObject({
  ...actorFields,
  dryRun: z.boolean().optional(),
  /** Preview that a person agreed to; a reload that would do something else is refused. */
  agreed: z.strictObject({ rules: z.string(), mode: z.string() }).optional(),
});
const breakerBody = z.strictObject(actorWithReason);

export function ruleRoutes(
  rejects: RejectOperations,
  rules: {
    preview(): Promise<object>;
    reload(who: Actor, agreed: { rules: string; mode: string } | undefined): Promise<object>;
  },
): RouteGroup {
  return {
    access: 'operator',
    install(app) {
      app.post('/api/rules/reload', ({ body }) => {
        const { dryRun, agreed, ...who } = reloadBody.parse(body);
        return dryRun === true ? rules.preview() : rules.reload(who, agreed);
      });
      app.post('/api/rules/arm', ({ body }) => {
        const { rule, lastsMs, ...who } = armBody.parse(body);
        return rejects.arm(rule, lastsMs, who);
      });
      app.post('/api/rules/disarm', ({ body }) => {
        const { rule, ...who } = disarmBody.parse(body);
        return rejects.disarm(rule, who);
      });
      app.post('/api/rules/seen', async ({ body }) => {
        const { rule, decisions, ...who } = seenBody.parse(body);
        return { seen: await rejects.seen(rule, decisions, who) };
      });
      app.post('/api/rules/report', async ({ body }) => {
        const { report, ...who } = reportBody.parse(body);
        return { reportId: await rejects.keepReport(report, who) };
      });
      app.post('/api/rules/reset-breaker', ({ body }) =>
        rejects.resetBreaker(breakerBody.parse(body)),
      );
    },
  };
}
