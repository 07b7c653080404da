import { once } from 'node:events';
import { createServer, type AddressInfo, type Socket } from 'node:net';
import { afterEach, expect, test, vi } from 'vitest';
import { otlpTracer } from '../../../workers/tracing/otlp-tracer.ts';

afterEach(() => vi.unstubAllEnvs());

/** A collector that takes connections, and answers nothing. */
async function silentCollector(): Promise<{ connected: Promise<Socket>; [Symbol.asyncDispose]: () => Promise<void> }> {
  const server = createServer().listen(0, '127.0.0.1');
  const connected = once(server, 'connection').then(([socket]) => (socket as Socket).resume());
  await once(server, 'listening');
  const { port } = server.address() as AddressInfo;
  vi.stubEnv('OTEL_EXPORTER_OTLP_ENDPOINT', `http://127.0.0.1:${port}`);
  return { connected, [Symbol.asyncDispose]: async () => void (await once(server.close(), 'close')) };
}

const span = { name: 'drover apply', kind: 'internal', parent: undefined, attributes: {} } as const;

test('a collector that does not answer holds up no command: the request ends, too', async () => {
  await using collector = await silentCollector();
  const tracer = otlpTracer('drover');
  tracer.begin(span).end();
  const closed = tracer.close();
  const socket = await collector.connected;
  const ended = new Promise((resolve) => socket.on('close', resolve).on('error', resolve));
  await Promise.all([closed, ended]);
}, 5_000);

test.each([
  ['', '01'],
  ['always_off', '00'],
  ['parentbased_always_off', '00'],
])('OTEL_TRACES_SAMPLER=%s gives traces the flags %s', (sampler, flags) => {
  vi.stubEnv('OTEL_TRACES_SAMPLER', sampler);
  expect(otlpTracer('drover').begin(span).traceparent.slice(-2)).toBe(flags);
});
