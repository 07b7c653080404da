import { join } from 'node:path';
import { beforeEach, expect, test } from 'vitest';
import { REQUESTED_BY_ANNOTATION, UID_ANNOTATION } from '../../../api/labels-and-annotations.ts';
import type { KubeObject } from '../../../api/objects.ts';
import type { OperationSpec } from '../../../api/operations/operation.ts';
import {
  Namespaces,
  VirtualMachineInstanceMigrations,
  VirtualMachineInstances,
  VirtualMachineOperations,
  VirtualMachines,
} from '../../../api/resources.ts';
import { steer } from '../../../clients/operations/find-operation.ts';
import { changesOf } from '../../../decisions/changes/change-record.ts';
import type { OperationRef } from '../../../decisions/operations/ref.ts';
import { specRequester } from '../../../decisions/operations/spec-requester.ts';
import { transitionOf } from '../../../decisions/operations/transition.ts';
import type { ChangeNeed } from '../../../decisions/views/annotations/recorded-change.ts';
import type { StoredOperation } from '../../../decisions/views/stored-operation.ts';
import type { KubeClient } from '../../../kubernetes/client.ts';
import type { Migration, VirtualMachine, VirtualMachineInstance } from '../../../simulator/objects/kubevirt.ts';
import { operationIdOf, taskQueueOf } from '../../../workflows/lib/messages.ts';
import { nowhere, outcomeOf, type Outcome } from '../../clients/drover.ts';
import { droverHere } from '../../clients/in-process.ts';
import { needs } from '../../cluster/given/needs.ts';
import { spawnReaped } from '../../reaped.ts';
import { aFleet, namesUpTo, runningTemplate, until, type TestWorker } from '../fleet.ts';
import { HeldVmis } from '../power/held-vmis.ts';
import { each, TestVms } from '../power/vms.ts';
import { ReadinessLog } from '../readiness-log.ts';
import { aSecondLater, lose, TestOperation, userWith } from './operations.ts';

const fleet = aFleet();
let worker: TestWorker;
// A test that fails after it has killed the worker must not stop those after it.
beforeEach(async () => {
  worker = await fleet().worker();
});

/** So that the VMs are older than an operation that is made now. */
async function aVmsOld(shapes: Parameters<typeof TestVms.of>[1]): Promise<TestVms> {
  const vms = await TestVms.of(fleet(), shapes);
  await aSecondLater();
  return vms;
}

const make = (vms: TestVms, spec: Partial<OperationSpec> = {}, metadata: object = {}): Promise<TestOperation> =>
  TestOperation.make(fleet().kube, vms.namespace, spec, metadata);

/** Resolves when the first of these VMIs has been restarted: the run tells of it only at intervals. */
const untilBegun = (vms: TestVms, before: Record<string, string>): Promise<void> =>
  until(async () => {
    const now = await vms.vmis();
    expect(Object.keys(before).filter((name) => (now[name] ?? before[name]) !== before[name])).not.toEqual([]);
  });

const terminate = async (workflowId: string): Promise<void> => {
  await fleet().temporal.client.workflow.getHandle(workflowId).terminate();
};

test('a restart survives its worker and its workflows, restarts each VM once and no younger one, and is reported in its object', async () => {
  const names = namesUpTo('vm', 5);
  const vms = await aVmsOld(each(names, { vmi: { 'sim.drover.dev/boot-time': '1s' } }));
  const operation = await make(vms, { paused: true, reason: 'a new kernel', maxFailures: 1 });
  await operation.stands('Paused');
  await aSecondLater();
  await vms.add('younger');
  await vms.ready(['younger']);
  const before = await vms.vmis();
  await operation.set({ paused: false });
  await untilBegun(vms, before);
  await worker.kill();
  await terminate(operation.workflowId);
  worker = await fleet().startWorker();
  await operation.until({
    completionTime: expect.any(String) as string,
    vms: { chosen: 5, done: 5, failed: 0, open: 0, inProgress: 0 },
    workflowId: operation.workflowId,
  });
  expect((await operation.read())!.status!.conditions).toContainEqual(
    expect.objectContaining({ type: 'Complete', status: 'True', message: '5 of 5 VMs restarted' }),
  );
  expect(await vms.restarts()).toMatchObject(each(names, 1));
  expect((await vms.vmis())['younger']).toBe(before['younger']);
  expect(vms.watch.log.mostUnavailable()).toBe(1);
});

test('an operation that Temporal has lost starts again from the object, and takes no VM twice', async () => {
  const names = namesUpTo('vm', 4);
  const vms = await aVmsOld(each(names, { vmi: { 'sim.drover.dev/boot-time': '1s' } }));
  const before = await vms.vmis();
  const operation = await make(vms);
  await untilBegun(vms, before);
  await lose(fleet(), operation);
  await operation.stands('Complete');
  await operation.until({ vms: { chosen: 4, done: 4 } });
  expect(await vms.restarts()).toEqual(each(names, 1));
});

test('a stop that Temporal has lost leaves what a user has started since, and stops the rest once', async () => {
  const names = namesUpTo('vm', 4);
  const vms = await aVmsOld(each(names, { vmi: { 'sim.drover.dev/stop-time': '1500ms' } }));
  const operation = await make(vms, { action: 'Stop', atOnce: 1, vms: { names } });
  const down = async (): Promise<string[]> => {
    const running = await vms.vmis();
    return names.filter((name) => !(name in running));
  };
  await until(async () => expect(await down()).not.toEqual([]));
  const [undone] = await down();
  await lose(fleet(), operation, () => vms.virtctl(undone!, 'start'));
  await operation.stands('Complete');
  // A VMI that has ended stays for a moment.
  await until(async () => expect(await down()).toEqual(names.filter((name) => name !== undone)));
  await operation.until({ vms: { chosen: 4 } });
});

test('an object controls its operation: paused, aborted and deleted, whatever signals say', async () => {
  const vms = await aVmsOld(each(namesUpTo('vm', 6), {}));
  const vmis = await HeldVmis.of(fleet(), vms.namespace);
  const operation = await make(vms);
  const first = await vmis.next();
  await operation.set({ paused: true });
  await operation.stands('Paused');
  await operation.until({ vms: { done: 0, inProgress: 1 } });
  await vmis.letGo(first);
  await operation.until({ vms: { done: 1, inProgress: 0 } });
  const workflow = fleet().temporal.client.workflow.getHandle(operation.workflowId);
  for (const signal of ['resume', 'changed', 'abort']) await workflow.signal(signal);
  await operation.set({ paused: false });
  await vmis.next();
  await operation.set({ paused: true });
  await operation.until({ vms: { done: 1, inProgress: 1 } });
  await vmis.letGo();
  await operation.stands('Paused');
  await operation.until({ vms: { done: 2, inProgress: 0 } });
  await operation.set({ aborted: true });
  await operation.stands('Aborted');
  await expect(operation.set({ aborted: false })).rejects.toThrow(/aborted must stay true/);
  await expect(operation.set({ atOnce: 5 })).rejects.toThrow(/may change only paused, aborted/);
  const touched = Object.values(await vms.restarts()).reduce((sum, count) => sum + count, 0);
  expect(touched).toBeLessThanOrEqual(2);

  // Another one of its name is another operation.
  await operation.delete();
  await aSecondLater();
  const later = await HeldVmis.of(fleet(), vms.namespace);
  const next = await make(vms, { ttlSecondsAfterFinished: 1 });
  await later.next();
  await next.delete();
  await later.letGo();
  const handle = fleet().temporal.client.workflow.getHandle(next.workflowId);
  expect(await handle.result()).toMatchObject({ phase: 'Aborted', aborted: { reason: 'the operation was deleted' } });
});

test('no VM is begun with outside of the windows, whichever the action; inside of one, all is as without', async () => {
  // KubeVirt must be able to migrate the VMs, or they are left out at once.
  needs('live migration');
  const vms = await aVmsOld({ ...each(namesUpTo('vm', 2), {}), off: { runStrategy: 'Halted' } });
  const before = await vms.vmis();
  const windows = [{ cron: '0 2 29 2 *', duration: '1m', timeZone: 'Europe/Zurich' }];
  const merge = 'metadata: { labels: { tier: gold } }';
  // Longer waits than the deadline give up what can't be touched, but for a window.
  const closed = { windows, deadline: '1s' };
  const waiting: TestOperation[] = [];
  for (const spec of [
    {},
    { action: 'Start' },
    { action: 'Stop' },
    { action: 'Migrate' },
    { action: 'Patch', patch: { merge } },
  ] as const)
    waiting.push(await make(vms, { ...closed, ...spec }, { name: `w-${waiting.length}` }));
  const why = expect.stringMatching(/^the next window opens at \d{4}-02-29T01:00:00.000Z$/) as string;
  for (const operation of waiting)
    await operation.until({ waits: expect.arrayContaining([{ message: why }]) as unknown });
  for (const operation of waiting) await operation.stands('Waiting');
  await expect(waiting[0]!.set({ windows: [] })).rejects.toThrow(/may change only paused, aborted/);
  const open = await make(vms, {
    vms: { names: ['vm-1'] },
    windows: [{ cron: '* * * * *', duration: '1h' }],
  });
  await open.stands('Complete');
  const { 'vm-1': restarted, ...others } = await vms.vmis();
  expect(restarted).not.toBe(before['vm-1']);
  expect({ ...others, 'vm-1': before['vm-1'] }).toEqual(before);
  expect((await vms.vm('vm-2')).metadata.labels ?? {}).not.toHaveProperty('tier');
  for (const operation of waiting) expect((await operation.read())!.status).not.toHaveProperty('completionTime');
  for (const operation of waiting) await operation.delete();
});

test('an operation is deleted its time after its end, and an operation that a backup brings back is not carried out again', async () => {
  const vms = await aVmsOld(each(namesUpTo('vm', 2), {}));
  const operation = await make(vms, { action: 'Stop', atOnce: '100%', vms: { names: namesUpTo('vm', 2) } });
  await operation.stands('Complete');
  const { metadata, spec } = (await operation.read())!;
  expect(metadata.annotations).toMatchObject({ [UID_ANNOTATION]: operation.key.uid });
  await operation.set({ ttlSecondsAfterFinished: 1 });
  await until(async () => expect(await operation.read()).toBeUndefined());
  for (const name of namesUpTo('vm', 2)) await vms.virtctl(name, 'start');
  await vms.ready(namesUpTo('vm', 2));
  const running = await vms.vmis();
  // As Velero does: without the status, and with another UID.
  const restored = await make(vms, spec, { annotations: metadata.annotations });
  await restored.stands('Restored');
  expect(await vms.vmis()).toEqual(running);
});

test('VMs in pods of an earlier KubeVirt are migrated once, though their worker dies; others stay', async () => {
  needs('live migration');
  needs('VMIs that stay in outdated pods');
  const slow = { 'sim.drover.dev/migration-time': '2s' };
  const vms = await aVmsOld({
    ...each(namesUpTo('vm', 3), { vmi: slow }),
    fixed: { vmi: { 'sim.drover.dev/not-migratable': 'true' } },
    newer: {},
  });
  const { namespace } = vms;
  const { kube } = fleet();
  await vms.outdate([...namesUpTo('vm', 3), 'fixed']);
  const before = await vms.vmis();
  const moved = async (): Promise<string[]> => {
    const { items } = await kube.list<Migration>(VirtualMachineInstanceMigrations, { namespace });
    return items.map(({ spec }) => spec.vmiName!).sort();
  };
  const operation = await make(vms, { action: 'Migrate', atOnce: 1, vms: { launcherOutdated: true } });
  await until(async () => expect(await moved()).not.toEqual([]));
  await worker.kill();
  worker = await fleet().startWorker();
  await operation.stands('Complete');
  const { status } = (await operation.read())!;
  expect(status).toMatchObject({
    vms: { chosen: 4, done: 3, failed: 0, open: 0, excluded: 1 },
    waits: [
      { message: expect.stringMatching(/^KubeVirt can't migrate it: /) as string, names: ['fixed'], excluded: true },
    ],
  });
  expect(await moved()).toEqual(namesUpTo('vm', 3));
  expect(await vms.vmis()).toEqual(before);

  // A migration that fails ends in KubeVirt's own words, and is not tried again.
  const fails = { annotations: { 'sim.drover.dev/migration-fails': 'true' } };
  await kube.patch(VirtualMachineInstances, { namespace, name: 'newer' }, 'merge', { metadata: fails });
  const second = await make(vms, { action: 'Migrate', vms: { names: ['newer'] } }, { name: 'second' });
  await second.stands('VmsFailed');
  expect((await second.read())!.status!.failures).toEqual([
    { vm: 'newer', message: expect.stringMatching(/^its migration has failed: ./) as string },
  ]);
  expect(await moved()).toEqual(['newer', ...namesUpTo('vm', 3)]);
});

test('VMs of a pool migrate within its budget; a pause and an abort leave the others in their pods', async () => {
  needs('live migration');
  const { spec, ...template } = runningTemplate;
  const { metadata, ...vmi } = spec['template'] as { metadata: { annotations: object } };
  const annotations = { ...metadata.annotations, 'sim.drover.dev/migration-time': '2s' };
  const slow = { ...template, spec: { ...spec, template: { ...vmi, metadata: { annotations } } } };
  const vms = await TestVms.ofPool(fleet(), { replicas: 3, maxUnavailable: 1, template: slow });
  await aSecondLater();
  const { namespace } = vms;
  const before = await vms.vmis();
  const migrations = async () =>
    (await fleet().kube.list<Migration>(VirtualMachineInstanceMigrations, { namespace })).items;
  const web = { owner: { kind: 'VirtualMachinePool', name: 'web' } } as const;
  const first = await make(vms, { action: 'Migrate', atOnce: '100%', vms: web });
  await until(async () => expect(await migrations()).not.toEqual([]));
  await first.set({ paused: true });
  await first.stands('Paused');
  await first.until({ vms: { inProgress: 0 } });
  const begun = (await migrations()).length;
  expect(begun).toBeLessThan(3);
  await first.set({ aborted: true });
  await first.stands('Aborted');

  const second = await make(vms, { action: 'Migrate', atOnce: '100%', vms: web }, { name: 'second' });
  await second.stands('Complete');
  expect((await second.read())!.status!.vms).toMatchObject({ chosen: 3, done: 3, failed: 0 });
  const all = (await migrations()).map(({ metadata: { creationTimestamp }, status }) => ({
    from: Date.parse(creationTimestamp),
    to: Date.parse(status!.phaseTransitionTimestamps!.at(-1)!.phaseTransitionTimestamp),
  }));
  expect(all).toHaveLength(begun + 3);
  all.sort((a, b) => a.from - b.from);
  for (const [index, { from }] of all.entries()) expect(from).toBeGreaterThanOrEqual(all[index - 1]?.to ?? 0);
  expect(await vms.vmis()).toEqual(before);
});

test('one operation over several namespaces has one limit, survives its worker, and includes only what was selected', async () => {
  const { kube } = fleet();
  const slow = { vmi: { 'sim.drover.dev/boot-time': '1s' } };
  const [shop, bank, later] = await Promise.all([
    TestVms.of(fleet(), each(['db-1', 'db-2'], slow)),
    TestVms.of(fleet(), each(['db-1', 'db-3'], slow)),
    TestVms.of(fleet(), { 'db-9': {} }),
  ]);
  const label = async (vms: TestVms, group: string | null): Promise<void> => {
    await kube.patch(Namespaces, { name: vms.namespace }, 'merge', { metadata: { labels: { group } } });
  };
  const group = shop.namespace;
  for (const vms of [shop, bank]) await label(vms, group);
  await aSecondLater();
  const [shops, banks, others] = await Promise.all([shop, bank, later].map((vms) => vms.vmis()));
  const spec = { namespaceSelector: { matchLabels: { group } }, maxFailures: 1, reason: 'a new kernel' };
  const operation = await TestOperation.make(kube, undefined, spec, { name: `over-${group}` });
  await until(async () => {
    const now = { ...(await shop.vmis()), ...(await bank.vmis()) };
    expect(now).not.toEqual({ ...shops, ...banks });
  });
  // Its VMs were chosen before.
  await label(later, group);
  await worker.kill();
  worker = await fleet().startWorker();
  await operation.until({ completionTime: expect.any(String) as string, vms: { chosen: 4, done: 4, failed: 0 } });
  expect(await shop.restarts()).toMatchObject(each(['db-1', 'db-2'], 1));
  expect(await bank.restarts()).toMatchObject(each(['db-1', 'db-3'], 1));
  expect(await later.vmis()).toEqual(others);
  expect(ReadinessLog.together([shop.watch.log, bank.watch.log]).mostUnavailable()).toBe(1);
});

/** The VM as the API server has it. */
const specOf = ({ namespace }: TestVms, name: string) =>
  fleet().kube.get<VirtualMachine & KubeObject>(VirtualMachines, { namespace, name });

test('VMs are changed once each, though their worker dies and Temporal forgets, and are restored except for what users have changed', async () => {
  const names = namesUpTo('vm', 6);
  const vms = await aVmsOld(each(names, { disk: 'root' }));
  const merge = [
    'metadata: { labels: { tier: gold } }',
    'spec: { template: { spec: { evictionStrategy: LiveMigrate, domain: {',
    '  cpu: { model: host-model }, devices: { disks: [{ name: root, cache: none }] } } } } }',
  ].join('\n');
  const first = (await specOf(vms, names[0]!)).spec;
  const before = await vms.vmis();
  const generations = async (): Promise<number[]> =>
    Promise.all(names.map(async (name) => (await specOf(vms, name)).metadata.generation!));
  const operation = await make(vms, {
    action: 'Patch',
    patch: { merge },
    vms: { names },
    reason: 'new hosts',
    paused: true,
  });
  await operation.stands('Paused');
  await expect(operation.set({ patch: { merge: '{}' } })).rejects.toThrow(/may change only paused, aborted/);
  await operation.set({ paused: false });
  const isChanged = async (name: string): Promise<boolean> =>
    changesOf((await specOf(vms, name)).metadata.annotations).length > 0;
  await until(async () => expect(await Promise.all(names.map(isChanged))).toContain(true));
  await worker.kill();
  // While nobody knows, a user takes a change back by hand: nobody makes it again.
  await lose(fleet(), operation, async () => {
    const [first] = (await Promise.all(names.map(async (name) => ((await isChanged(name)) ? [name] : [])))).flat();
    const spec = { template: { spec: { domain: { cpu: { model: 'host-passthrough' } } } } };
    await fleet().kube.patch(VirtualMachines, { namespace: vms.namespace, name: first! }, 'merge', { spec });
    worker = await fleet().startWorker();
  });
  await operation.stands('Complete');
  expect((await operation.read())!.status).toMatchObject({ vms: { chosen: 6, done: 6, failed: 0, excluded: 0 } });
  const models = async (): Promise<string> => {
    const all = names.map(
      async (name) => (await specOf(vms, name)).spec.template.spec.domain?.cpu?.['model'] ?? 'none',
    );
    return (await Promise.all(all)).map(String).toSorted().join(' ');
  };
  expect(await models()).toBe(`${'host-model '.repeat(5)}host-passthrough`);
  expect(await vms.vmis()).toEqual(before);

  const after = await generations();
  const undo = await make(vms, { action: 'Patch', patch: { undo: 'op' }, vms: { names } }, { name: 'undo' });
  await undo.stands('Complete');
  expect((await undo.read())!.status).toMatchObject({
    vms: { chosen: 6, done: 5, excluded: 1 },
    waits: [{ message: expect.stringContaining('it was changed since') as string, excluded: true, vms: 1 }],
  });
  expect(await models()).toBe(`host-passthrough${' none'.repeat(5)}`);
  for (const name of names) expect((await specOf(vms, name)).metadata.labels ?? {}).not.toHaveProperty('tier');
  const { domain, ...rest } = first.template.spec;
  expect((await specOf(vms, names[0]!)).spec.template.spec).toMatchObject({
    ...rest,
    domain: { devices: domain['devices'] },
  });
  expect(await generations()).toEqual(after.map((generation) => generation + 1));

  // What nobody can change, and nothing to undo.
  const wrong = await make(
    vms,
    { action: 'Patch', patch: { merge: 'spec: { runStrategy: Halted }' } },
    { name: 'wrong' },
  );
  await wrong.stands('InvalidPatch');
  const nothing = await make(vms, { action: 'Patch', patch: { undo: 'none' } }, { name: 'nothing' });
  await nothing.stands('NotFound');
  const windows = [{ cron: '0 61 * * *', duration: '1h' }];
  const never = await make(vms, { action: 'Patch', patch: { merge }, windows }, { name: 'never' });
  await never.stands('Refused');
  const shape = (spec: Partial<OperationSpec>): Promise<unknown> => make(vms, spec, { name: 'shape' });
  await expect(shape({ action: 'Patch' })).rejects.toThrow(/must have patch with the action Patch/);
  await expect(shape({ action: 'Restart', patch: { merge } })).rejects.toThrow(/must have patch with the action Patch/);
  await expect(shape({ action: 'Patch', patch: { merge, undo: 'op' } })).rejects.toThrow(
    /must hold exactly one of merge and undo/,
  );
});

test('a value that KubeVirt fills in once it is taken away is changed, noted as it is now, and restored by an undo', async () => {
  const vms = await aVmsOld(each(['old', 'older'], {}));
  const typeOf = async (name: string): Promise<unknown> =>
    (await specOf(vms, name)).spec.template.spec.domain?.['machine'];
  const set = (name: string, type: string): Promise<unknown> =>
    fleet().kube.patch(VirtualMachines, { namespace: vms.namespace, name }, 'merge', {
      spec: { template: { spec: { domain: { machine: { type } } } } },
    });
  await Promise.all([set('old', 'pc-q35-rhel9.2.0'), set('older', 'pc-q35-rhel8.6.0')]);
  const merge = 'spec: { template: { spec: { domain: { machine: { type: null } } } } }';
  const names = ['old', 'older'];
  const operation = await make(vms, { action: 'Patch', patch: { merge }, vms: { names } }, { name: 'cleared' });
  await operation.stands('Complete');
  const cleared = await typeOf('old');
  expect(cleared).not.toEqual({ type: 'pc-q35-rhel9.2.0' });
  expect(await typeOf('older')).toEqual(cleared);
  const undo = await make(vms, { action: 'Patch', patch: { undo: 'cleared' }, vms: { names } }, { name: 'restored' });
  await undo.stands('Complete');
  expect(await typeOf('old')).toEqual({ type: 'pc-q35-rhel9.2.0' });
  expect(await typeOf('older')).toEqual({ type: 'pc-q35-rhel8.6.0' });
});

/** What a change of a VM that runs needs: what it sets beneath `spec.template`, and what KubeVirt makes of that. */
const CHANGES: Record<string, [template: object, need: ChangeNeed]> = {
  model: [{ spec: { domain: { cpu: { model: 'host-model' } } } }, 'Restart'],
  eviction: [{ spec: { evictionStrategy: 'LiveMigrate' } }, 'Restart'],
  cache: [{ spec: { domain: { devices: { disks: [{ name: 'root', cache: 'none' }] } } } }, 'Restart'],
  grace: [{ spec: { terminationGracePeriodSeconds: 20 } }, 'Restart'],
  label: [{ metadata: { labels: { tier: 'gold' } } }, 'Start'],
  tolerated: [{ spec: { tolerations: [{ key: 'gpu', operator: 'Exists' }] } }, 'Live'],
};

test('a change needs what KubeVirt makes of it, and so does its undo, which restarts no VMI that has never had it', async () => {
  const names = Object.keys(CHANGES);
  const vms = await aVmsOld(each(names, { disk: 'root' }));
  const before = await vms.vmis();
  const waiting = async (): Promise<string[]> => {
    const found = await Promise.all(names.map((name) => vms.vm(name)));
    for (const { metadata, status } of found) expect(status).toMatchObject({ desiredGeneration: metadata.generation });
    const waits = found.filter(({ status }) =>
      status?.conditions?.some(({ type, status: is }) => type === 'RestartRequired' && is === 'True'),
    );
    return waits.map(({ metadata }) => metadata.name);
  };
  const needsOf = async (): Promise<Record<string, string | undefined>> =>
    Object.fromEntries(
      await Promise.all(
        names.map(async (name) => [name, changesOf((await specOf(vms, name)).metadata.annotations)[0]?.need]),
      ),
    ) as Record<string, string | undefined>;
  const all = async (of: (name: string) => NonNullable<OperationSpec['patch']>, prefix: string): Promise<void> => {
    const made = names.map((name) =>
      make(vms, { action: 'Patch', patch: of(name), vms: { names: [name] } }, { name: `${prefix}-${name}` }),
    );
    for (const operation of await Promise.all(made)) await operation.stands('Complete');
  };
  await all((name) => ({ merge: JSON.stringify({ spec: { template: CHANGES[name]![0] } }) }), 'set');
  expect(await needsOf()).toEqual(Object.fromEntries(names.map((name) => [name, CHANGES[name]![1]])));
  const restarts = names.filter((name) => CHANGES[name]![1] === 'Restart');
  await until(async () => expect(await waiting()).toEqual(restarts));
  const tolerations = async (): Promise<unknown> =>
    (
      await fleet().kube.get<VirtualMachineInstance & KubeObject>(VirtualMachineInstances, {
        namespace: vms.namespace,
        name: 'tolerated',
      })
    ).spec['tolerations'];
  await until(async () => expect(await tolerations()).toEqual([{ key: 'gpu', operator: 'Exists' }]));

  await all((name) => ({ undo: `set-${name}`, restart: true }), 'undo');
  expect(await needsOf()).toEqual({ ...each(restarts, 'Nothing'), label: 'Start', tolerated: 'Live' });
  await until(async () => expect(await waiting()).toEqual([]));
  await until(async () => expect((await tolerations()) ?? []).toEqual([]));
  expect(await vms.vmis()).toEqual(before);
});

test('VMs are restarted for their change, each as it is changed, though their worker dies', async () => {
  const names = namesUpTo('vm', 3);
  const vms = await aVmsOld(each(names, { vmi: { 'sim.drover.dev/boot-time': '1s' } }));
  const merge = JSON.stringify({ spec: { template: { spec: { domain: { cpu: { model: 'host-model' } } } } } });
  const before = await vms.vmis();
  const operation = await make(vms, { action: 'Patch', patch: { merge, restart: true }, atOnce: 1, maxFailures: 1 });
  await untilBegun(vms, before);
  await worker.kill();
  worker = await fleet().startWorker();
  await operation.stands('Complete');
  expect((await operation.read())!.status!.vms).toMatchObject({ chosen: 3, done: 3 });
  expect(await vms.restarts()).toMatchObject(each(names, 1));
  expect(vms.watch.log.mostUnavailable()).toBe(1);
});

test('a workflow that a user starts without an object ends with the reason, and touches nothing', async () => {
  const vms = await aVmsOld({ db: {} });
  const before = await vms.vmis();
  const key = { cluster: 'default', namespace: vms.namespace, name: 'made-up', uid: 'made-up' };
  const started = fleet().temporal.client.workflow.execute('operation', {
    workflowId: `operation/default/${vms.namespace}/made-up/made-up`,
    taskQueue: taskQueueOf('default'),
    args: [key],
  });
  await expect(started).rejects.toMatchObject({
    cause: { type: 'Refused', message: expect.stringContaining('there is no VirtualMachineOperation') as string },
  });
  expect(await vms.vmis()).toEqual(before);
});

test('a script of a user restarts a pool by a workflow, and pauses and resumes its rollout by signals', async () => {
  const namespace = await fleet().namespace();
  await fleet().createPool(namespace, 'web', { replicas: 2, template: runningTemplate });
  await fleet().settled(namespace, 'web', namesUpTo('web', 2));
  const script = join(import.meta.dirname, '../../../examples/scripts/steer.ts');
  const run = (...args: string[]): Promise<Outcome> =>
    outcomeOf(
      spawnReaped(process.execPath, [script, ...args], {
        env: { ...process.env, ...fleet().stack.env, NAMESPACE: namespace },
        stdio: ['ignore', 'pipe', 'pipe'],
      }),
    );
  const uids = async (): Promise<string[]> =>
    (await fleet().kube.list(VirtualMachineInstances, { namespace })).items.map(({ metadata }) => metadata.uid);
  const before = await uids();
  const restarted = await run('restart', 'web');
  expect(restarted).toMatchObject({
    code: 0,
    stderr: '',
    stdout: expect.stringContaining('restart web: done') as string,
  });
  expect((await uids()).some((uid) => before.includes(uid))).toBe(false);
  const paused = async (): Promise<unknown> =>
    (await fleet().pool(namespace, 'web'))?.status?.conditions?.find(({ type }) => type === 'Paused');
  expect(await run('pause', 'web', 'lunch')).toMatchObject({ code: 0, stderr: '' });
  await until(async () =>
    expect(await paused()).toMatchObject({ status: 'True', message: expect.stringContaining('lunch') as string }),
  );
  expect(await run('resume', 'web')).toMatchObject({ code: 0, stderr: '' });
  await until(async () => expect(await paused()).toMatchObject({ status: 'False' }));
  expect(await run('machine-type', 'none-*')).toMatchObject({ code: 0, stderr: '' });
});

test('a script of a user starts the workflow of an operation, and tells what has come of it', async () => {
  const vms = await aVmsOld({ db: {} });
  const before = await vms.vmis();
  const operation = await make(vms, { vms: { names: ['db'] } });
  const script = join(import.meta.dirname, '../../../examples/scripts/run-operation.ts');
  const run = (name: string): Promise<Outcome> =>
    outcomeOf(
      spawnReaped(process.execPath, [script, name, '--namespace', vms.namespace], {
        env: { ...process.env, ...fleet().stack.env },
        stdio: ['ignore', 'pipe', 'pipe'],
      }),
    );
  const { code, stdout, stderr } = await run(operation.key.name);
  expect({ code, stderr }).toEqual({ code: 0, stderr: '' });
  expect(stdout).toMatch(
    new RegExp(`^workflow operation/default/${vms.namespace}/${operation.key.name}/.* runs\nComplete: .*\n$`),
  );
  expect(await vms.vmis()).not.toEqual(before);
  const logs = (...more: string[]): Promise<Outcome> =>
    droverHere(['operations', 'logs', operation.key.name, '-n', vms.namespace, ...more], {
      ...nowhere,
      ...fleet().stack.env,
    });
  expect((await logs()).stdout).toMatch(new RegExp(`restart +${vms.namespace}/db +.*Restarted`));
  const alone = await logs('--address', '127.0.0.1:1');
  expect(alone).toMatchObject({
    code: 0,
    stderr: expect.stringContaining('this is what the VMs and Events on them show') as string,
  });
  expect(alone.stdout).toMatch(new RegExp(`restart +${vms.namespace}/db +.*Done`));
  expect(await run('made-up')).toEqual({
    code: 1,
    signal: null,
    stdout: '',
    stderr: `error: there is no VirtualMachineOperation made-up in namespace ${vms.namespace}\n`,
  });
});

/** Starts a workflow by hand, with a run that is made up. */
const startedByHand = (operation: OperationRef, input: object, workflowId?: string) => {
  const key = { cluster: 'default', ...operation };
  return fleet().temporal.client.workflow.execute('operation', {
    workflowId: workflowId ?? operationIdOf(key),
    workflowIdConflictPolicy: 'TERMINATE_EXISTING',
    taskQueue: taskQueueOf('default'),
    args: [key, { input: { ...input, operation }, state: null }],
  });
};
const notItsOwn = {
  cause: { cause: { type: 'Refused', message: expect.stringContaining('this is not the workflow of') as string } },
};

test('a workflow that a user starts by hand does what its operation says, or nothing', async () => {
  const vms = await aVmsOld({ db: {}, web: {} });
  const before = await vms.vmis();
  const aside = await make(vms, { action: 'Stop', vms: { names: ['db'] }, aborted: true });
  await aside.stands('Aborted');
  const { cluster: _, ...ended } = aside.key;
  const input = {
    action: 'Restart',
    chosen: { [vms.namespace]: before },
    atOnce: 2,
    maxFailures: 0,
    deadlineMs: 60_000,
    requestedBy: 'eve',
    reason: null,
  };
  for (const operation of [
    { namespace: vms.namespace, name: 'made-up', uid: 'made-up' },
    { ...ended, uid: 'another' },
    ended,
    { name: ended.name, uid: ended.uid },
  ])
    expect(await startedByHand(operation, input)).toBeNull();
  await expect(startedByHand(ended, input, 'power/default/made-up')).rejects.toMatchObject(notItsOwn);
  expect(await vms.vmis()).toEqual(before);
});

test('a user cannot have a machine type changed by starting a workflow, without an operation or by another than its own', async () => {
  const vms = await aVmsOld({ db: { runStrategy: 'Halted' } });
  const types = {
    action: 'MachineType',
    vms: { selector: {} },
    machineType: { from: '*', to: 'pc-q35-rhel9.4.0', force: true },
  } as const;
  const operation = await make(vms, { ...types, paused: true });
  await operation.stands('Paused');
  const { cluster: _, ...own } = operation.key;
  const transition = transitionOf((await operation.read())!);
  const input = { action: 'MachineType', transition, requestedBy: 'eve', reason: null, asOf: {} };
  for (const of of [
    { ...own, name: 'made-up' },
    { ...own, uid: 'another' },
  ])
    expect(await startedByHand(of, input)).toMatchObject({ phase: 'Refused' });
  await expect(startedByHand(own, input, 'machine-types/default/made-up')).rejects.toMatchObject(notItsOwn);
  const { spec } = await vms.vm('db');
  expect(JSON.stringify(spec)).not.toContain('pc-q35-rhel9.4.0');
});

const OPERATIONS = {
  apiGroups: ['drover.dev'],
  resources: ['virtualmachineoperations', 'clustervirtualmachineoperations'],
  verbs: ['create', 'get', 'patch', 'delete'],
};
const power = (verb: string, resourceNames?: string[]) => ({
  apiGroups: ['subresources.kubevirt.io'],
  resources: [`virtualmachines/${verb}`],
  verbs: ['update'],
  ...(resourceNames === undefined ? {} : { resourceNames }),
});

const patchVms = (resourceNames?: string[]) => ({
  ...power('', resourceNames),
  apiGroups: ['kubevirt.io'],
  resources: ['virtualmachines'],
  verbs: ['patch'],
});

test('a user cannot have drover do what that user may not do', async () => {
  const namespace = await fleet().namespace();
  const user = (name: string, ...rights: ReturnType<typeof power>[]) =>
    userWith(fleet(), namespace, name, [OPERATIONS, ...rights]);
  const [ada, bob, carl, eve] = await Promise.all([
    user('ada', power('restart'), power('stop'), power('migrate'), patchVms()),
    user('bob', power('restart', ['db-1', 'db-2']), patchVms(['db-1', 'db-2'])),
    user('carl', power('restart', namesUpTo('db', 20))),
    user('eve'),
  ]);
  let count = 0;
  const asks = (kube: KubeClient, spec: Partial<OperationSpec>): Promise<string> =>
    TestOperation.make(kube, namespace, { paused: true, ...spec }, { name: `op-${++count}` }).then(
      () => 'made',
      (error: Error) => error.message,
    );
  const all = { selector: {} };
  const many = { names: namesUpTo('db', 21) };
  const twenty = { names: namesUpTo('db', 20) };
  const some = { names: ['db-1', 'db-2'] };
  const answers = async (kube: KubeClient): Promise<Record<string, boolean>> => ({
    restartAll: (await asks(kube, { vms: all })) === 'made',
    restartMany: (await asks(kube, { vms: many })) === 'made',
    restartTwenty: (await asks(kube, { vms: twenty })) === 'made',
    restartSome: (await asks(kube, { vms: some })) === 'made',
    restartOthers: (await asks(kube, { vms: { names: ['db-2', 'db-3'] } })) === 'made',
    stopSome: (await asks(kube, { vms: some, action: 'Stop' })) === 'made',
    startSome: (await asks(kube, { vms: some, action: 'Start' })) === 'made',
    migrateSome: (await asks(kube, { vms: some, action: 'Migrate' })) === 'made',
    patchAll: (await asks(kube, { vms: all, action: 'Patch', patch: { merge: '{}' } })) === 'made',
    patchSome: (await asks(kube, { vms: some, action: 'Patch', patch: { merge: '{}' } })) === 'made',
    undoSome: (await asks(kube, { vms: some, action: 'Patch', patch: { undo: 'op' } })) === 'made',
    patchAndRestart:
      (await asks(kube, { vms: some, action: 'Patch', patch: { merge: '{}', restart: true } })) === 'made',
  });
  const [none, everything] = [false, true].map((value) =>
    each(
      [
        'restartAll',
        'restartMany',
        'restartTwenty',
        'restartSome',
        'restartOthers',
        'stopSome',
        'startSome',
        'migrateSome',
        'patchAll',
        'patchSome',
        'undoSome',
        'patchAndRestart',
      ],
      value,
    ),
  );
  expect(await answers(ada.kube)).toEqual({ ...everything, startSome: false });
  expect(await answers(bob.kube)).toEqual({
    ...none,
    restartSome: true,
    patchSome: true,
    undoSome: true,
    patchAndRestart: true,
  });
  expect(await answers(carl.kube)).toEqual({
    ...none,
    restartTwenty: true,
    restartSome: true,
    restartOthers: true,
  });
  expect(await answers(eve.kube)).toEqual(none);
  expect(await asks(eve.kube, { vms: all })).toContain(
    `${eve.username} may not restart all VMs of namespace ${namespace}: that takes the right to update virtualmachines/restart`,
  );

  // A cluster-wide operation takes the right in all namespaces, whichever it selects.
  const wide = async (
    name: string,
    clusterRules: ReturnType<typeof power>[],
    rules: ReturnType<typeof power>[] = [],
  ): Promise<Record<string, string>> => {
    const { kube } = await userWith(fleet(), namespace, name, rules, [OPERATIONS, ...clusterRules]);
    const makes = (spec: Partial<OperationSpec>): Promise<string> =>
      TestOperation.make(kube, undefined, { paused: true, ...spec }, { name: `${namespace}-${++count}` }).then(
        () => 'made',
        (error: Error) =>
          /may not .* in all namespaces|may not .* of all namespaces/.exec(error.message)?.[0] ?? error.message,
      );
    return {
      all: await makes({ vms: all }),
      some: await makes({ vms: some, namespaces: [namespace] }),
      stop: await makes({ vms: all, action: 'Stop' }),
    };
  };
  expect(await wide('fay', [power('restart')])).toEqual({
    all: 'made',
    some: 'made',
    stop: 'may not stop all VMs of all namespaces',
  });
  expect(await wide('gus', [power('restart', ['db-1', 'db-2'])])).toMatchObject({
    all: 'may not restart all VMs of all namespaces',
    some: 'made',
  });
  // Rights in the namespace, whichever, are none in the cluster.
  expect(await wide('hal', [], [power('restart')])).toMatchObject({
    some: 'may not restart each of these VMs in all namespaces',
  });
  const ofNamespace = TestOperation.make(ada.kube, undefined, { paused: true }, { name: `${namespace}-ada` });
  await expect(ofNamespace).rejects.toMatchObject({ status: 403 });
  expect(await asks(carl.kube, { vms: some, action: 'Patch', patch: { merge: '{}' } })).toContain(
    `${carl.username} may not patch each of these VMs in namespace ${namespace}: that takes the right to patch virtualmachines of kubevirt.io`,
  );

  // Another's name, and one that only begins with the user's.
  for (const requestedBy of [bob.username, `${ada.username} admin`])
    expect(await asks(ada.kube, { requestedBy })).toContain(`spec.requestedBy must be ${ada.username}`);
  expect(await asks(ada.kube, { requestedBy: ada.username })).toBe('made');

  // Whoever may change operations may stop one, and not let it continue.
  const change = (kube: KubeClient, spec: Partial<OperationSpec>): Promise<unknown> =>
    kube.patch(VirtualMachineOperations, { namespace, name: 'theirs' }, 'merge', { spec });
  await TestOperation.make(ada.kube, namespace, { paused: true }, { name: 'theirs' });
  await expect(change(eve.kube, { paused: false })).rejects.toThrow(/may not restart/);
  await change(ada.kube, { paused: false });
  const theirs = () => fleet().kube.get<StoredOperation>(VirtualMachineOperations, { namespace, name: 'theirs' });
  await steer(eve.kube, await theirs(), { paused: true }, 'lunch');
  expect(specRequester((await theirs()).metadata)).toBe(eve.username);
  // Another's name, one that only begins with the user's, and one without a generation.
  for (const name of [`${bob.username} 3`, `${eve.username} admin 3`, bob.username]) {
    const metadata = { annotations: { [REQUESTED_BY_ANNOTATION]: name } };
    const refusal = `must be ${eve.username}, who changes the operation`;
    await expect(
      eve.kube.patch(VirtualMachineOperations, { namespace, name: 'theirs' }, 'merge', { metadata }),
    ).rejects.toThrow(refusal);
    await expect(
      TestOperation.make(ada.kube, namespace, { paused: true }, { name: 'made', ...metadata }),
    ).rejects.toThrow('who changes the operation');
  }
  await change(eve.kube, { aborted: true });
  const status = { status: { completionTime: null } };
  const forged = eve.kube.patch(VirtualMachineOperations, { namespace, name: 'theirs' }, 'merge', status, {
    subresource: 'status',
  });
  await expect(forged).rejects.toMatchObject({ status: 403 });
});

const PATCH_VMS = { apiGroups: ['kubevirt.io'], resources: ['virtualmachines'], verbs: ['patch'] };

test('a user cannot have drover change a machine type, or restart VMs, without the rights to do so', async () => {
  const namespace = await fleet().namespace();
  const user = (name: string, ...rights: object[]) =>
    userWith(fleet(), namespace, name, [OPERATIONS, ...(rights as (typeof PATCH_VMS)[])]);
  const [ada, bob, carl, eve] = await Promise.all([
    user('patcher', PATCH_VMS),
    user('named', patchVms(namesUpTo('db', 20)), power('restart', ['db-1', ...namesUpTo('db', 20).slice(2)])),
    user('restarter', PATCH_VMS, power('restart')),
    user('stranger', power('restart')),
  ]);
  let count = 0;
  const may = async (kube: KubeClient, vms: OperationSpec['vms'], how: object = {}): Promise<boolean> => {
    const machineType = { from: '*rhel8.*', ...how };
    const spec = { action: 'MachineType', vms, machineType, paused: true } as const;
    const made = await TestOperation.make(kube, namespace, spec, { name: `types-${++count}` }).catch(
      (error: Error) => error,
    );
    if (made instanceof Error) expect(made.message).toContain('denied request');
    return !(made instanceof Error);
  };
  const answers = async ({ kube }: { kube: KubeClient }): Promise<boolean[]> => [
    await may(kube, { selector: {} }),
    await may(kube, { names: ['db-1', 'db-2'] }),
    await may(kube, { names: ['db-1'] }, { restart: true }),
    await may(kube, { names: ['db-1', 'db-2'] }, { restart: true }),
    await may(kube, { selector: {} }, { restart: true }),
    // Two rights to each of 12 names are the most that are asked for.
    await may(kube, { names: namesUpTo('db', 14).slice(2) }, { restart: true }),
    await may(kube, { names: namesUpTo('db', 15).slice(2) }, { restart: true }),
  ];
  expect(await answers(ada)).toEqual([true, true, false, false, false, false, false]);
  expect(await answers(bob)).toEqual([false, true, true, false, false, true, false]);
  expect(await answers(carl)).toEqual([true, true, true, true, true, true, true]);
  expect(await answers(eve)).toEqual([false, false, false, false, false, false, false]);
});
