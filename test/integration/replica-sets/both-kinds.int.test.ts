import { describe, expect, test } from 'vitest';
import type { Stored } from '../../../api/objects.ts';
import { OWNER_KINDS, type SetKind } from '../../../api/owner-kinds.ts';
import { Namespaces, Pods, ServiceAccounts, VirtualMachineInstances, VirtualMachines } from '../../../api/resources.ts';
import { ignoreNotFound } from '../../../kubernetes/errors.ts';
import { ownerIdOf } from '../../../workflows/lib/ids.ts';
import { DroverCluster } from '../../../workflows/lib/search-attributes.ts';
import { sample } from '../../soak.ts';
import { aFleet, until } from '../fleet.ts';
import { KINDS, TestSets, uidsOf, VMS } from './sets.ts';

const fleet = aFleet();

describe.each(sample(KINDS))('%s', (_, kind) => {
  const sets = new TestSets(fleet, kind);
  const membersIn = async (namespace: string) => (await fleet().kube.list(kind.members, { namespace })).items;
  const failsToCreate = (namespace: string, words: string) =>
    until(async () =>
      expect(await sets.condition(namespace, 'web', 'ReplicaFailure')).toMatchObject({
        status: 'True',
        reason: 'FailedCreate',
        message: expect.stringContaining(words) as string,
      }),
    );

  test('a set gets its members, with its labels and as their controller, and they run', async () => {
    const namespace = await fleet().namespace();
    const { metadata } = await sets.create(namespace, 'web', { replicas: 3 });
    await until(async () =>
      expect((await sets.get(namespace, 'web'))?.status).toMatchObject({
        replicas: 3,
        readyReplicas: 3,
        availableReplicas: 3,
        labelSelector: 'app=web',
      }),
    );
    for (const member of await sets.members(namespace, 'web')) {
      expect(member.metadata.name).toMatch(/^web-[a-z0-9]{5}$/);
      expect(member.metadata.labels).toMatchObject({ app: 'web' });
      expect(member.metadata.ownerReferences).toEqual([
        {
          apiVersion: 'drover.dev/v1alpha1',
          kind: kind.sets.kind,
          name: 'web',
          uid: metadata.uid,
          controller: true,
          blockOwnerDeletion: true,
        },
      ]);
    }
    // Either way an autoscaler finds the pods by the labels of VMIs.
    const vmis = (await fleet().kube.list(VirtualMachineInstances, { namespace })).items;
    expect(vmis.map((vmi) => vmi.metadata.labels?.['app'])).toEqual(['web', 'web', 'web']);
    expect((await fleet().vms(namespace)).length).toBe(kind.members === VirtualMachines ? 3 : 0);
    expect(await sets.condition(namespace, 'web', 'Available')).toMatchObject({ status: 'True' });
    expect(await sets.condition(namespace, 'web', 'Progressing')).toMatchObject({
      status: 'False',
      reason: 'Complete',
    });
    expect(await sets.events(namespace)).toContain('SuccessfulCreate');
  });

  test('a member whose label no longer matches is released and replaced, and runs on; a matching one is adopted', async () => {
    const namespace = await fleet().namespace();
    await sets.create(namespace, 'web', { replicas: 2 });
    const [member] = await sets.settled(namespace, 'web', 2);
    const { uid } = member!.metadata;
    const vmi = (): Promise<Stored> => fleet().kube.get(VirtualMachineInstances, member!.metadata);
    await until(async () => expect(await vmi()).toMatchObject({ status: { phase: 'Running' } }));
    const running = (await vmi()).metadata.uid;
    const relabel = (app: string) =>
      fleet().kube.patch(kind.members, member!.metadata, 'merge', { metadata: { labels: { app } } });
    await relabel('debug');
    await until(async () => expect(uidsOf(await sets.settled(namespace, 'web', 2))).not.toContain(uid));
    const released = await fleet().kube.get(kind.members, member!.metadata);
    expect(released.metadata).toMatchObject({ uid, labels: { app: 'debug' } });
    expect(released.metadata.ownerReferences ?? []).toEqual([]);
    expect(await vmi()).toMatchObject({ metadata: { uid: running }, status: { phase: 'Running' } });
    await sets.patch(namespace, 'web', { replicas: 3, paused: true });
    await relabel('web');
    await until(async () => expect(uidsOf(await sets.members(namespace, 'web'))).toContain(uid));
    expect(await sets.members(namespace, 'web')).toHaveLength(3);
    await until(async () => expect(await sets.condition(namespace, 'web', 'Paused')).toMatchObject({ status: 'True' }));
    await sets.patch(namespace, 'web', { paused: false });
    await sets.settled(namespace, 'web', 3);
    await until(async () =>
      expect(await sets.condition(namespace, 'web', 'Paused')).toMatchObject({ status: 'False' }),
    );
    await until(async () => {
      const reasons = await sets.events(namespace);
      expect(reasons).toEqual(expect.arrayContaining(['SuccessfulRelease', 'SuccessfulAdopt']));
      for (const once of ['SuccessfulPaused', 'SuccessfulResumed'])
        expect(reasons.filter((reason) => reason === once)).toEqual([once]);
    });
  });

  test("Temporal's Web UI finds a set, and shows its state and what is done", async () => {
    const namespace = await fleet().namespace();
    const { kind: setKind } = kind.sets;
    await sets.create(namespace, 'web', { replicas: 2 });
    await sets.settled(namespace, 'web', 2);
    const { workflow } = fleet().temporal.client;
    const query = `DroverReplicaSet = 'web' AND DroverNamespace = '${namespace}' AND DroverPhase = 'Steady'`;
    const found: string[] = [];
    await until(async () => {
      found.length = 0;
      for await (const { workflowId } of workflow.list({ query })) found.push(workflowId);
      expect(found).toEqual([ownerIdOf(setKind as SetKind, { cluster: 'default', namespace, name: 'web' })]);
    });
    const handle = workflow.getHandle(found[0]!);
    const described = await handle.describe();
    expect(described.typedSearchAttributes.get(DroverCluster)).toBe('default');
    expect(await described.staticSummary()).toMatch(new RegExp(`eplica set ${namespace}/web$`));
    expect(await described.staticDetails()).toContain(`replica set **web** in namespace **${namespace}**`);
    const noun = kind === VMS ? 'VMs' : 'VMIs';
    // A run that has just continued as new says nothing before its first plan.
    await until(async () => {
      const { currentDetails } = await handle.query<{ currentDetails: string }>('__temporal_workflow_metadata');
      expect(currentDetails).toBe(`**Steady**: 2 wanted, 2 present, 2 ready\n\n${noun}: 2 Running`);
    });
    const { events } = await handle.fetchHistory();
    const summaries = (events ?? []).map(({ userMetadata }) =>
      Buffer.from(userMetadata?.summary?.data ?? []).toString(),
    );
    const look = `look at the ${OWNER_KINDS[setKind as SetKind].noun} and its ${noun}, and plan the next steps`;
    for (const words of [look, /^"create web-.*: 2 missing of 2"$/])
      expect(summaries).toContainEqual(expect.stringMatching(words));
  });

  test('a namespace that cannot go yet has the set report why it makes nothing, and what it waits for', async () => {
    const { kube } = fleet();
    const namespace = await fleet().namespace();
    await sets.create(namespace, 'web', { replicas: 2, template: kind.idle('web') });
    const [held, other] = await sets.settled(namespace, 'web', 2);
    const { finalizers = [] } = held!.metadata;
    const hold = { metadata: { finalizers: [...finalizers, 'test/hold'] } };
    await kube.patch(kind.members, held!.metadata, 'merge', hold);
    // Kubernetes deletes the pods of a namespace first, and the set only after them.
    const account = { namespace, name: 'default' };
    await kube.patch(ServiceAccounts, account, 'apply', { metadata: account }, { force: true });
    const pod = { namespace, name: 'held' };
    const spec = { containers: [{ name: 'held', image: 'none' }] };
    await kube.create(Pods, { metadata: { ...pod, finalizers: ['test/hold'] }, spec });
    await kube.delete(Namespaces, { name: namespace });
    await until(async () => expect((await kube.get(Pods, pod)).metadata.deletionTimestamp).toBeDefined());
    await kube.delete(kind.members, other!.metadata);
    await failsToCreate(namespace, 'because it is being terminated');
    expect((await sets.get(namespace, 'web'))!.metadata.deletionTimestamp).toBeUndefined();
    await kube.patch(Pods, pod, 'merge', { metadata: { finalizers: null } });
    await until(async () =>
      expect(await sets.condition(namespace, 'web', 'Progressing')).toMatchObject({
        reason: 'Deleting',
        message: expect.stringMatching(
          `^the set is being deleted, and goes after ${held!.metadata.name}; .*test/hold`,
        ) as string,
      }),
    );
    await until(async () => {
      const { metadata } = await kube.get(kind.members, held!.metadata);
      const left = metadata.finalizers!.filter((finalizer) => finalizer !== 'test/hold');
      await kube.patch(kind.members, metadata, 'merge', {
        metadata: { resourceVersion: metadata.resourceVersion, finalizers: left },
      });
    });
    await until(async () => expect(await ignoreNotFound(kube.get(Namespaces, { name: namespace }))).toBeUndefined());
  });

  test.each(['Foreground', 'Background'] as const)(
    'a set that is deleted (%s) goes after its members',
    async (propagationPolicy) => {
      const namespace = await fleet().namespace();
      await sets.create(namespace, 'web', { replicas: 3 });
      await sets.settled(namespace, 'web', 3);
      await fleet().kube.delete(kind.sets, { namespace, name: 'web' }, { propagationPolicy });
      await until(async () => expect(await sets.get(namespace, 'web')).toBeUndefined());
      expect(await membersIn(namespace)).toEqual([]);
    },
  );

  test('a set that is deleted without its members leaves them as they are, and the next of its kind adopts them', async () => {
    const namespace = await fleet().namespace();
    await sets.create(namespace, 'web', { replicas: 3 });
    const members = await sets.settled(namespace, 'web', 3);
    await fleet().kube.delete(kind.sets, { namespace, name: 'web' }, { propagationPolicy: 'Orphan' });
    await until(async () => expect(await sets.get(namespace, 'web')).toBeUndefined());
    const left = await membersIn(namespace);
    expect(left.flatMap(({ metadata }) => metadata.ownerReferences ?? [])).toEqual([]);
    await sets.create(namespace, 'web', { replicas: 3 });
    expect(uidsOf(await sets.settled(namespace, 'web', 3))).toEqual(uidsOf(members));
  });
});
