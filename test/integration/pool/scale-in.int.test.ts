import { describe, expect, onTestFinished, test } from 'vitest';
import { REMOVE_VMS_ANNOTATION } from '../../../api/labels-and-annotations.ts';
import type { KubeObject } from '../../../api/objects.ts';
import type { Condition } from '../../../api/pool/pool.ts';
import {
  Events,
  Nodes,
  VirtualMachineInstances,
  VirtualMachinePools,
  VirtualMachines,
} from '../../../api/resources.ts';
import { nowhere, type Outcome } from '../../clients/drover.ts';
import { droverHere as run } from '../../clients/in-process.ts';
import { protect } from '../../clients/scaling/protect.ts';
import { aFleet, haltedTemplate, namesUpTo, runningTemplate, until } from '../fleet.ts';

const fleet = aFleet();

const drover = (...args: string[]): Promise<Outcome> => run(args, { ...nowhere, ...fleet().stack.env });
const POOL = 'virtualmachinepool.drover.dev/web';

const error = (words: string) => ({ code: 1, stdout: '', stderr: `error: ${words}\n` });
const annotated = (text: string) => ({ metadata: { annotations: { [REMOVE_VMS_ANNOTATION]: text } } });
const blocked = async (namespace: string): Promise<Condition | undefined> =>
  (await fleet().pool(namespace, 'web'))?.status?.conditions?.find(({ type }) => type === 'ScaleInBlocked');

const scale = (namespace: string, ...flags: string[]): Promise<Outcome> =>
  drover('scale', 'pool', 'web', '-n', namespace, ...flags);

describe('VMs that are removed by name', () => {
  test('leave, and no others', async () => {
    const namespace = await fleet().namespace();
    await fleet().createPool(namespace, 'web', { replicas: 6, scaleInStrategy: { unmanaged: {} } });
    await fleet().settled(namespace, 'web', namesUpTo('web', 6));
    await protect(fleet().kube, namespace, 'web-6');
    await fleet().kube.create(VirtualMachines, { metadata: { namespace, name: 'db' }, spec: haltedTemplate.spec });
    expect(await scale(namespace, '--remove', 'web-2,db,web-6,web-9')).toMatchObject(
      error(
        'no VM is removed from pool web: vm db is not one of its VMs; ' +
          'vm web-6 is protected from scale-in, run `kubectl annotate vm web-6 drover.dev/protect-from-scale-in-` first; there is no vm web-9',
      ),
    );
    expect(await scale(namespace, '--remove', 'web-2', '--current-replicas', '5')).toMatchObject(
      error('pool web wants 6 VMs, not 5: left as it is'),
    );
    expect(await scale(namespace, '--remove', 'web-2,web-5', '--dry-run')).toMatchObject({
      stdout: `${POOL} scaled to 4, without web-2, web-5 (server dry run)\n`,
    });
    expect((await fleet().pool(namespace, 'web'))!.spec.replicas).toBe(6);
    expect(await scale(namespace, '--remove', 'web-2,web-5', '--current-replicas', '6')).toMatchObject({
      code: 0,
      stdout: `${POOL} scaled to 4, without web-2, web-5\n`,
    });
    await fleet().settled(namespace, 'web', ['web-1', 'web-3', 'web-4', 'web-6']);
    await until(async () =>
      expect((await fleet().pool(namespace, 'web'))!.metadata.annotations ?? {}).not.toHaveProperty([
        REMOVE_VMS_ANNOTATION,
      ]),
    );
    const events = (await fleet().kube.list<KubeObject & { note?: string }>(Events, { namespace })).items;
    expect(events.map(({ note }) => note)).toContain('Deleted web-2, web-5: its removal was requested by name');
    // A slip by hand takes no VM.
    const key = { namespace, name: 'web' };
    await fleet().kube.patch(VirtualMachinePools, key, 'merge', annotated('web-1'));
    await until(async () => expect(await blocked(namespace)).toMatchObject({ reason: 'InvalidRemoveAnnotation' }));
    expect(await scale(namespace, '--remove', 'web-1')).toMatchObject({ code: 1, stdout: '' });
    await fleet().settled(namespace, 'web', ['web-1', 'web-3', 'web-4', 'web-6']);
  });
});

describe('protected VMs', () => {
  test('stay until users allow their removal, and the pool says that it cannot shrink', async () => {
    const namespace = await fleet().namespace();
    await fleet().createPool(namespace, 'web', { replicas: 3 });
    await fleet().settled(namespace, 'web', namesUpTo('web', 3));
    for (const name of ['web-1', 'web-3']) await protect(fleet().kube, namespace, name);
    await fleet().patchPool(namespace, 'web', { replicas: 1 });
    await fleet().settled(namespace, 'web', ['web-1', 'web-3']);
    await until(async () =>
      expect(await blocked(namespace)).toMatchObject({
        status: 'True',
        reason: 'Protected',
        message: '1 VM stays that is more than the 1 wanted: web-1, web-3 are protected from scale-in',
      }),
    );
    expect((await drover('status', 'pool', 'web', '-n', namespace)).stdout).toContain(
      'ScaleInBlocked: Protected: 1 VM',
    );

    await protect(fleet().kube, namespace, 'web-3', false);
    await fleet().settled(namespace, 'web', ['web-1']);
    await until(async () => expect(await blocked(namespace)).toBeUndefined());
    // The pool's own end takes it along.
    await fleet().patchPool(namespace, 'web', { replicas: 0 });
    await until(async () => expect(await blocked(namespace)).toBeDefined());
    await fleet().kube.delete(VirtualMachinePools, { namespace, name: 'web' });
    await until(async () => expect(await fleet().pool(namespace, 'web')).toBeUndefined());
    expect(await fleet().vmNames(namespace, 'web')).toEqual([]);
  });
});

test('a surplus waits for its window, and a removal by name does not; the remaining VMs are spread over zones', async () => {
  const { kube } = fleet();
  const namespace = await fleet().namespace();
  const nodes = (await kube.list(Nodes)).items.map(({ metadata }) => metadata.name).toSorted();
  const zoneOf = (node: string): string => (node === nodes[0] ? 'east' : 'west');
  const label = (node: string, zone: string | null) =>
    kube.patch(Nodes, { name: node }, 'merge', { metadata: { labels: { 'topology.kubernetes.io/zone': zone } } });
  for (const node of nodes) await label(node, zoneOf(node));
  onTestFinished(async () => {
    for (const node of nodes) await label(node, null);
  });
  const selectionPolicy = { spread: 'zone' as const };
  const proactive = { selectionPolicy, windows: [{ cron: '0 0 1 1 *', duration: '1m' }] };
  const replicas = nodes.length + 4;
  await fleet().createPool(namespace, 'web', { replicas, template: runningTemplate, scaleInStrategy: { proactive } });
  await until(async () => expect((await fleet().pool(namespace, 'web'))!.status?.readyReplicas).toBe(replicas));

  await fleet().patchPool(namespace, 'web', { replicas: 3 });
  await until(async () => expect(await blocked(namespace)).toMatchObject({ reason: 'WaitingForWindow' }));
  expect((await blocked(namespace))?.message).toMatch(/opens at \d{4}-01-01T00:00:00.000Z/);
  expect((await scale(namespace, '--remove', 'web-2')).code).toBe(0);
  const rest = namesUpTo('web', replicas).filter((name) => name !== 'web-2');
  await until(async () => expect(await fleet().vmNames(namespace, 'web')).toEqual(rest));

  await fleet().patchPool(namespace, 'web', { scaleInStrategy: { proactive: { selectionPolicy, windows: [] } } });
  await until(async () => expect(await fleet().vmNames(namespace, 'web')).toHaveLength(2));
  const vmis = await kube.list<KubeObject & { status?: { nodeName?: string } }>(VirtualMachineInstances, { namespace });
  const left = vmis.items.filter(({ metadata }) => metadata.deletionTimestamp === undefined);
  expect(left.map(({ status }) => zoneOf(status!.nodeName!)).toSorted()).toEqual(['east', 'west']);
  await until(async () => expect(await blocked(namespace)).toBeUndefined());
});
