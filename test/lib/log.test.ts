import { describe, expect, it } from 'vitest';
import { createLogger, type LogFormat } from '../../src/lib/log.ts';
import { createScrubber } from '../../src/lib/secret.ts';

describe('a line of the log', () => {
  it.each<LogFormat>(['human', 'json', 'journal'])(
    'hides a secret that is part of a number, and does not break on it, as %s',
    (format) => {
      const scrubber = createScrubber();
      scrubber.register('100234', 'service.v1.login.clientId');
      const lines: string[] = [];
      const write = (line: string): void => void lines.push(line);
      const log = createLogger({ level: 'info', format, scrubber, write });
      log.info({ orderId: 1002345, text: 'id 100234' }, 'read');
      expect(lines).toHaveLength(1);
      expect(lines.join('')).toContain('[secret service.v1.login.clientId]');
      expect(lines.join('')).not.toContain('100234');
    },
  );

  it('hides a secret with quotes in it also in JSON within JSON within JSON', () => {
    const scrubber = createScrubber();
    scrubber.register('canary"\\7f3a', 'service.v1.apiKey');
    const lines: string[] = [];
    const write = (line: string): void => void lines.push(line);
    const log = createLogger({ level: 'info', format: 'json', scrubber, write });
    const echoed = JSON.stringify({ key: 'canary"\\7f3a' });
    log.warn({ body: echoed, detail: JSON.stringify({ body: echoed }) }, 'refused');
    expect(lines.join('')).not.toMatch(/canary|7f3a/);
  });

  it('is one line for people, whatever a text from outside holds', () => {
    const lines: string[] = [];
    const write = (line: string): void => void lines.push(line);
    const log = createLogger({ level: 'info', format: 'human', scrubber: createScrubber(), write });
    log.info({ reference: 'R\n08:15:02 ERROR fake\u001b[2J' }, 'push\rsettled');
    const shown = String.raw`push\rsettled  reference=R\n08:15:02 ERROR fake\u001b[2J`;
    expect(lines.map((line) => line.slice(25))).toEqual([`${shown}\n`]);
  });
});
