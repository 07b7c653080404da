import { once } from 'node:events';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { json } from 'node:stream/consumers';
import { expect, onTestFinished, test } from 'vitest';
import { drover, nowhere } from '../../clients/drover.ts';
import { aFleet, namesUpTo, until } from '../fleet.ts';

const fleet = aFleet({ workers: 0 });

interface SentSpan {
  traceId: string;
  spanId: string;
  parentSpanId?: string;
  name: string;
  status?: { code?: number; message?: string };
}
interface Sent {
  resourceSpans: {
    resource: { attributes: { key: string; value: { stringValue?: string } }[] };
    scopeSpans: { spans: SentSpan[] }[];
  }[];
}

/** A collector that takes OTLP over HTTP, and keeps what it gets. */
async function aCollector(): Promise<{ url: string; spans: (SentSpan & { service: string })[] }> {
  const spans: (SentSpan & { service: string })[] = [];
  const server = createServer((request, response) => {
    void (json(request) as Promise<Sent>).then(({ resourceSpans }) => {
      for (const { resource, scopeSpans } of resourceSpans) {
        const service = resource.attributes.find(({ key }) => key === 'service.name')?.value.stringValue ?? '';
        spans.push(...scopeSpans.flatMap((scope) => scope.spans).map((span) => ({ ...span, service })));
      }
      response.writeHead(200, { 'content-type': 'application/json' }).end('{}');
    });
  }).listen(0, '127.0.0.1');
  await once(server, 'listening');
  onTestFinished(() => void server.close());
  return { url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`, spans };
}

test('a command, the workflow that it reaches, its activities and their requests are one trace', async () => {
  const collector = await aCollector();
  const traced = { OTEL_EXPORTER_OTLP_ENDPOINT: collector.url };
  const worker = await fleet().startWorker(traced);
  onTestFinished(async () => void (await worker.stop()));
  const namespace = await fleet().namespace();
  await fleet().createPool(namespace, 'web', { replicas: 1 });
  await fleet().settled(namespace, 'web', namesUpTo('web', 1));
  // Nobody has asked for this by a command that is traced.
  expect(collector.spans).toEqual([]);

  const { apiVersion, kind, spec } = (await fleet().pool(namespace, 'web'))!;
  const manifest = JSON.stringify({ apiVersion, kind, metadata: { name: 'shop', namespace }, spec });
  const env = { ...nowhere, ...fleet().stack.env, ...traced };
  expect(await drover(['apply', '-f', '-'], env, manifest)).toMatchObject({ code: 0 });
  await fleet().settled(namespace, 'shop', namesUpTo('shop', 1));
  const VMS = `/apis/kubevirt.io/v1/namespaces/${namespace}/virtualmachines`;
  const named = (name: string) => collector.spans.find((span) => span.name === name)!;
  await until(async () => {
    const workflow = `pool/default/${namespace}/shop`;
    const names = ['drover apply', `signal workflow ${workflow}`, 'activity plan', 'activity createVms', `POST ${VMS}`];
    expect(collector.spans.map((span) => span.name)).toEqual(expect.arrayContaining(names));
  });
  const command = named('drover apply');
  expect(command).toMatchObject({ service: 'drover' });
  expect(new Set(collector.spans.map(({ traceId }) => traceId))).toEqual(new Set([command.traceId]));
  const patch = collector.spans.find(({ name, service }) => service === 'drover' && name.startsWith('PATCH '));
  expect(patch).toMatchObject({ parentSpanId: command.spanId });
  expect(named('activity createVms')).toMatchObject({ service: 'drover-worker', parentSpanId: command.spanId });
  const creation = collector.spans.find(({ name, service }) => service === 'drover-worker' && name === `POST ${VMS}`);
  expect(creation).toMatchObject({ parentSpanId: named('activity createVms').spanId });
});
