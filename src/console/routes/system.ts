/** Routes for the system's pages with their twins. */

import type { FastifyInstance, FastifyRequest } from 'fastify';
import { z } from 'zod';
import type { Html } from '../../lib/html.ts';
import { readPlaneCopy } from '../../ops/plane-copy.ts';
import { readPauses } from '../../store/pauses.ts';
import { listSessions, type SessionRow } from '../access/sessions.ts';
import { askFor, type ConsoleDeps, RefusedHere, signedIn } from '../context.ts';
import { doctorFindings } from '../lookups.ts';
import {
  doctorPage,
  type Finding,
  findingsPart,
  hostPage,
  peoplePage,
  problemPart,
  settingsPage,
} from '../pages/system.ts';
import { loopDelayOf, readBackups, readDaemon, readStorage } from '../read/system.ts';
import { isoTime, isoTimes, sendCsv, sendPage, type Table } from '../show.ts';
import { maskedFor, type PageContext } from './page-context.ts';

export const settingsQuery = z.object({ changed: z.enum(['', '0', '1']).optional() });

const doctorQuery = z.object({ now: z.enum(['', '0', '1']).optional() });

const people = z.object({
  operators: z.array(
    z.object({
      name: z.string(),
      role: z.string(),
      seesAddresses: z.boolean(),
      hasPassword: z.boolean(),
    }),
  ),
  proxyRole: z.string().nullable(),
});

async function hostOf({ db, clock, settings, beats, daemonSeenAt }: ConsoleDeps) {
  const now = clock.now();
  const { machine, version } = settings;
  return {
    version,
    daemon: await readDaemon(db, now),
    silentMs: clock.monotonic() - daemonSeenAt(),
    loop: loopDelayOf(beats()),
    storage: await readStorage(db, machine),
    backups: readBackups(machine, now),
    plane: readPlaneCopy(machine.plane, now),
    pauses: await readPauses(db, machine.dataDir || undefined),
  };
}

function hostTable({ storage, loop, backups, plane }: Awaited<ReturnType<typeof hostOf>>): Table {
  return {
    columns: ['name', 'value'],
    rows: [
      ...Object.entries(storage),
      ['loop_median_ms', loop.medianMs],
      ['loop_longest_ms', loop.longestMs],
      ['newest_backup', backups.rows[0]?.createdAt ?? null],
      ...(plane ? [['plane_lag_ms', plane.lagMs]] : []),
    ],
  };
}

function installHost(app: FastifyInstance, context: PageContext): void {
  const { deps, show } = context;
  const host = async (request: FastifyRequest) => maskedFor(request, await hostOf(deps));
  app.get('/system', async (request, reply) => {
    const head = { title: 'System', tab: '/system', cli: 'selvedge status' } as const;
    const body = hostPage(await host(request), await context.readerOf(request));
    return show(request, reply, head, body);
  });
  app.get('/system.json', async (request) => isoTimes(await host(request)));
  app.get('/system.csv', async (request, reply) =>
    sendCsv(request, reply, 'system', hostTable(await host(request))),
  );
}

function installDoctor(app: FastifyInstance, context: PageContext): void {
  const { deps, show } = context;
  const examine = async (request: FastifyRequest): Promise<readonly Finding[]> =>
    maskedFor(request, doctorFindings.parse(await askFor(deps, { ask: 'doctor' })));
  const partOf = async (request: FastifyRequest): Promise<Html> => {
    try {
      const found = await examine(request);
      return findingsPart(found, await context.readerOf(request));
    } catch (error) {
      if (!(error instanceof RefusedHere)) throw error;
      return problemPart(error.message);
    }
  };
  app.get('/system/doctor', async (request, reply) => {
    const head = { title: 'Doctor', tab: '/system', cli: 'selvedge doctor --offline' } as const;
    const isNow = doctorQuery.parse(request.query).now === '1';
    return show(request, reply, head, doctorPage(isNow ? await partOf(request) : undefined));
  });
  app.get('/system/doctor/findings', async (request, reply) =>
    sendPage(reply, await partOf(request)),
  );
  app.get('/system/doctor.json', async (request) => {
    const checks = await examine(request);
    return { ok: checks.every(({ grade }) => grade !== 'failed'), checks };
  });
  app.get('/system/doctor.csv', async (request, reply) =>
    sendCsv(request, reply, 'doctor', {
      columns: ['check', 'grade', 'text', 'advice'],
      rows: (await examine(request)).map((one) => [
        ...[one.check, one.grade, one.text, one.advice ?? null],
      ]),
    }),
  );
}

function installSettings(app: FastifyInstance, context: PageContext): void {
  const { written } = context.deps.settings.machine;
  const isChanged = (request: FastifyRequest): boolean =>
    settingsQuery.parse(request.query).changed === '1';
  const rowsOf = (request: FastifyRequest) => {
    const rows = written?.rows ?? [];
    return isChanged(request) ? rows.filter(({ origin }) => origin !== 'default') : rows;
  };
  app.get('/system/settings', async (request, reply) => {
    const onlyChanged = isChanged(request);
    const cli = onlyChanged ? 'selvedge config show --changed' : 'selvedge config show';
    const head = { title: 'Settings', tab: '/system', cli } as const;
    const body = settingsPage(written, onlyChanged, await context.readerOf(request));
    return context.show(request, reply, head, body);
  });
  app.get('/system/settings.json', (request) => ({
    file: written?.file ?? null,
    settings: rowsOf(request),
  }));
  app.get('/system/settings.csv', (request, reply) =>
    sendCsv(request, reply, 'settings', {
      columns: ['setting', 'value', 'from'],
      rows: rowsOf(request).map(({ path, value, origin }) => [path, value, origin]),
    }),
  );
}

function sessionsTable(rows: readonly SessionRow[]): Table {
  return {
    columns: ['session', 'name', 'role', 'way', 'address', 'created_at', 'seen_at', 'expires_at'],
    rows: rows.map((row) => [
      ...[row.sessionId, row.name, row.role, row.way, row.address],
      ...[isoTime(row.createdAt), isoTime(row.seenAt), isoTime(row.expiresAt)],
    ]),
  };
}

function installPeople(app: FastifyInstance, context: PageContext): void {
  const { deps, show } = context;
  const { db, clock } = deps;
  const sessions = async (request: FastifyRequest) => {
    const idle = clock.now() - deps.settings.sessionIdleMs;
    const open = await listSessions(db, ['link', 'password', 'proxy', 'token'], clock.now());
    const alive = open.filter(({ way, seenAt }) => way === 'token' || seenAt >= idle);
    return maskedFor(request, alive);
  };
  const known = async () => people.parse(await askFor(deps, { ask: 'people' }));
  app.get('/system/people', async (request, reply) => {
    const own = signedIn(request).sessionId;
    const view = { people: await known(), sessions: await sessions(request), own };
    const head = { title: 'People', tab: '/system', cli: 'selvedge console tokens' } as const;
    return show(request, reply, head, peoplePage(view, await context.readerOf(request)));
  });
  app.get('/system/people.json', async (request) =>
    isoTimes({ ...(await known()), sessions: await sessions(request) }),
  );
  app.get('/system/people.csv', async (request, reply) =>
    sendCsv(request, reply, 'sessions', sessionsTable(await sessions(request))),
  );
}

export function installSystem(app: FastifyInstance, context: PageContext): void {
  installHost(app, context);
  installDoctor(app, context);
  installSettings(app, context);
  installPeople(app, context);
}
