/** Runs the console's thread beside the daemon: starts it, answers its messages, and ends it. */
import type { Clock } from '../lib/clock.ts';
import { RetryLaterError } from '../lib/errors.ts';
import type { Logger } from '../lib/log.ts';
import { programUrl } from '../lib/process/program-url.ts';
import { startThread } from '../lib/process/thread.ts';
import type { StoreOptions } from '../store/store.ts';
import type { Question, Reply } from './acts.ts';
import type { ConsoleDeps, ConsoleSettings } from './context.ts';

type RulesMode = ReturnType<ConsoleDeps['rulesMode']>;

export interface ThreadSettings {
  readonly store: StoreOptions;
  readonly listen: { readonly host: string; readonly port: number };
  readonly settings: ConsoleSettings;
  readonly rulesMode: RulesMode;
}

export type FromThread =
  | { readonly id: number; readonly question: Question }
  | { readonly listening: string }
  | { readonly line: string };

export type ToThread =
  | { readonly id: number; readonly reply: Reply }
  | { readonly rulesMode: RulesMode }
  | { readonly stop: true };

const HEAP_MIB_MAX = 256;
const STOP_MS_MAX = 7_000;

export interface ConsoleThread {
  /** Address of the console's pages; undefined while none are served. */
  readonly url: () => string | undefined;
  /** Resolves with the address when pages are served for the first time. */
  readonly listening: Promise<string>;
  /** Takes over `rules.mode` after a reload, also for a thread that is started again. */
  takeMode(rulesMode: RulesMode): void;
  run(signal: AbortSignal): Promise<void>;
}

export function createConsoleThread(
  data: ThreadSettings,
  answer: (question: Question) => Promise<Reply>,
  { clock, log }: { readonly clock: Clock; readonly log: Logger },
): ConsoleThread {
  let url: string | undefined;
  let { rulesMode } = data;
  let sendMode: (mode: RulesMode) => void = () => undefined;
  const first = Promise.withResolvers<string>();
  return {
    url: () => url,
    listening: first.promise,
    takeMode(mode) {
      rulesMode = mode;
      sendMode(mode);
    },
    async run(signal) {
      const worker = startThread(programUrl(import.meta.url, 'server-main'), {
        data: { ...data, rulesMode },
        limits: { maxOldGenerationSizeMb: HEAP_MIB_MAX },
        stepsBack: false,
      });
      const send = (message: ToThread): void => worker.postMessage(message);
      sendMode = (mode) => send({ rulesMode: mode });
      worker.on('message', (message: FromThread) => {
        if ('listening' in message) {
          url = message.listening;
          first.resolve(url);
          log.info({ url }, 'console listens');
        } else if ('line' in message) log.warn({ thread: message.line.trimEnd() }, 'console');
        else {
          const { id, question } = message;
          void answer(question).then((reply) => send({ id, reply }));
        }
      });
      const over = new AbortController();
      const stop = (): void => {
        send({ stop: true });
        // Ends a thread that is too busy with a page to stop by itself.
        clock.sleep(STOP_MS_MAX, over.signal).then(
          () => void worker.terminate(),
          () => undefined,
        );
      };
      signal.addEventListener('abort', stop, { once: true });
      try {
        await new Promise<void>((resolve, reject) => {
          worker.on('error', reject);
          worker.on('exit', (code) => {
            if (signal.aborted) resolve();
            else reject(new RetryLaterError('console.ended', `its thread ended with code ${code}`));
          });
        });
      } finally {
        url = undefined;
        sendMode = () => undefined;
        over.abort();
        signal.removeEventListener('abort', stop);
      }
    },
  };
}
