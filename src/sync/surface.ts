/** Acts of people and programs on pulls. */
import { z } from 'zod';
import { WORDS, wordFor } from '../config/words.ts';
import { plural } from '../lib/strings.ts';
import { act } from '../surface/acts.ts';
import { flag, text, whole } from '../surface/members.ts';
import { CUSTOMERS } from './accept.ts';
import type { ReleasePreview, SyncOperations } from './operations.ts';

const stream = text('Stream', { about: 'Name of the stream', words: WORDS.stream }, 100);

export const runPull = act({
  name: 'sync.run',
  operation: 'runPull',
  path: '/pulls/{id}/run',
  about: 'pull a stream now',
  more:
    'Has the daemon pull the stream and waits for the end, which is the exit code: 0 when the\n' +
    'run is complete. With --full every row is compared again.',
  button: 'Pull now',
  role: 'operator',
  reason: 'page',
  thing: 'stream',
  args: ['stream'],
  input: {
    stream,
    full: flag('Compare every row', {
      about: 'Whether every row is compared, whatever the digests say',
    }).default(false),
  },
  output: z.strictObject({
    stream: z.string(),
    daemon: z.boolean().meta({ description: 'False: it is pulled when the daemon starts' }),
  }),
  offline: true,
  examples: [
    ['sync run stock --full', 'trust nothing'],
    ['sync run stock --no-follow', 'and go on with something else'],
  ],
  async preview(sync: SyncOperations, { stream: name, full }) {
    await sync.requirePullable(name);
    return {
      lines: [
        `${wordFor('stream', name)} would be pulled now${full ? ', and every row compared' : ''}`,
      ],
    };
  },
  async run(sync, { stream: name, full }, actor) {
    await sync.runNow(name, full, actor);
    return { stream: name, daemon: sync.isAwake };
  },
  done: ({ stream: name, daemon }) =>
    `${wordFor('stream', name)}: ${daemon ? 'being pulled now' : 'due when the daemon starts'}`,
});

function releaseLines(preview: ReleasePreview): string[] {
  const { stream: name, runId, deletes, firstKeys, acceptsChange, acceptsCount, later } = preview;
  const lines = [
    acceptsChange && `rules would go by what run ${runId} changed`,
    acceptsCount !== null && `${acceptsCount} would be right from now on`,
    later === null ? `${deletes} rows would be deleted` : `nothing would be deleted yet: ${later}`,
  ];
  return [
    ...lines.flatMap((line) => (line === false ? [] : `${name}: ${line}`)),
    ...firstKeys.map((key) => `  ${key}`),
    ...(firstKeys.length < deletes ? ['  …'] : []),
  ];
}

export const releaseRun = act({
  name: 'sync.release',
  operation: 'releaseRun',
  path: '/pulls/runs/{id}/release',
  about: 'accept a run that was held, changed most rows, or has a wrong count',
  more:
    'Look at the service first ("sync show"); this does what the run needs.\n\n' +
    'suspicious   deletes (softly) what the run did not see\n' +
    'mass change  lets rules that read the stream use what the run changed\n' +
    'count off    takes a count that is off by just as much for right from now on, and\n' +
    '             deletes what is gone; if that would be more than the deletion guard\n' +
    '             lets through, the next run says so\n' +
    'customers    takes over that the ERP removed or blanked most of erp_customer at once',
  button: 'Release',
  role: 'approver',
  danger: true,
  reason: 'page',
  thing: 'run',
  args: ['run'],
  input: {
    run: text('Run', { about: 'Number of a run, a stream for its latest run, or customers' }, 100),
  },
  seen: { deletes: whole('Rows to delete', { about: 'As the preview told it' }) },
  output: z.strictObject({
    stream: z.string(),
    runId: z.int().min(1),
    rowsDeleted: z.int(),
    released: z.boolean().meta({ description: 'False: the next run of the stream is due' }),
    acceptedCount: z.string().nullable(),
    changedRuns: z.array(z.int()).readonly(),
  }),
  offline: true,
  examples: [
    ['sync release 41 --dry-run', 'which rows would be deleted?'],
    ['sync release 41 --reason "season is over"', 'after a look'],
    ['sync release stock --reason "hidden ones"', 'by its latest run'],
    ['sync release customers --reason "only key accounts now"', "the ERP's customers"],
  ],
  async preview(sync: SyncOperations, { run }) {
    const preview = await sync.previewRelease(run);
    return { ...preview, lines: releaseLines(preview), seen: { deletes: preview.deletes } };
  },
  run: (sync, { run }, actor, { deletes }) => sync.release(run, actor, { deletes }),
  done({ stream: name, runId, released, rowsDeleted, acceptedCount, changedRuns }) {
    if (name === CUSTOMERS) return `${name}: ${acceptedCount} is taken over by the daemon`;
    const next = released ? '' : ', and the next run is due';
    const lines = [
      changedRuns.length > 0 && `rules go by what run ${changedRuns.join(', ')} changed`,
      released && `${rowsDeleted} rows deleted, run ${runId} counts`,
      acceptedCount !== null &&
        `${acceptedCount}, as in run ${runId}; that is right from now on${next}`,
    ];
    return lines.flatMap((line) => (line === false ? [] : `${name}: ${line}`)).join('\n');
  },
});

export const retryQuarantine = act({
  name: 'sync.retry-quarantine',
  operation: 'retryQuarantine',
  path: '/pulls/quarantine/retry',
  about: 'read rows again that could not be read',
  more:
    'Rows in quarantine that this version can understand are read again where they came from:\n' +
    'their order, or their stream with every row compared. The others stay.',
  button: 'Try again',
  role: 'operator',
  reason: 'page',
  input: {},
  output: z.strictObject({ understood: z.int(), left: z.int() }),
  offline: true,
  examples: [['sync retry-quarantine --reason "fixed there"', 'after a correction']],
  async preview(sync: SyncOperations) {
    const { understood, left } = await sync.previewQuarantine();
    const read = `${plural(understood, 'row')} would be read again`;
    return { lines: [`${read}, ${left} still cannot be read`] };
  },
  run: (sync, _input, actor) => sync.retryQuarantine(actor),
  done: ({ understood, left }) => `${understood} rows are read again, ${left} still cannot be read`,
});

export const syncActs = [runPull, releaseRun, retryQuarantine];
