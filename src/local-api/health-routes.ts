/**
 * Health of the daemon, for programs that monitor it; no token, because it reveals nothing of the
 * business.
 *
 * `/healthz`: 200 while the process works and no worker is stuck. `/readyz`: 200 while events can
 * be received and kept; whether the service is up does not matter for that. `/metrics`: for
 * Prometheus.
 */
import type { FastifyInstance } from 'fastify';
import type { Metrics } from '../ops/metrics/metrics.ts';
import type { RouteGroup } from './api.ts';

export interface Health {
  /** Reasons to restart the process; none: it works. */
  readonly ill: () => readonly string[];
  /** Reasons why events cannot be received; none: they can. */
  readonly unready: () => readonly string[];
  /** Metrics, created at the first request. */
  readonly metrics: () => Promise<Metrics>;
}

function installCheck(
  app: FastifyInstance,
  path: string,
  name: string,
  why: () => readonly string[],
): void {
  app.get(path, async (_request, reply) => {
    const reasons = why();
    const isWell = reasons.length === 0;
    return reply.code(isWell ? 200 : 503).send({ [name]: isWell, why: reasons });
  });
}

export function healthRoutes(health: Health): RouteGroup {
  return {
    access: 'open',
    underOtherNames: ['/healthz', '/readyz', '/metrics'],
    install(app) {
      installCheck(app, '/healthz', 'healthy', health.ill);
      installCheck(app, '/readyz', 'ready', health.unready);
      app.get('/metrics', async (_request, reply) => {
        const metrics = await health.metrics();
        const text = await metrics.text();
        return reply.type(metrics.contentType).send(text);
      });
    },
  };
}
