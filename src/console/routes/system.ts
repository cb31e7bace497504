/** Routes for the system's pages with their twins. */

import type { FastifyInstance, FastifyRequest } from 'fastify';
import { z } from 'zod';
import type { Html } from '../../lib/html.ts';
import { checksOf } from '../../ops/health-grade.ts';
import { readInstallation } from '../../ops/installation.ts';
import { findings, readBackups } from '../../ops/lists.ts';
import { readPlaneCopy } from '../../ops/plane-copy.ts';
import { readStandbyHere } from '../../ops/standby-here.ts';
import { readPauses } from '../../store/pauses.ts';
import { isoTime } from '../../surface/forms.ts';
import { peopleShape, sessions } from '../access/lists.ts';
import { askFor, type ConsoleDeps, RefusedHere, signedIn } from '../context.ts';
import {
  doctorPage,
  findingsPart,
  hostPage,
  peoplePage,
  problemPart,
  sessionCells,
} from '../pages/system.ts';
import { loopDelayOf, readDaemon, readStorage } from '../read/system.ts';
import { isoTimes, sendCsv, sendPage, type Table } from '../show.ts';
import { listPart, readView } from '../surface/lists.ts';
import { maskedFor, type PageContext } from './page-context.ts';

const doctorQuery = z.object({ now: z.enum(['', '0', '1']).optional() });

const people = z.strictObject(peopleShape);

const BACKUPS_MAX = 20;

async function hostOf({ db, clock, settings, beats, daemonSeenAt }: ConsoleDeps) {
  const now = clock.now();
  const { machine, version } = settings;
  const backups = readBackups(machine, now);
  return {
    version,
    daemon: await readDaemon(db, now),
    silentMs: clock.monotonic() - daemonSeenAt(),
    loop: loopDelayOf(beats()),
    storage: await readStorage(db, machine),
    backups: { ...backups, rows: backups.rows.slice(0, BACKUPS_MAX) },
    plane: readPlaneCopy(machine.plane, now),
    standby: readStandbyHere(machine.standby ?? null, now),
    pauses: await readPauses(db, machine.dataDir || undefined),
  };
}

/** Everything that is wrong now, as the overview has it. */
async function wrongOf({ db, clock, settings: { installation } }: ConsoleDeps) {
  const now = clock.now();
  const status = await readInstallation(db, installation, now);
  return { status, checks: checksOf(status, installation, now) };
}

function hostTable({ storage, loop, backups, plane }: Awaited<ReturnType<typeof hostOf>>): Table {
  return {
    columns: ['name', 'value'],
    rows: [
      ...Object.entries(storage),
      ['loop_median_ms', loop.medianMs],
      ['loop_longest_ms', loop.longestMs],
      ['newest_backup', isoTime(backups.rows[0]?.createdAt ?? null)],
      ...(plane ? [['plane_lag_ms', plane.lagMs]] : []),
    ],
  };
}

function installHost(app: FastifyInstance, context: PageContext): void {
  const { deps, show } = context;
  const host = async (request: FastifyRequest) => maskedFor(request, await hostOf(deps));
  app.get('/system', async (request, reply) => {
    const head = { title: 'System', tab: '/system', cli: 'selvedge status' } as const;
    const wrong = maskedFor(request, await wrongOf(deps));
    const body = hostPage({ ...(await host(request)), ...wrong }, await context.readerOf(request));
    return show(request, reply, head, body);
  });
  app.get('/system.json', async (request) => isoTimes(await host(request)));
  app.get('/system.csv', async (request, reply) =>
    sendCsv(request, reply, 'system', hostTable(await host(request))),
  );
}

function installDoctor(app: FastifyInstance, context: PageContext): void {
  const { show } = context;
  const partOf = async (request: FastifyRequest): Promise<Html> => {
    try {
      const view = await readView(context, request, findings, {});
      return findingsPart(view, listPart(findings, view));
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
}

function installPeople(app: FastifyInstance, context: PageContext): void {
  const { deps, show } = context;
  app.get('/system/people', async (request, reply) => {
    const known = people.parse(await askFor(deps, { ask: 'people' }));
    const view = await readView(context, request, sessions);
    const reader = await context.readerOf(request);
    const list = listPart(sessions, view, sessionCells(signedIn(request), reader.timeZone));
    const head = { title: 'People', tab: '/system', cli: 'selvedge console sessions' } as const;
    return show(request, reply, head, peoplePage(known, list));
  });
}

export function installSystem(app: FastifyInstance, context: PageContext): void {
  installHost(app, context);
  installDoctor(app, context);
  installPeople(app, context);
}
