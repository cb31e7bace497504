/** Log messages about pushes that have to wait. */
import { describe, expect, it } from 'vitest';
import { RetryLaterError } from '../../src/lib/errors.ts';
import { createLogger } from '../../src/lib/log.ts';
import { createScrubber } from '../../src/lib/secret.ts';
import { type Bench, createBench, NO, YES } from './support.ts';

const HOUR = 3_600_000;

interface Line {
  readonly msg: string;
  readonly kept?: number;
  readonly error?: string;
}

async function startWith(pushes: number, script: (bench: Bench) => void): Promise<[Bench, Line[]]> {
  const bench = await createBench();
  const lines: Line[] = [];
  const write = (line: string) => lines.push(JSON.parse(line));
  bench.log = createLogger({
    ...{ level: 'info', format: 'json', scrubber: createScrubber(), write },
  });
  for (let delivery = 1; delivery <= pushes; delivery += 1) await bench.add(delivery);
  script(bench);
  bench.start();
  await bench.clock.advance(1.5 * HOUR);
  return [bench, lines];
}

const told = (lines: readonly Line[]) => lines.map(({ msg, kept }) => [msg, kept]);

describe('the log of pushes that are put off', () => {
  it('tells once, and then hourly, that the service is away, and that it is back', async () => {
    const [bench, lines] = await startWith(3, ({ script }) => {
      script.lookUp = ({ outboxId }) => {
        throw new RetryLaterError('service.unavailable', `delivery ${outboxId}: HTTP 503`);
      };
    });
    expect(told(lines)).toEqual([
      ['push postponed', undefined],
      ['push postponed', 3],
    ]);
    bench.script.lookUp = () => YES;
    await bench.clock.advance(HOUR / 10);
    expect(told(lines.slice(2)).filter(([msg]) => msg !== 'push ended')).toEqual([
      ['pushes continue', undefined],
    ]);
  });

  it('does so as well where each is fit, and the service takes none', async () => {
    const [bench, lines] = await startWith(1, ({ script }) => {
      script.lookUp = () => NO;
      script.send = () => {
        throw new RetryLaterError('service.too_fast', 'HTTP 429');
      };
    });
    expect(bench.sends.length).toBeGreaterThan(60);
    expect(told(lines)).toEqual([
      ['push postponed', undefined],
      ['push postponed', 1],
    ]);
  });

  it('tells of each push that has a reason of its own', async () => {
    const [, lines] = await startWith(2, ({ script }) => {
      script.lookUp = ({ outboxId }) => {
        throw new RetryLaterError('outbox.order_unknown', `no order for ${outboxId}`);
      };
    });
    const errors = new Set(lines.map(({ error }) => error));
    expect([...errors]).toEqual(['no order for 1', 'no order for 2']);
    expect(lines).toHaveLength(4);
  });
});
