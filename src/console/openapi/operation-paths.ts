/** OpenAPI paths about pulls, events and the system. */
import { z } from 'zod';
import { replayEvents } from '../../inbox/surface.ts';
import { replayQuery } from '../routes/events.ts';
import {
  eventFiguresSchema,
  eventSchema,
  runViewSchema,
  systemSchema,
} from './operation-answers.ts';
import { csvOf, jsonOf, NO_SUCH } from './route.ts';

const number = z.object({ id: z.int().min(1) });
const event = z.object({ id: z.string().meta({ description: 'As the relay has it' }) });
const hours = replayQuery.extend({
  hours: z.int().min(1).optional().meta({ description: 'Of the last so many hours' }),
});

const PULLS = {
  '/pulls/runs/{id}.json': jsonOf(
    {
      id: 'getRun',
      tag: 'pulls',
      path: number,
      problems: NO_SUCH,
      summary: 'A run, with what a release of it would do',
    },
    runViewSchema,
  ),
};

const EVENTS = {
  '/events/figures.json': jsonOf(
    { id: 'getEventFigures', tag: 'events', summary: 'What was missed, and what was refused' },
    eventFiguresSchema,
  ),
  '/events/{id}.json': jsonOf(
    {
      id: 'getEvent',
      tag: 'events',
      summary: 'An event with what it led to',
      path: event,
      problems: NO_SUCH,
    },
    eventSchema,
  ),
  '/events/replay.json': jsonOf(
    {
      id: 'previewReplay',
      tag: 'events',
      summary: 'What a replay would do',
      query: hours,
      problems: NO_SUCH,
    },
    replayEvents.output,
  ),
};

const SYSTEM = {
  '/system.json': jsonOf(
    { id: 'getSystem', tag: 'system', summary: 'Daemon, database, disk, backups and pauses' },
    systemSchema,
  ),
  '/system.csv': csvOf({ id: 'getSystemCsv', tag: 'system', summary: 'Its numbers' }),
};

export const OPERATION_PATHS = { ...PULLS, ...EVENTS, ...SYSTEM };
