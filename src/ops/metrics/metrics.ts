/** Formats all metrics for Prometheus, with those of the process (memory, CPU, loop delay). */
import { Counter, collectDefaultMetrics, Gauge, Histogram, Registry } from 'prom-client';
import type { Clock } from '../../lib/clock.ts';
import type { LiveReadings } from './sources.ts';
import { type Counted, DATABASE_MEASURES, LIVE_MEASURES, type Measure } from './table.ts';

export interface Metrics {
  readonly contentType: string;
  /** Reads every source and returns the metrics as text, for a moment the same text. */
  text(): Promise<string>;
}

export interface MetricsDeps {
  readonly clock: Clock;
  /** Labels of `selvedge_build_info`: this daemon's name, and the versions that it runs on. */
  readonly build: Readonly<Record<string, string>>;
  readonly readDatabase: () => Promise<Counted>;
  readonly readLive: () => LiveReadings;
}

const PREFIX = 'selvedge_';
/**
 * Milliseconds for which a scrape is given again: a newer one would be no more exact, and anybody
 * on this machine may ask.
 */
const SAME_MS = 2_000;
/** Milliseconds between samples of the event loop's delay; less would cost idle CPU. */
const LOOP_SAMPLE_MS = 100;

/**
 * Registers a metric and returns the function that updates it; readings are undefined when the
 * database could not be read.
 */
function install<T>(registry: Registry, measure: Measure<T>): (readings?: T) => void {
  const { name, help, labels = [] } = measure;
  const read = (readings: T | undefined) => (readings === undefined ? [] : measure.read(readings));
  const options = { name: PREFIX + name, help, labelNames: [...labels], registers: [registry] };
  if (measure.buckets) {
    const histogram = new Histogram({ ...options, buckets: [...measure.buckets] });
    for (const known of measure.known ?? []) histogram.zero(known);
    // A histogram keeps its observations while nothing can be read: they only grow.
    return (readings) => {
      for (const { labels: of = {}, value } of read(readings)) histogram.observe(of, value);
    };
  }
  if (name.endsWith('_total')) {
    const counter = new Counter(options);
    return (readings) => {
      counter.reset();
      for (const { labels: of = {}, value } of read(readings)) counter.inc(of, value);
    };
  }
  const gauge = new Gauge(options);
  return (readings) => {
    gauge.reset();
    // Removes the gauge, because it is 0 after a reset, and 0 must not stand for unknown.
    if (labels.length === 0) gauge.remove();
    for (const { labels: of = {}, value } of read(readings)) gauge.set(of, value);
  };
}

/** Remembers the last result for a moment, so that many requests cost no more than one. */
function remembered<T>(clock: Clock, read: () => Promise<T>): () => Promise<T> {
  let last: { readonly at: number; readonly result: Promise<T> } | undefined;
  return () => {
    if (last === undefined || clock.monotonic() - last.at > SAME_MS) {
      last = { at: clock.monotonic(), result: read() };
    }
    return last.result;
  };
}

export function createMetrics({ clock, build, readDatabase, readLive }: MetricsDeps): Metrics {
  const registry = new Registry();
  collectDefaultMetrics({ register: registry, eventLoopMonitoringPrecision: LOOP_SAMPLE_MS });
  const info = { name: `${PREFIX}build_info`, help: 'Versions', labelNames: Object.keys(build) };
  new Gauge({ ...info, registers: [registry] }).set(build, 1);
  const up = new Gauge({
    name: `${PREFIX}database_readable`,
    help: '0 when the database could not be read for these numbers',
    registers: [registry],
  });
  const fromDatabase = DATABASE_MEASURES.map((measure) => install(registry, measure));
  const fromMemory = LIVE_MEASURES.map((measure) => install(registry, measure));
  return {
    contentType: registry.contentType,
    text: remembered(clock, async () => {
      const live = readLive();
      for (const update of fromMemory) update(live);
      const readings = await readDatabase().catch(() => undefined);
      up.set(Number(readings !== undefined));
      for (const update of fromDatabase) update(readings);
      return registry.metrics();
    }),
  };
}
