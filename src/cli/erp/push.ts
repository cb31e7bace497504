/** `selvedge orders push` and `selvedge refunds push`: submits documents through the daemon. */
import { open, stat } from 'node:fs/promises';
import { text } from 'node:stream/consumers';
import { Command } from 'commander';
import { z } from 'zod';
import { wordFor } from '../../config/words.ts';
import { systemClock } from '../../lib/clock.ts';
import { EXIT, RefusedError, toError } from '../../lib/errors.ts';
import { readDocuments, type TextDocument } from '../../outbox/intake/envelope.ts';
import { refusalReceipt } from '../../outbox/intake/receipt.ts';
import { duration } from '../arguments.ts';
import { type CliContext, examples } from '../command.ts';
import { askRunningDaemon } from '../daemon-call.ts';

interface Options {
  readonly dryRun?: boolean;
  readonly wait?: number;
  readonly json?: boolean;
}

interface Noun {
  readonly kind: 'order' | 'pending_refund';
  readonly plural: string;
  readonly example: string;
}

const FILE_BYTES_MAX = 67_108_864;
/**
 * Maximum characters of the input's path that the daemon is told; of a longer one the end is kept.
 */
const SOURCE_CHARS_MAX = 500;
/**
 * Limits of one request to the daemon, in documents and characters; the first to be reached ends
 * it.
 */
const DOCUMENTS_PER_REQUEST = 100;
const CHARS_PER_REQUEST = 1_000_000;
/** Milliseconds between two looks at what became of the documents. */
const LOOK_MS = 500;
const IDS_PER_REQUEST = 1_000;

const problem = z.object({
  path: z.string(),
  message: z.string(),
  severity: z.string().optional(),
});
const receipt = z.looseObject({
  documentId: z.int().nullable(),
  reference: z.string().nullable(),
  state: z.string(),
  final: z.boolean(),
  orderId: z.int().nullable(),
  orderNo: z.string().nullable(),
  pendingRefundId: z.int().nullable(),
  refundId: z.int().nullable(),
  problems: z.array(problem),
  nextStep: z.string(),
});
const checkup = z.object({
  reference: z.string().nullable(),
  verdict: z.enum(['fit', 'repeated', 'refused', 'unclear']),
  documentId: z.int().nullable(),
  problems: z.array(problem),
});
const pushAnswer = z.object({ answers: z.array(z.object({ repeated: z.boolean(), receipt })) });
const checkAnswer = z.object({ answers: z.array(checkup) });
const receiptsAnswer = z.object({ receipts: z.array(receipt.nullable()) });

/** Result for the document on one line of the input. */
interface Line {
  readonly line: number;
  readonly reference: string | null;
  readonly verdict: string;
  readonly good: boolean;
  readonly problems: readonly z.output<typeof problem>[];
  readonly hint: string;
  /** Id of the document while it is not final; undefined: there is nothing to wait for. */
  readonly open?: number | undefined;
  /** Whole answer about the document, for `--json`. */
  readonly whole: Readonly<Record<string, unknown>>;
}

async function readInput(file: string): Promise<string> {
  if (file === '-') return text(process.stdin);
  try {
    const { size } = await stat(file);
    if (size > FILE_BYTES_MAX) {
      throw new RefusedError('push.too_large', `${file} is larger than ${FILE_BYTES_MAX} bytes`, {
        hint: 'split it',
      });
    }
    await using handle = await open(file);
    return await handle.readFile('utf8');
  } catch (error) {
    if (error instanceof RefusedError) throw error;
    const message = `cannot read ${file}: ${toError(error).message}`;
    throw new RefusedError('push.unreadable', message, { cause: error });
  }
}

/** Divides documents into batches, one per request. */
function* batches(documents: readonly TextDocument[]): Generator<TextDocument[]> {
  let batch: TextDocument[] = [];
  let chars = 0;
  for (const document of documents) {
    batch.push(document);
    chars += JSON.stringify(document.value).length;
    if (batch.length < DOCUMENTS_PER_REQUEST && chars < CHARS_PER_REQUEST) continue;
    yield batch;
    batch = [];
    chars = 0;
  }
  if (batch.length > 0) yield batch;
}

/** Reports an invalid line in the form of the daemon's answers, without asking it. */
function brokenLine({ line, problems }: TextDocument, kind: string, options: Options): Line {
  const nextStep = 'correct the text and submit it again';
  const refusal = { ok: false, code: 'invalid', reference: undefined, problems, nextStep } as const;
  const told =
    options.dryRun === true
      ? { reference: null, verdict: 'refused', documentId: null, problems }
      : { repeated: false, ...refusalReceipt(kind, refusal, systemClock().now()) };
  const whole = { line, ...told };
  return {
    line,
    reference: null,
    verdict: 'refused',
    good: false,
    problems,
    hint: nextStep,
    whole,
  };
}

function receiptLine(line: number, told: z.output<typeof receipt>, repeated: boolean): Line {
  const { reference, state, documentId, orderId, orderNo, pendingRefundId, problems } = told;
  const { refundId } = told;
  const made = [
    documentId === null ? '' : `document ${documentId}`,
    orderId === null ? '' : `order ${orderNo ?? orderId}`,
    pendingRefundId === null ? '' : `pending refund ${pendingRefundId}`,
    refundId === null ? '' : `refund ${refundId}`,
    repeated ? 'submitted before' : '',
  ];
  const verdict = [wordFor('pushState', state), ...made.filter((part) => part !== '')].join(', ');
  const good = state !== 'refused' && state !== 'canceled' && state !== 'dead';
  const hint = good ? '' : told.nextStep;
  const open = told.final || state === 'dead' ? undefined : (documentId ?? undefined);
  return {
    line,
    reference,
    verdict,
    good,
    problems,
    hint,
    open,
    whole: { line, repeated, ...told },
  };
}

function checkLine(line: number, told: z.output<typeof checkup>): Line {
  const { reference, verdict, documentId, problems } = told;
  const shown = documentId === null ? verdict : `${verdict}: document ${documentId}`;
  const good = verdict === 'fit' || verdict === 'repeated';
  return { line, reference, verdict: shown, good, problems, hint: '', whole: { line, ...told } };
}

/** Submits or checks one batch of documents. */
async function send(
  command: Command,
  context: CliContext,
  kind: Noun['kind'],
  batch: readonly TextDocument[],
  options: Options & { readonly source: string },
): Promise<Line[]> {
  const payloads = batch.map(({ value }) => value);
  const lineOf = (index: number): number => batch[index]?.line ?? 0;
  if (options.dryRun === true) {
    const call = { path: '/api/intake/check', body: { kind, payloads }, answer: checkAnswer };
    const { answers } = await askRunningDaemon(command, context, call);
    return answers.map((one, index) => checkLine(lineOf(index), one));
  }
  const body = { kind, payloads, source: options.source };
  const call = { path: '/api/intake/push', body, answer: pushAnswer };
  const { answers } = await askRunningDaemon(command, context, call);
  return answers.map((one, index) => receiptLine(lineOf(index), one.receipt, one.repeated));
}

function isOpen({ open }: Line): boolean {
  return open !== undefined;
}

/** Asks for receipts again and again until every document is final, or the time is up. */
async function awaitEnds(
  command: Command,
  context: CliContext,
  lines: readonly Line[],
  waitMs: number,
): Promise<readonly Line[]> {
  const clock = systemClock();
  const deadline = clock.monotonic() + waitMs;
  let current = lines;
  while (current.some(isOpen) && clock.monotonic() < deadline) {
    await clock.sleep(LOOK_MS);
    const open = current.flatMap((line) => line.open ?? []);
    const found = new Map<number | null, z.output<typeof receipt>>();
    for (let start = 0; start < open.length; start += IDS_PER_REQUEST) {
      const body = { documentIds: open.slice(start, start + IDS_PER_REQUEST) };
      const call = { path: '/api/intake/receipts', body, answer: receiptsAnswer };
      const { receipts } = await askRunningDaemon(command, context, call);
      for (const one of receipts) if (one) found.set(one.documentId, one);
    }
    current = current.map((line) => {
      const now = line.open === undefined ? undefined : found.get(line.open);
      return now ? receiptLine(line.line, now, line.whole.repeated === true) : line;
    });
  }
  return current;
}

function show({ output }: CliContext, { line, reference, verdict, problems, hint }: Line): void {
  const told = problems.map(({ path, message, severity }) => {
    const where = path === '' ? '' : `${path} `;
    return `${severity === 'warning' ? 'warning: ' : ''}${where}${message}`;
  });
  const parts = [...told, ...(hint === '' ? [] : [`→ ${hint}`])].join('; ');
  const name = reference ?? `line ${line}`;
  output.line(`${name}: ${verdict}${parts === '' ? '' : `: ${parts}`}`);
}

function exitCodeOf(lines: readonly Line[], options: Options): number {
  if (lines.some(({ good }) => !good)) return EXIT.refused.code;
  return options.wait !== undefined && lines.some(isOpen) ? EXIT.unfinished.code : EXIT.ok.code;
}

function pushCommand(context: CliContext, { kind, plural, example }: Noun): Command {
  return new Command('push')
    .summary(`submit ${plural}`)
    .description(
      `Submits ${plural}: one as JSON, or many as NDJSON, one a line. The same one again\n` +
        'changes nothing, so that a file may be pushed again after whatever went wrong.\n' +
        'What may stand in a document is told by docs/erp-integration.md.',
    )
    .argument('<file>', 'the file; - is standard input')
    .option('--dry-run', 'only check what would be checked; submit nothing')
    .option('--wait <duration>', 'wait so long for the end of each, such as 2m', duration)
    .option('--json', 'the receipts as JSON')
    .addHelpText('after', examples([[`${plural} push ${example}`, 'then look at each line']]))
    .action(async (file: string, options: Options, self: Command) => {
      const documents = readDocuments(await readInput(file));
      const broken = documents.filter(({ problems }) => problems.length > 0);
      const lines = broken.map((document) => brokenLine(document, kind, options));
      const sound = documents.filter(({ problems }) => problems.length === 0);
      for (const batch of batches(sound)) {
        const source = file === '-' ? 'standard input' : file.slice(-SOURCE_CHARS_MAX);
        lines.push(...(await send(self, context, kind, batch, { ...options, source })));
      }
      const ended =
        options.wait === undefined ? lines : await awaitEnds(self, context, lines, options.wait);
      const shown = ended.toSorted((a, b) => a.line - b.line);
      if (options.json === true) context.output.json(shown.map(({ whole }) => whole));
      else for (const line of shown) show(context, line);
      context.setExitCode(exitCodeOf(shown, options));
    });
}

export function ordersPush(context: CliContext): Command {
  return pushCommand(context, { kind: 'order', plural: 'orders', example: 'order.json' });
}

export function refundsPush(context: CliContext): Command {
  return pushCommand(context, { kind: 'pending_refund', plural: 'refunds', example: 'day.ndjson' });
}
