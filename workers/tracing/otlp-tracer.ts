import { ROOT_CONTEXT, SpanKind, SpanStatusCode, trace, type Context, type SpanContext } from '@opentelemetry/api';
import { OTLPTraceExporter } from '@opentelemetry/exporter-trace-otlp-http';
import { defaultResource, detectResources, envDetector, resourceFromAttributes } from '@opentelemetry/resources';
import {
  AlwaysOffSampler,
  AlwaysOnSampler,
  BatchSpanProcessor,
  ParentBasedSampler,
  TraceIdRatioBasedSampler,
  TracerProvider,
} from '@opentelemetry/sdk-trace';
import packageJson from '../../package.json' with { type: 'json' };
import type { Tracer } from './tracing.ts';

const KINDS = {
  internal: SpanKind.INTERNAL,
  client: SpanKind.CLIENT,
  producer: SpanKind.PRODUCER,
  consumer: SpanKind.CONSUMER,
};

/** How often spans are sent, in milliseconds. */
const SEND_MS = 1_000;
/** How long spans are sent to a collector that does not answer, in milliseconds: a command does not end before. */
const ANSWER_MS = 1_000;

/**
 * Returns a tracer that sends spans by OTLP over HTTP, as OpenTelemetry's own variables say. Whether a collector that
 * does not answer is tried for longer is up to `OTEL_EXPORTER_OTLP_TIMEOUT`.
 */
export function otlpTracer(service: string): Tracer {
  const own = resourceFromAttributes({ 'service.name': service, 'service.version': packageJson.version });
  const exporter = new OTLPTraceExporter(hasTimeout(process.env) ? {} : { timeoutMillis: ANSWER_MS });
  const provider = new TracerProvider({
    sampler: new ParentBasedSampler({ root: rootSampler(process.env) }),
    resource: defaultResource()
      .merge(own)
      .merge(detectResources({ detectors: [envDetector] })),
    spanProcessors: [new BatchSpanProcessor({ exporter, scheduledDelayMillis: SEND_MS })],
  });
  const tracer = provider.getTracer('drover', packageJson.version);
  return {
    begin({ name, kind, attributes, parent, at }) {
      const start = { kind: KINDS[kind], attributes, ...(at === undefined ? {} : { startTime: at }) };
      const span = tracer.startSpan(name, start, contextOf(parent));
      return {
        traceparent: traceparentOf(span.spanContext()),
        end(error, more = {}) {
          span.setAttributes(more);
          if (error !== undefined)
            span.setStatus({
              code: SpanStatusCode.ERROR,
              message: error instanceof Error ? error.message : 'failed',
            });
          span.end();
        },
      };
    },
    close: () => provider.shutdown().catch(() => {}),
  };
}

const hasTimeout = (env: NodeJS.ProcessEnv): boolean =>
  Boolean(env['OTEL_EXPORTER_OTLP_TRACES_TIMEOUT'] || env['OTEL_EXPORTER_OTLP_TIMEOUT']);

/** Which traces are written that begin here: all, a part of them, or none. */
function rootSampler({ OTEL_TRACES_SAMPLER: sampler = '', OTEL_TRACES_SAMPLER_ARG: part = '1' }: NodeJS.ProcessEnv) {
  if (sampler.endsWith('always_off')) return new AlwaysOffSampler();
  return sampler.endsWith('traceidratio') ? new TraceIdRatioBasedSampler(Number(part)) : new AlwaysOnSampler();
}

const traceparentOf = ({ traceId, spanId, traceFlags }: SpanContext): string =>
  `00-${traceId}-${spanId}-${traceFlags.toString(16).padStart(2, '0')}`;

/** A user who may write the object may have written anything there: an invalid traceparent begins a new trace. */
function contextOf(traceparent: string | undefined): Context {
  const [, traceId, spanId, flags] = /^00-([0-9a-f]{32})-([0-9a-f]{16})-([0-9a-f]{2})$/.exec(traceparent ?? '') ?? [];
  if (traceId === undefined || spanId === undefined || flags === undefined) return ROOT_CONTEXT;
  return trace.setSpanContext(ROOT_CONTEXT, { traceId, spanId, traceFlags: parseInt(flags, 16), isRemote: true });
}
