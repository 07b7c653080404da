import { expect, test } from 'vitest';
import type { KubeObject } from '../../../api/objects.ts';
import type { OperationSpec } from '../../../api/operations/operation.ts';
import { VirtualMachineInstances } from '../../../api/resources.ts';
import { aFleet, namesUpTo, until } from '../fleet.ts';
import { NEW, OLD_GLOB, TypedVms } from '../machine-types/machine-types.ts';
import { each, TestVms } from '../power/vms.ts';
import { backUpEtcd } from '../servers/etcd-backup.ts';
import { aSecondLater, TestOperation } from './operations.ts';

/** With two, one begins with what the other has noticed. */
const fleet = aFleet({ ownStack: true, workers: 2 });

/** More than are restarted before etcd is put back. */
const NAMES = namesUpTo('vm', 6);
const FEW = namesUpTo('vm', 2);
const bootsIn = (time: string) => ({ 'sim.drover.dev/boot-time': time });
const MERGE = JSON.stringify({ spec: { template: { spec: { domain: { cpu: { model: 'host-model' } } } } } });

/** VMs, their operation, and which VMIs they had before it. */
interface Operated {
  vms: TestVms | TypedVms;
  operation: TestOperation;
  before: Record<string, string>;
}

async function operated(vms: Operated['vms'], spec: Partial<OperationSpec> = {}): Promise<Operated> {
  const before = await vms.vmis();
  return { vms, before, operation: await TestOperation.make(fleet().kube, vms.namespace, spec) };
}

/** Resolves when so many of the VMs have another VMI. */
const restarted = ({ vms, before }: Operated, count: number): Promise<void> =>
  until(async () => {
    const others = Object.entries(await vms.vmis()).filter(([name, uid]) => uid !== before[name]);
    expect(others.length).toBeGreaterThanOrEqual(count);
  });

/** How often VMIs of these names were made since that version. */
async function madeSince(namespace: string, resourceVersion: string): Promise<Record<string, number>> {
  const made: Record<string, number> = {};
  const query = { resourceVersion, timeoutSeconds: '1' };
  const signal = AbortSignal.timeout(20_000);
  for await (const { type, object } of fleet().kube.watch<KubeObject>(VirtualMachineInstances, {
    namespace,
    query,
    signal,
  })) {
    const { name } = (object as KubeObject).metadata;
    if (type === 'ADDED') made[name] = (made[name] ?? 0) + 1;
  }
  return made;
}

const listed = async ({ vms: { namespace } }: Operated) => {
  const { metadata, items } = await fleet().kube.list(VirtualMachineInstances, { namespace });
  const vmis = Object.fromEntries(items.map((vmi) => [vmi.metadata.name, vmi.metadata.uid]));
  return { version: metadata.resourceVersion, vmis };
};

test('etcd is put back under operations: what is no longer done is done once, and neither what has ended runs again, nor what is gone', async () => {
  const slow = () => TestVms.of(fleet(), each(NAMES, { vmi: bootsIn('2500ms') }));
  const few = () => TestVms.of(fleet(), each(FEW, { vmi: bootsIn('1s') }));
  const [ofRestart, ofPatch, ofTypes, ofEnded, ofNearlyEnded, ofGone] = await Promise.all([
    slow(),
    slow(),
    TypedVms.of(fleet(), each(NAMES, { simulation: bootsIn('2500ms') })),
    few(),
    few(),
    few(),
  ]);
  await aSecondLater();
  const ended = await operated(ofEnded, { atOnce: '100%' });
  await ended.operation.stands('Complete');
  const machineType = { from: OLD_GLOB, to: NEW, restart: true, force: true };
  const goingOn = await Promise.all([
    operated(ofRestart),
    operated(ofPatch, { action: 'Patch', patch: { merge: MERGE, restart: true } }),
    operated(ofTypes, { action: 'MachineType', machineType }),
  ]);
  const nearlyEnded = await operated(ofNearlyEnded);
  await Promise.all([...goingOn, nearlyEnded].map((one) => restarted(one, 1)));
  const putBack = backUpEtcd(fleet().stack);
  const gone = await operated(ofGone);
  await Promise.all([...goingOn.map((one) => restarted(one, 3)), restarted(gone, 1)]);
  await nearlyEnded.operation.stands('Complete');
  for (const { operation } of goingOn) expect((await operation.read())?.status).not.toHaveProperty('completionTime');
  await putBack();
  const restored = await Promise.all(goingOn.map(listed));
  const [ofOver, ...ofOthers] = await Promise.all([ended, nearlyEnded, gone].map(listed));

  for (const { operation } of [...goingOn, nearlyEnded, ended]) await operation.stands('Complete');
  for (const [index, { vms, before, operation }] of goingOn.entries()) {
    const { version, vmis } = restored[index]!;
    await operation.until({ vms: { chosen: 6, done: 6, failed: 0, open: 0 } });
    const now = await vms.vmis();
    for (const name of NAMES) {
      expect(now[name]).not.toBe(before[name]);
      // Restarted before the backup: not again.
      if (vmis[name] !== undefined && vmis[name] !== before[name]) expect(now[name]).toBe(vmis[name]);
    }
    expect(Math.max(...Object.values(await madeSince(vms.namespace, version)))).toBe(1);
  }
  for (const name of NAMES) {
    expect((await ofPatch.vm(name)).spec.template.spec.domain).toMatchObject({ cpu: { model: 'host-model' } });
    expect(await ofTypes.type(name)).toBe(NEW);
    expect(await ofTypes.mark(name)).toBeUndefined();
  }
  expect(await gone.operation.read()).toBeUndefined();
  await fleet().temporal.client.workflow.getHandle(gone.operation.workflowId).result();
  expect(await ended.vms.vmis()).toEqual(ofOver!.vmis);
  for (const [index, { vms }] of [nearlyEnded, gone].entries()) {
    const made = await madeSince(vms.namespace, ofOthers[index]!.version);
    // One that was being restarted comes up.
    expect(Object.values(made).reduce((sum, count) => sum + count, 0)).toBeLessThanOrEqual(1);
  }
});
