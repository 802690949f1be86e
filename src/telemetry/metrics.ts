// Registries and shared kinds of metrics. Each server has its own registry: a global one would mix the series of two
// servers in one process, as in tests and the demo.
import { Counter, collectDefaultMetrics, Gauge, Histogram, Registry } from "prom-client";

export function createRegistry(): Registry {
  const registry = new Registry();
  collectDefaultMetrics({ register: registry, prefix: "reprise_" });
  return registry;
}

/**
 * From 1 ms, a typical admission response, to 10 s, a slow recovery. Anything slower only needs to be visible as such.
 */
const LATENCY_BUCKETS: readonly number[] = [0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10];

export interface LatencyOptions<L extends string> {
  /** Ends in `_seconds`. */
  readonly name: `reprise_${string}_seconds`;
  readonly help: string;
  readonly labelNames?: readonly L[];
}

/** A histogram of durations. Observe seconds, or use its timer. */
export function latencyHistogram<L extends string = never>(
  registry: Registry,
  options: LatencyOptions<L>,
): Histogram<L> {
  return new Histogram({
    name: options.name,
    help: options.help,
    labelNames: options.labelNames ?? [],
    buckets: [...LATENCY_BUCKETS],
    registers: [registry],
  });
}

/** A gauge whose value is read when it is scraped. */
export function readGauge(registry: Registry, name: `reprise_${string}`, help: string, read: () => number): void {
  new Gauge({
    name,
    help,
    registers: [registry],
    collect() {
      this.set(read());
    },
  });
}

/** A counter that another part of the program counts, and whose value is read when it is scraped. */
export function readCounter(
  registry: Registry,
  name: `reprise_${string}_total`,
  help: string,
  read: () => number,
): void {
  new Counter({
    name,
    help,
    registers: [registry],
    collect() {
      this.reset();
      this.inc(read());
    },
  });
}
