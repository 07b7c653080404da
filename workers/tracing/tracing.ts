import { AsyncLocalStorage } from 'node:async_hooks';

/** What a span tells of: a part of a trace, from its beginning to its end. */
interface SpanStart {
  name: string;
  kind: 'internal' | 'client' | 'producer' | 'consumer';
  attributes: Record<string, string | number>;
  /** The traceparent of the span that it belongs to; undefined if it begins a trace. */
  parent: string | undefined;
  /** When it began, in milliseconds since the epoch; now by default. */
  at?: number;
}

export interface Span {
  /** What others continue the trace by, as W3C's Trace Context has it. */
  readonly traceparent: string;
  /** `error`: what it failed with; undefined if it did not. */
  end: (error?: unknown, attributes?: Record<string, string | number>) => void;
}

/** Writes spans, and sends them to a collector. */
export interface Tracer {
  begin: (start: SpanStart) => Span;
  /** Sends what is not sent yet. */
  close: () => Promise<void>;
}

const underWay = new AsyncLocalStorage<{ tracer: Tracer; traceparent: string }>();

/** Returns the span that this belongs to; undefined if it belongs to none. */
export const spanUnderWay = (): { tracer: Tracer; traceparent: string } | undefined => underWay.getStore();

/** Runs work as a span: what it begins belongs to the span. */
export async function asSpan<T>(tracer: Tracer, start: SpanStart, work: () => Promise<T>): Promise<T> {
  const span = tracer.begin(start);
  try {
    const result = await underWay.run({ tracer, traceparent: span.traceparent }, work);
    span.end();
    return result;
  } catch (error) {
    span.end(error);
    throw error;
  }
}

/** Reports whether the variables that all programs with OpenTelemetry share ask for traces. */
const isEnabled = (env: NodeJS.ProcessEnv): boolean =>
  Boolean(env['OTEL_EXPORTER_OTLP_TRACES_ENDPOINT'] || env['OTEL_EXPORTER_OTLP_ENDPOINT']) &&
  env['OTEL_SDK_DISABLED']?.toLowerCase() !== 'true' &&
  env['OTEL_TRACES_EXPORTER'] !== 'none';

/** Returns a tracer if the environment asks for traces: only then is OpenTelemetry loaded. */
export async function openTracer(service: string): Promise<Tracer | undefined> {
  if (!isEnabled(process.env)) return undefined;
  const { otlpTracer } = await import('./otlp-tracer.ts');
  return otlpTracer(service);
}
