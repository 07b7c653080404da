import { afterAll, beforeAll, describe, expect, onTestFinished, test } from 'vitest';
import type { Stored } from '../../../api/objects.ts';
import { VirtualMachineInstances, VirtualMachines } from '../../../api/resources.ts';
import { conditionOf } from '../../../simulator/objects/conditions.ts';
import type { RunStrategy, VirtualMachine } from '../../../simulator/objects/kubevirt.ts';
import { eventually, SimulatedCluster } from '../simulated-cluster.ts';

let cluster: SimulatedCluster;
beforeAll(async () => {
  cluster = await SimulatedCluster.lease();
});
afterAll(() => cluster?.end());

const TYPE = '/spec/template/spec/domain/machine/type';
/** Changes the type as `drover machine-types update` does: only if it is still the type that was read. */
const change = (name: string, from: string, to: string | null, dryRun = false): Promise<Stored<VirtualMachine>> =>
  cluster.kube.patch<VirtualMachine>(
    VirtualMachines,
    { namespace: 'default', name },
    'json',
    [
      { op: 'test', path: TYPE, value: from },
      to === null ? { op: 'remove', path: TYPE } : { op: 'replace', path: TYPE, value: to },
    ],
    { dryRun },
  );
const stopped = (name: string, type: string) =>
  cluster.createMachine(name, {
    spec: { runStrategy: 'Halted' },
    vmi: { domain: { devices: {}, memory: { guest: '64Mi' }, machine: { type } } },
  });
const running = (
  name: string,
  type: string,
  runStrategy: RunStrategy = 'Always',
  annotations: Record<string, string> = {},
) =>
  cluster.running(name, {
    spec: { runStrategy },
    vmi: { domain: { devices: {}, memory: { guest: '64Mi' }, machine: { type } } },
    annotations,
  });

describe('a machine type that the cluster does not emulate', () => {
  test("is refused in KubeVirt's words, on creation and on any change", async () => {
    await eventually(() =>
      expect(stopped('ancient', 'pc-i440fx-rhel7.6.0')).rejects.toThrow(
        'spec.template.spec.domain.machine.type is not supported: pc-i440fx-rhel7.6.0 (allowed values: [q35* pc-q35*])',
      ),
    );
    await stopped('modern', 'pc-q35-rhel8.6.0');
    await expect(change('modern', 'pc-q35-rhel8.6.0', 'virt-rhel9.2.0', true)).rejects.toMatchObject({ status: 422 });
  });
});

describe('a running VMI', () => {
  test('has an old type, if that is an alias, which no change of its VM reveals', async () => {
    await cluster.configure({ metadata: { annotations: { 'sim.drover.dev/q35': 'pc-q35-rhel8.6.0' } } });
    onTestFinished(
      async () => void (await cluster.configure({ metadata: { annotations: { 'sim.drover.dev/q35': null } } })),
    );
    const vmi = await eventually(async () => {
      await cluster.kube.delete(VirtualMachines, { namespace: 'default', name: 'alias' }).catch(() => undefined);
      await cluster.gone(VirtualMachines, 'alias');
      const { vmi } = await running('alias', 'q35');
      expect(vmi.status?.machine?.type).toBe('pc-q35-rhel8.6.0');
      return vmi;
    });
    await cluster.configure({ metadata: { annotations: { 'sim.drover.dev/q35': null } } });
    expect(conditionOf(await cluster.vm('alias'), 'RestartRequired')).toBeUndefined();
    expect(vmi.spec.domain.machine?.type).toBe('q35');
  });

  test('can be played in a snapshot, in which its VM can be changed and not switched', async () => {
    await running('snapped', 'pc-q35-rhel8.6.0', 'Once');
    const note = (snapshotInProgress: string | null) =>
      cluster.kube.patch(
        VirtualMachines,
        { namespace: 'default', name: 'snapped' },
        'merge',
        { status: { snapshotInProgress } },
        { subresource: 'status' },
      );
    await note('nightly');
    await change('snapped', 'pc-q35-rhel8.6.0', 'pc-q35-rhel9.4.0');
    await eventually(async () => expect(conditionOf(await cluster.vm('snapped'), 'RestartRequired')).toBeDefined());
    expect((await cluster.vm('snapped')).status?.snapshotInProgress).toBe('nightly');
    const words = 'Cannot update vm running state until snapshot "nightly" completes';
    expect(await cluster.call('virtualmachines/snapped/stop')).toBe(
      `500 InternalError: Internal error occurred: admission webhook "virtualmachine-validator.kubevirt.io" denied the request: ${words}`,
    );
    await expect(cluster.patch(VirtualMachines, 'snapped', { spec: { runStrategy: 'Always' } })).rejects.toThrow(words);
    await note(null);
    expect(await cluster.call('virtualmachines/snapped/stop')).toBe('ok');
    expect((await cluster.shows('snapped', 'Stopped')).spec.runStrategy).toBe('Halted');
  });

  test('can be played to migrate for as long as a test needs', async () => {
    await running('moves', 'pc-q35-rhel9.4.0', 'Always', { 'sim.drover.dev/migration-time': '1h' });
    expect(await cluster.call('virtualmachines/moves/migrate')).toBe('ok');
    await cluster.shows('moves', 'Migrating');
    const end = { metadata: { annotations: { 'sim.drover.dev/migration-time': '0s' } } };
    await cluster.patch(VirtualMachineInstances, 'moves', end);
    await cluster.shows('moves', 'Running');
    expect((await cluster.vmi('moves')).status?.migrationState).toMatchObject({ completed: true });
  });
});
