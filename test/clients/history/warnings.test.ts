import { expect, test } from 'vitest';
import { EVENT_REPORTER } from '../../../api/labels-and-annotations.ts';
import type { Stored } from '../../../api/objects.ts';
import { lastWarnings } from '../../../clients/history/warnings.ts';
import { vmMember, whyNotReady } from '../../../clients/owners/members.ts';
import type { VirtualMachine } from '../../../decisions/from-object/vm.ts';
import type { KubeClient } from '../../../kubernetes/client.ts';
import { KubeError } from '../../../kubernetes/errors.ts';

const NOW = Date.parse('2026-11-27T16:00:00Z');

/** A VM whose starts fail, as KubeVirt has it between two of them: without a VMI. */
const between = (retryAfterTimestamp?: string): Stored<VirtualMachine> => ({
  metadata: {
    namespace: 'shop',
    name: 'web-1',
    uid: 'x',
    resourceVersion: '1',
    creationTimestamp: '2026-01-01T00:00:00Z',
  },
  spec: { runStrategy: 'Always' },
  status: {
    printableStatus: 'CrashLoopBackOff',
    conditions: [{ type: 'Ready', status: 'False', reason: 'VMINotExists', message: 'VMI does not exist' }],
    startFailure: { consecutiveFailCount: 3, ...(retryAfterTimestamp === undefined ? {} : { retryAfterTimestamp }) },
  },
});

const event = (kind: string, name: string, at: string, more: object = {}): object => ({
  metadata: { namespace: 'shop', name: `${name}.${at}`, creationTimestamp: at },
  involvedObject: { kind, name },
  lastTimestamp: at,
  reason: 'Failed',
  message: `at ${at}`,
  ...more,
});

const cluster = (items: object[]): KubeClient => ({ list: () => Promise.resolve({ items }) }) as unknown as KubeClient;

test('between two starts, a VM says how often they failed and when the next is, not that it has no VMI', () => {
  expect(whyNotReady(vmMember(between('2026-11-27T16:02:00Z'), NOW), undefined, NOW)).toBe(
    '3 failed starts, the next at 2026-11-27T16:02:00Z',
  );
  expect(whyNotReady(vmMember(between('2026-11-27T15:59:00Z'), NOW), undefined, NOW)).toBe('3 failed starts');
  const warning = { at: '2026-11-27T15:58:00Z', reason: 'SyncFailed', message: 'no disk' };
  expect(whyNotReady(vmMember(between(), NOW), warning, NOW)).toBe('3 failed starts; SyncFailed: no disk (2m ago)');
});

test.each([
  ['Provisioning', 'its disks are being made or filled'],
  ['WaitingForVolumeBinding', 'its claims are not bound yet'],
  ['DataVolumeError', 'a DataVolume of it has failed'],
  ['Stopped', ''],
])('a VM that has no VMI says what its state tells, not that it has none: %s', (printableStatus, why) => {
  const { status, ...vm } = between();
  const { startFailure: _none, ...rest } = status!;
  expect(whyNotReady(vmMember({ ...vm, status: { ...rest, printableStatus } }))).toBe(why);
});

test.each([
  [{ type: 'Failure', status: 'True', message: 'a webhook denied the request' }, 'a webhook denied the request'],
  [{ type: 'PodScheduled', status: 'False', message: 'no node fits' }, 'no node fits'],
] as const)('a VM that cannot start says why first, and not that its guest does not run: %o', (condition, why) => {
  const { metadata } = between();
  const ready = { type: 'Ready', status: 'False', message: 'the guest is not running' } as const;
  const status = { printableStatus: 'Stopped', conditions: [ready, condition] };
  expect(whyNotReady(vmMember({ metadata, status }))).toBe(why);
});

test('the last warning about a VM, its VMI or its pod counts, and no notice of drover', async () => {
  const times = ['2026-11-27T15:50:00Z', '2026-11-27T15:51:00Z', '2026-11-27T15:52:00Z'] as const;
  const kube = cluster([
    event('Pod', 'virt-launcher-web-1-abcde', times[1]),
    event('VirtualMachineInstance', 'web-1', times[0]),
    event('VirtualMachine', 'web-1', times[2], { reportingComponent: EVENT_REPORTER }),
    event('VirtualMachine', 'web-2', times[2]),
    event('Pod', 'web-1', times[2]),
  ]);
  const warnings = await lastWarnings(kube, 'shop', new Set(['web-1']));
  expect([...warnings]).toEqual([['web-1', { at: times[1], reason: 'Failed', message: `at ${times[1]}` }]]);
});

test('a user who may not read Events sees what the VM itself tells', async () => {
  const kube = {
    list: () => Promise.reject(new KubeError(403, 'Forbidden', 'no')),
  } as unknown as KubeClient;
  expect(await lastWarnings(kube, 'shop', new Set(['web-1']))).toEqual(new Map());
});
