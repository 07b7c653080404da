import type { Stored } from '../../../api/objects.ts';
import { VirtualMachineInstances, VirtualMachines, VirtualMachineSnapshots } from '../../../api/resources.ts';
import type { VirtualMachine } from '../../../simulator/objects/kubevirt.ts';
import { isBackedUp } from '../../../simulator/vmi/backup.ts';
import { NAMESPACE } from '../world/names.ts';
import type { World } from '../world/world.ts';

/** What holds VMs for a while, and ends, or is forgotten: the VM continues naming a snapshot that is gone. */
export type Hold = 'snapshot' | 'end snapshot' | 'lose snapshot' | 'back up' | 'end backup';

export function hold(world: World, name: string, what: Hold): void {
  const { server } = world;
  const at = { namespace: NAMESPACE, name };
  const snapshot = { namespace: NAMESPACE, name: `of-${name}` };
  if (server.find(VirtualMachines, at) === undefined) return;
  world.say(`-- ${name}: ${what}`);
  const isThere = server.find(VirtualMachineSnapshots, snapshot) !== undefined;
  const named = (snapshotInProgress: string | undefined): void =>
    void server.write(
      VirtualMachines,
      at,
      (vm) => ({ ...vm, status: { ...(vm as Stored<VirtualMachine>).status, snapshotInProgress } }),
      'status',
    );
  switch (what) {
    case 'snapshot':
      if (!isThere) server.create(VirtualMachineSnapshots, { metadata: snapshot });
      return named(snapshot.name);
    case 'end snapshot':
      named(undefined);
      if (isThere) server.delete(VirtualMachineSnapshots, snapshot);
      return;
    case 'lose snapshot':
      if (isThere) server.delete(VirtualMachineSnapshots, snapshot);
      return;
    case 'back up':
      return annotated(world, name, 'nightly');
    case 'end backup':
      return annotated(world, name, '');
  }
}

function annotated(world: World, name: string, backup: string): void {
  const at = { namespace: NAMESPACE, name };
  if (world.server.find(VirtualMachineInstances, at) === undefined) return;
  world.server.write(VirtualMachineInstances, at, (vmi) => ({
    ...vmi,
    metadata: { ...vmi.metadata, annotations: { ...vmi.metadata.annotations, 'sim.drover.dev/backup': backup } },
  }));
}

/** Why the VM must not be disrupted now; null if nothing holds it. */
export function whyHeld(world: World, name: string): string | null {
  const vm = world.vm(name) as Stored<VirtualMachine> | undefined;
  const snapshot = vm?.status?.snapshotInProgress;
  if (snapshot !== undefined && world.server.find(VirtualMachineSnapshots, { namespace: NAMESPACE, name: snapshot }))
    return 'a snapshot of it is taken';
  const vmi = world.vmi(name);
  return vmi !== undefined && isBackedUp(vmi) ? 'a backup of it runs' : null;
}
