import { beforeAll, expect, test } from 'vitest';
import {
  VirtualMachineOperations,
  VirtualMachineOperationSchedules,
  VirtualMachines,
  type Resource,
} from '../../../api/resources.ts';
import type { ScheduleSpec } from '../../../api/schedules/schedule.ts';
import type { KubeClient } from '../../../kubernetes/client.ts';
import { operationIdOf, operationProgress, taskQueueOf } from '../../../workflows/lib/messages.ts';
import { needs } from '../../cluster/given/needs.ts';
import { aFleet, namesUpTo, until, type TestWorker } from '../fleet.ts';
import { aSecondLater, userWith } from '../operations/operations.ts';
import { HeldVmis } from '../power/held-vmis.ts';
import { each, TestVms } from '../power/vms.ts';
import { TestSchedule } from './schedules.ts';

const fleet = aFleet();
let worker: TestWorker;
beforeAll(async () => {
  worker = await fleet().worker();
});

const stops = (names: string[]): ScheduleSpec['operationTemplate'] => ({
  spec: { action: 'Stop', vms: { names }, reason: 'the office is closed' },
});

test('a time has one operation, though its worker is killed as it makes it and Temporal forgets, and the status says so', async () => {
  const names = namesUpTo('vm', 2);
  const vms = await TestVms.of(fleet(), each(names, {}));
  const spec = { operationTemplate: stops(names), requestedBy: await me() };
  const schedule = await TestSchedule.make(fleet(), vms.namespace, spec);
  await schedule.wasDue(2);
  await until(async () => expect(await schedule.operations()).toHaveLength(1));
  await worker.kill();
  worker = await fleet().startWorker();
  await schedule.until({
    lastScheduleTime: expect.any(String) as string,
    lastSuccessfulTime: expect.any(String) as string,
    conditions: [
      { type: 'Ready', reason: 'Scheduled' },
      { type: 'Succeeded', status: 'True', reason: 'Complete' },
    ],
  });
  expect(await vms.vmis()).toEqual({});
  await schedule.lose();
  for (const name of names) await vms.virtctl(name, 'start');
  await vms.ready(names);
  // Nothing of it is done again, by whatever begins anew from the object.
  await schedule.set({ successfulOperationsHistoryLimit: 5 });
  const { metadata } = await schedule.read();
  await schedule.until({ observedGeneration: metadata.generation });
  expect(await schedule.operations()).toMatchObject([
    {
      metadata: { labels: { 'drover.dev/schedule': 'night' } },
      spec: { reason: 'the office is closed', requestedBy: await me() },
    },
  ]);
  expect(Object.keys(await vms.vmis()).sort()).toEqual(names);
});

/** Who the tests are for the API server. */
async function me(): Promise<string> {
  const review: Resource = {
    group: 'authentication.k8s.io',
    version: 'v1',
    plural: 'selfsubjectreviews',
    kind: 'SelfSubjectReview',
    namespaced: false,
  };
  const answer = await fleet().kube.create(review, {
    apiVersion: 'authentication.k8s.io/v1',
    kind: review.kind,
    metadata: { name: '' },
  });
  return (answer as unknown as { status: { userInfo: { username: string } } }).status.userInfo.username;
}

test('a running operation is aborted by the next, and by the deletion of its schedule', async () => {
  needs('an embedded stack');
  const names = namesUpTo('vm', 3);
  const vms = await TestVms.of(fleet(), each(names, {}));
  const vmis = await HeldVmis.of(fleet(), vms.namespace);
  await aSecondLater();
  const oneByOne = { spec: { action: 'Restart', vms: { names }, atOnce: 1 } } as const;
  const schedule = await TestSchedule.make(fleet(), vms.namespace, {
    concurrencyPolicy: 'Replace',
    operationTemplate: oneByOne,
  });
  await schedule.wasDue(4);
  const first = await vmis.next();
  await schedule.wasDue(2);
  await until(async () =>
    expect((await schedule.operations())[0]!.status?.conditions).toContainEqual(
      expect.objectContaining({ type: 'Progressing', reason: 'Aborting' }),
    ),
  );
  await vmis.letGo(first);
  await until(async () => {
    const [earlier, later] = await schedule.operations();
    expect(earlier!.status?.conditions).toContainEqual(expect.objectContaining({ type: 'Failed', reason: 'Aborted' }));
    expect(later?.status?.vms).toMatchObject({ chosen: expect.any(Number) as number });
  });
  await vmis.next();
  const { metadata } = (await schedule.operations())[1]!;
  const run = fleet().temporal.client.workflow.getHandle(operationIdOf({ cluster: 'default', ...metadata }));
  await schedule.delete();
  await until(async () => expect(await schedule.operations()).toEqual([]));
  await until(async () => expect(await run.query(operationProgress)).toMatchObject({ aborted: expect.any(Object) }));
  await vmis.letGo();
  expect(await run.result()).toMatchObject({ phase: 'Aborted' });
  // Neither has begun with the third VM.
  expect(Object.values(await vms.restarts()).filter((count) => count === 0)).toEqual([0]);
});

test('a cron or a time zone that cannot be read is refused, or reported in one sentence', async () => {
  const namespace = await fleet().namespace();
  const operationTemplate = stops(['db']);
  const make = (spec: Partial<ScheduleSpec>) => TestSchedule.make(fleet(), namespace, { operationTemplate, ...spec });
  await expect(make({ schedule: '0 20 * *' })).rejects.toThrow(/must have five fields/);
  await expect(make({ timeZone: 'Europe/Zurick' })).rejects.toThrow(/unknown time zone Europe\/Zurick/);
  const schedule = await make({ schedule: '0 25 * * *', timeZone: 'Europe/Zurich' });
  await schedule.until({
    conditions: [
      { type: 'Ready', status: 'False', reason: 'InvalidSchedule' },
      { type: 'Stalled', message: expect.stringContaining('hour 25 is not understood') as string },
    ],
  });
});

test('a workflow that a user starts without an object ends with the reason', async () => {
  const key = { cluster: 'default', namespace: 'default', name: 'made-up', uid: 'made-up' };
  const started = fleet().temporal.client.workflow.execute('operationSchedule', {
    workflowId: 'schedule/default/default/made-up/made-up',
    taskQueue: taskQueueOf('default'),
    args: [key],
  });
  await expect(started).rejects.toMatchObject({
    cause: {
      type: 'Refused',
      message: expect.stringContaining('there is no VirtualMachineOperationSchedule') as string,
    },
  });
});

const may = (group: string, resource: string, ...verbs: string[]) => ({
  apiGroups: [group],
  resources: [resource],
  verbs,
});

const answer = (call: Promise<unknown>): Promise<string> =>
  call.then(
    () => 'done',
    (error: Error) => error.message,
  );

test('a user cannot have a schedule do what that user may not do', async () => {
  const namespace = await fleet().namespace();
  const objects = [
    may('drover.dev', 'virtualmachineoperations', 'create', 'get', 'patch', 'delete'),
    may('drover.dev', 'virtualmachineoperationschedules', 'create', 'get', 'patch', 'delete'),
  ];
  const power = (verb: string) => may('subresources.kubevirt.io', `virtualmachines/${verb}`, 'update');
  const [ada, eve, bot] = await Promise.all([
    userWith(fleet(), namespace, 'ada', [...objects, power('stop')]),
    userWith(fleet(), namespace, 'eve', objects),
    userWith(fleet(), namespace, 'bot', [
      ...objects,
      may('drover.dev', 'virtualmachineoperationschedules/status', 'patch'),
    ]),
  ]);
  const all = { operationTemplate: { spec: { action: 'Stop', vms: { selector: {} } } } } as const;
  const named = (name: string, spec: object) => ({ metadata: { namespace, name }, spec });
  const make = (kube: KubeClient, name: string, spec: object = {}) =>
    answer(kube.create(VirtualMachineOperationSchedules, named(name, { schedule: '0 0 1 1 *', ...all, ...spec })));
  const change = (kube: KubeClient, spec: object) =>
    answer(kube.patch(VirtualMachineOperationSchedules, { namespace, name: 'ours' }, 'merge', { spec }));

  expect(await make(eve.kube, 'theirs')).toContain(`${eve.username} may not stop all VMs of namespace ${namespace}`);
  expect(await make(ada.kube, 'other', { requestedBy: eve.username })).toContain(
    `spec.requestedBy must be ${ada.username}, who makes or changes the schedule`,
  );
  expect(await make(ada.kube, 'ours', { requestedBy: ada.username })).toBe('done');

  // Another client may suspend it, and keep less of it, but neither resume nor change it.
  expect(await change(eve.kube, { suspend: true, failedOperationsHistoryLimit: 0 })).toBe('done');
  const changes: object[] = [
    { suspend: false },
    { schedule: '* * * * *' },
    { timeZone: 'Europe/Zurich' },
    { startingDeadlineSeconds: 86_400 },
    { operationTemplate: { spec: { vms: { selector: null, names: ['db'] } } } },
    { requestedBy: eve.username },
  ];
  const answers = await Promise.all(changes.map((spec) => change(eve.kube, spec)));
  expect(answers).toEqual(changes.map(() => expect.stringContaining('may not stop') as string));
  expect(await change(ada.kube, { operationTemplate: { spec: { action: 'Start' } } })).toContain('may not start');
  expect(await change(ada.kube, { suspend: false, schedule: '0 0 1 2 *' })).toBe('done');
  // Whoever changes it takes its place as who asks.
  const admin = fleet().kube;
  expect(await change(admin, { schedule: '0 0 1 3 *' })).toContain('spec.requestedBy must be');
  expect(await change(admin, { schedule: '0 0 1 3 *', requestedBy: null })).toBe('done');

  // Its operations are a worker's to make, in the name of whoever asked for it.
  const { uid } = (await admin.get(VirtualMachineOperationSchedules, { namespace, name: 'ours' })).metadata;
  const owner = { apiVersion: 'drover.dev/v1alpha1', kind: 'VirtualMachineOperationSchedule', name: 'ours', uid };
  const forge = (kube: KubeClient, name: string, spec: object = {}, ownerReference: object = owner) =>
    answer(
      kube.create(VirtualMachineOperations, {
        metadata: { namespace, name, ownerReferences: [ownerReference] as never },
        spec: { ...all.operationTemplate.spec, paused: true, ...spec },
      }),
    );
  for (const reference of [owner, { ...owner, controller: true }, { ...owner, uid: 'gone' }]) {
    expect(await forge(ada.kube, 'ours-1', {}, reference)).toContain('only a worker of drover makes operations');
    expect(await forge(eve.kube, 'ours-1', {}, reference)).not.toBe('done');
  }
  expect(await forge(eve.kube, 'ours-1', { requestedBy: ada.username })).not.toBe('done');
  const own = { metadata: { namespace, name: 'own' }, spec: { ...all.operationTemplate.spec, paused: true } };
  expect(await answer(ada.kube.create(VirtualMachineOperations, own))).toBe('done');
  const adopt = { metadata: { ownerReferences: [{ ...owner, controller: true }] } };
  expect(await answer(ada.kube.patch(VirtualMachineOperations, own.metadata, 'merge', adopt))).toContain(
    'only a worker',
  );
  expect(await forge(bot.kube, 'ours-2', { requestedBy: ada.username })).toBe('done');
  // A worker is one for the operations of schedules alone.
  expect(
    await answer(bot.kube.create(VirtualMachineOperations, { ...own, metadata: { namespace, name: 'its' } })),
  ).toContain('may not stop');
  expect((await fleet().kube.list(VirtualMachines, { namespace })).items).toEqual([]);
});
