import { once } from 'node:events';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, onTestFinished, test } from 'vitest';
import type { TransitionPlanned } from '../../../clients/machine-types/plan.ts';
import { drover, nowhere } from '../drover.ts';

const VMS = 6_000;
/** Size of an object, mostly in fields that are not read. */
const BYTES = 20_000;
/** Twice what a plan needs that keeps views, which is some pages, and two thirds of what all VMs and VMIs take. */
const HEAP_MIB = 160;
const OLD = 'pc-q35-rhel8.6.0';

const padding = 'x'.repeat(BYTES);
const spec = {
  runStrategy: 'Always',
  template: { spec: { architecture: 'amd64', domain: { devices: {}, machine: { type: OLD } } } },
};
const vm = (index: number): object => ({
  metadata: {
    namespace: 'shop',
    name: `vm-${index}`,
    uid: `vm-${index}`,
    resourceVersion: String(index + 1),
    annotations: { padding: `${index}${padding}` },
  },
  spec,
  status: { ready: true, created: true, printableStatus: 'Running' },
});
const vmi = (index: number): object => ({
  metadata: {
    ...(vm(index) as { metadata: object }).metadata,
    uid: `vmi-${index}`,
    ownerReferences: [
      {
        apiVersion: 'kubevirt.io/v1',
        kind: 'VirtualMachine',
        name: `vm-${index}`,
        uid: `vm-${index}`,
        controller: true,
      },
    ],
  },
  spec: spec.template.spec,
  status: { phase: 'Running', machine: { type: OLD } },
});
const MADE: Record<string, (index: number) => object> = { virtualmachines: vm, virtualmachineinstances: vmi };

/** An API server with only what a plan reads; records the requests. */
function answer(asked: string[], { method, url = '' }: IncomingMessage, response: ServerResponse): void {
  const { pathname, searchParams } = new URL(url, 'http://localhost');
  asked.push(`${method} ${url}`);
  response.setHeader('content-type', 'application/json');
  const kind = pathname.split('/').at(-1)!;
  const make = MADE[kind];
  const [from, limit] = [Number(searchParams.get('continue') ?? 0), Number(searchParams.get('limit'))];
  const to = make === undefined ? 0 : Math.min(VMS, from + limit);
  const items = Array.from({ length: Math.max(to - from, 0) }, (_, index) => make!(from + index));
  const more = to > 0 && to < VMS ? { continue: String(to) } : {};
  response.end(
    JSON.stringify(method === 'PATCH' ? vm(0) : { metadata: { resourceVersion: String(VMS), ...more }, items }),
  );
}

test('a plan reads each object once, in pages, and keeps little of it', { timeout: 120_000 }, async () => {
  const asked: string[] = [];
  const server = createServer((request, response) => answer(asked, request.resume(), response)).listen(0, '127.0.0.1');
  await once(server, 'listening');
  const folder = mkdtempSync(join(tmpdir(), 'drover-'));
  onTestFinished(() => {
    server.close();
    rmSync(folder, { recursive: true });
  });
  const kubeconfig = join(folder, 'kubeconfig');
  const cluster = {
    server: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    'insecure-skip-tls-verify': true,
  };
  const all = {
    apiVersion: 'v1',
    kind: 'Config',
    'current-context': 'a',
    clusters: [{ name: 'a', cluster }],
    users: [{ name: 'a', user: {} }],
    contexts: [{ name: 'a', context: { cluster: 'a', user: 'a' } }],
  };
  writeFileSync(kubeconfig, JSON.stringify(all));

  const args = ['machine-types', 'plan', '--which-matches-glob', '*rhel8.*', '--force', '-o', 'json'];
  const { code, stdout, stderr } = await drover(args, {
    ...nowhere,
    KUBECONFIG: kubeconfig,
    NODE_OPTIONS: `--max-old-space-size=${HEAP_MIB}`,
  });
  expect({ code, stderr }).toEqual({ code: 0, stderr: '' });
  expect((JSON.parse(stdout) as TransitionPlanned).items.length).toBe(VMS);
  const lists = asked.filter((one) => one.startsWith('GET') && /virtualmachine(instance)?s\?/.test(one));
  expect(new Set(lists).size).toBe(lists.length);
  expect(lists.every((one) => one.includes('limit='))).toBe(true);
});
