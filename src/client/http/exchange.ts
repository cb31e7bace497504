/**
 * An HTTP exchange on undici's dispatcher, with our own deadlines. The dispatcher level alone
 * tells whether a request was written at all (`sent`), which separates "may be repeated" from "in
 * doubt", and it lets a slow consumer pause the socket. Deadlines: `connectMs` until the request is
 * written, `firstByteMs` until the answer's head, `idleMs` is the window in which the body must
 * make progress (a paused socket does not count; undici's own body timeout stops under
 * back-pressure), `totalMs` for everything.
 */
import type { Dispatcher } from 'undici';
import type { Clock, Timer } from '../../lib/clock.ts';

/** Initial bytes of the buffer when the answer states no length. */
const BYTES_FIRST = 65_536;

/**
 * Collects a whole answer body in memory of its own; `contentLength` is the answer's header, from
 * which the buffer gets its size.
 */
export function createBodyBuffer(contentLength: string | undefined, bytesMax: number) {
  const bytesExpected = Number(contentLength ?? BYTES_FIRST);
  let whole = Buffer.allocUnsafeSlow(Math.min(bytesExpected, bytesMax) || 0);
  let length = 0;
  return {
    /**
     * Adds the bytes of a chunk by copying them at once: chunks that wait become old, and the
     * garbage collector frees old ones only in full collections.
     */
    add(chunk: Buffer): void {
      const needed = length + chunk.length;
      if (needed > whole.length) whole = Buffer.from(whole.buffer.transfer(needed * 2));
      length += chunk.copy(whole, length);
    },
    /** Whether more bytes arrived than `bytesMax`. */
    isOver: (): boolean => length > bytesMax,
    end: (): Buffer =>
      length === whole.length ? whole : Buffer.from(whole.buffer.transfer(length)),
  };
}

export interface Deadlines {
  readonly connectMs: number;
  readonly firstByteMs: number;
  readonly idleMs: number;
  readonly totalMs: number;
}

export type FailureKind =
  | 'connect_timeout'
  | 'first_byte_timeout'
  | 'idle_timeout'
  | 'total_timeout'
  | 'too_large'
  | 'aborted'
  | 'broken_connection';

/** Error for an exchange that failed; the client room turns it into errors for its callers. */
export class ExchangeFailure extends Error {
  override readonly name = 'ExchangeFailure';
  readonly kind: FailureKind;
  /** Whether a byte of the request may have left this machine. */
  readonly sent: boolean;

  constructor(kind: FailureKind, sent: boolean, cause: unknown) {
    super(`${kind}${cause instanceof Error ? `: ${cause.message}` : ''}`, { cause });
    this.kind = kind;
    this.sent = sent;
  }
}

export type AnswerHeaders = Readonly<Record<string, string | string[] | undefined>>;

export function headerText(headers: AnswerHeaders, name: string): string | undefined {
  const value = headers[name];
  return typeof value === 'object' ? value.join(', ') : value;
}

/** Head of an answer; exactly one of the three methods must be used for its body. */
export interface RawAnswer {
  readonly status: number;
  readonly headers: AnswerHeaders;
  /** Gives the body as a stream, to be read to its end or abandoned; both free the connection. */
  stream(): AsyncGenerator<Buffer, void, undefined>;
  /** Reads the whole body into memory of its own; beyond `bytesMax` the rest is cut off. */
  whole(bytesMax: number): Promise<Buffer>;
  /** Drops the body and closes the connection. */
  discard(): void;
}

export interface ExchangeOptions {
  readonly deadlines: Deadlines;
  readonly bodyBytesMax: number;
  readonly clock: Clock;
  readonly signal: AbortSignal | undefined;
  readonly onBytes: (count: number) => void;
  /** Looks why the request must not begin any more, just before it is written. */
  readonly whyNot?: (() => string | undefined) | undefined;
}

/** Bytes waiting for the consumer at which the socket is paused. */
const QUEUED_BYTES_MAX = 1_048_576;

/** Bytes that a body must bring per idle window; with fewer it counts as stalled. */
const PROGRESS_BYTES_MIN = 1_024;

class Exchange implements Dispatcher.DispatchHandler, RawAnswer {
  readonly head: Promise<RawAnswer>;
  status = 0;
  headers: AnswerHeaders = {};
  readonly #options: ExchangeOptions;
  readonly #queue: Buffer[] = [];
  /** Buffer when the body is read as a whole; it replaces the queue. */
  #buffer: ReturnType<typeof createBodyBuffer> | undefined;
  readonly #total: Timer;
  readonly #onAbort: () => void;
  #resolveHead: (answer: RawAnswer) => void = () => undefined;
  #rejectHead: (failure: ExchangeFailure) => void = () => undefined;
  #controller: Dispatcher.DispatchController | undefined;
  #phase: Timer;
  #failure: ExchangeFailure | undefined;
  #ended = false;
  #queuedBytes = 0;
  #receivedBytes = 0;
  #windowBytes = 0;
  #wake: () => void = () => undefined;

  constructor(options: ExchangeOptions) {
    this.#options = options;
    this.head = new Promise((resolve, reject) => {
      this.#resolveHead = resolve;
      this.#rejectHead = reject;
    });
    const { clock, deadlines, signal } = options;
    this.#total = clock.after(deadlines.totalMs, () => this.#fail('total_timeout'));
    this.#phase = clock.after(deadlines.connectMs, () => this.#fail('connect_timeout'));
    this.#onAbort = () => this.#fail('aborted', signal?.reason);
    signal?.addEventListener('abort', this.#onAbort, { once: true });
    if (signal?.aborted) this.#onAbort();
  }

  /**
   * Starts the wait for the head of the answer: undici calls this just before it writes the
   * request. Nothing looks at a permit earlier: a process that is stopped in between writes the
   * request when it goes on, before any timer fires.
   */
  onRequestStart(controller: Dispatcher.DispatchController): void {
    const why = this.#options.whyNot?.();
    if (why !== undefined) this.#fail('aborted', new Error(why));
    if (this.#failure) {
      controller.abort(this.#failure);
      return;
    }
    this.#controller = controller;
    const { clock, deadlines } = this.#options;
    this.#phase.cancel();
    this.#phase = clock.after(deadlines.firstByteMs, () => this.#fail('first_byte_timeout'));
  }

  onResponseStart(
    controller: Dispatcher.DispatchController,
    status: number,
    headers: AnswerHeaders,
  ): void {
    if (status < 200) return;
    // Releases the raw headers, whose slices would keep 64 KiB alive.
    controller.rawHeaders = null;
    this.#phase.cancel();
    this.#watchProgress();
    this.status = status;
    this.headers = headers;
    this.#resolveHead(this);
  }

  onResponseData(controller: Dispatcher.DispatchController, chunk: Buffer): void {
    this.#receivedBytes += chunk.length;
    this.#options.onBytes(chunk.length);
    if (this.#receivedBytes > this.#options.bodyBytesMax) {
      this.#fail('too_large');
      return;
    }
    if (this.#buffer) {
      this.#windowBytes += chunk.length;
      this.#buffer.add(chunk);
      if (this.#buffer.isOver()) this.#wake();
      return;
    }
    this.#queue.push(chunk);
    this.#queuedBytes += chunk.length;
    if (this.#queuedBytes > QUEUED_BYTES_MAX) controller.pause();
    this.#wake();
  }

  onResponseEnd(): void {
    this.#ended = true;
    this.#finish();
  }

  onResponseError(_controller: Dispatcher.DispatchController, error: Error): void {
    this.#fail('broken_connection', error);
  }

  #watchProgress(): void {
    const { clock, deadlines } = this.#options;
    this.#windowBytes = 0;
    this.#phase = clock.after(deadlines.idleMs, () => {
      const consumerIsSlow = this.#queue.length > 0;
      if (consumerIsSlow || this.#windowBytes >= PROGRESS_BYTES_MIN) this.#watchProgress();
      else this.#fail('idle_timeout');
    });
  }

  #finish(): void {
    this.#phase.cancel();
    this.#total.cancel();
    this.#options.signal?.removeEventListener('abort', this.#onAbort);
    this.#wake();
  }

  #fail(kind: FailureKind, cause?: unknown): void {
    if (this.#failure || this.#ended) return;
    this.#failure = new ExchangeFailure(kind, this.#controller !== undefined, cause);
    this.#controller?.abort(this.#failure);
    this.#rejectHead(this.#failure);
    this.#finish();
  }

  async *stream(): AsyncGenerator<Buffer, void, undefined> {
    try {
      for (;;) {
        const chunk = this.#taken();
        if (chunk) yield chunk;
        else if (this.#failure) throw this.#failure;
        else if (this.#ended) return;
        else await this.#news();
      }
    } finally {
      if (!this.#ended) this.#fail('aborted', new Error('the body was not read to its end'));
    }
  }

  async whole(bytesMax: number): Promise<Buffer> {
    const buffer = createBodyBuffer(headerText(this.headers, 'content-length'), bytesMax);
    // The buffer takes over only once the queue is empty, because taking the queue's last chunk may
    // deliver the next at once.
    for (let chunk = this.#taken(); chunk; chunk = this.#taken()) buffer.add(chunk);
    this.#buffer = buffer;
    while (!this.#ended && !this.#failure && !buffer.isOver()) await this.#news();
    if (this.#failure) throw this.#failure;
    if (!this.#ended) this.discard();
    return buffer.end();
  }

  discard(): void {
    this.#fail('aborted', new Error('the body was not wanted'));
  }

  #taken(): Buffer | undefined {
    const chunk = this.#queue.shift();
    if (!chunk) return undefined;
    this.#queuedBytes -= chunk.length;
    this.#windowBytes += chunk.length;
    if (this.#controller?.paused && this.#queue.length === 0) this.#controller.resume();
    return chunk;
  }

  #news(): Promise<void> {
    return new Promise((resolve) => {
      this.#wake = resolve;
    });
  }
}

/** Sends the request and waits for the answer's head. Throws {@link ExchangeFailure}. */
export function exchange(
  dispatcher: Dispatcher,
  request: Dispatcher.DispatchOptions,
  options: ExchangeOptions,
): Promise<RawAnswer> {
  const running = new Exchange(options);
  // undici reports a request that it refuses (a closed pool, an invalid header) to the handler.
  dispatcher.dispatch({ ...request, headersTimeout: 0, bodyTimeout: 0 }, running);
  return running.head;
}
