import { Registry } from 'prom-client';
import { expect, test } from 'vitest';
import type { RequestSummary, Ended } from '../../../kubernetes/transport.ts';
import { RequestMetrics } from '../../../workers/metrics/request-metrics.ts';

async function measured(answer: Partial<RequestSummary & Ended>): Promise<string> {
  const registry = new Registry();
  const requests = new RequestMetrics(registry);
  const all = {
    method: 'GET',
    path: '/version',
    isWatch: false,
    status: 200,
    seconds: 0.02,
    isAborted: false,
    ...answer,
  } as const;
  requests.began(all).onEnd(all);
  const text = await registry.metrics();
  return /_count\{(.*)\} 1/.exec(text)![1]!;
}

const VMS = '/apis/kubevirt.io/v1/namespaces/shop/virtualmachines';

test.each<[Partial<RequestSummary & Ended>, string, string, string]>([
  [{ path: `${VMS}?limit=500` }, 'list', 'virtualmachines', '200'],
  [{ path: '/apis/kubevirt.io/v1/virtualmachines?watch=1', isWatch: true }, 'watch', 'virtualmachines', '200'],
  [{ path: `${VMS}/web-1` }, 'get', 'virtualmachines', '200'],
  [{ path: '/api/v1/namespaces/kube-system' }, 'get', 'namespaces', '200'],
  [{ path: '/api/v1/nodes' }, 'list', 'nodes', '200'],
  [{ method: 'POST', path: `${VMS}?fieldManager=drover`, status: 403 }, 'create', 'virtualmachines', '403'],
  [{ method: 'PATCH', path: `${VMS}/web-1/status?dryRun=All`, status: 409 }, 'patch', 'virtualmachines/status', '409'],
  [
    { method: 'PUT', path: '/apis/subresources.kubevirt.io/v1/namespaces/shop/virtualmachines/web-1/restart' },
    'update',
    'virtualmachines/restart',
    '200',
  ],
  [{ method: 'DELETE', path: `${VMS}/web-1`, status: undefined }, 'delete', 'virtualmachines', 'none'],
  [{ path: '/version' }, 'get', '', '200'],
])('%j is measured by its verb, its resource and its code', async (answer, verb, resource, code) => {
  expect(await measured(answer)).toBe(`verb="${verb}",resource="${resource}",code="${code}"`);
});

test('requests without an answer are in flight, and those that are aborted are not counted', async () => {
  const registry = new Registry();
  const requests = new RequestMetrics(registry);
  const [one] = [1, 2].map(() => requests.began({ method: 'GET', path: '/version', isWatch: false }));
  expect(await registry.metrics()).toContain('drover_kube_in_flight 2');
  one!.onEnd({ status: undefined, seconds: 1, isAborted: true });
  const text = await registry.metrics();
  expect(text).toContain('drover_kube_in_flight 1');
  expect(text).not.toMatch(/^drover_kube_request_seconds_count/m);
});
