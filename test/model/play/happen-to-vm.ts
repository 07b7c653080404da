import { VirtualMachines } from '../../../api/resources.ts';
import { hold } from '../holds/hold.ts';
import type { Happening } from '../random/happenings.ts';
import type { World } from '../world/world.ts';

/** Lets happen what the scenario says to one of all VMs. `names`: those of the pools. */
export async function happenToVm(
  world: World,
  names: readonly string[],
  happening: Exclude<Extract<Happening, { vm: number }>, { what: 'refuse' }>,
): Promise<void> {
  const all = world.server.all(VirtualMachines);
  if (all.length === 0) return;
  const { what } = happening;
  const { name } = all[happening.vm % all.length]!.metadata;
  switch (what) {
    case 'evict':
      return world.kubevirt.evict(name, happening.fails, happening.by);
    case 'snapshot':
    case 'end snapshot':
    case 'lose snapshot':
    case 'back up':
    case 'end backup':
      return hold(world, name, what);
    case 'io error':
    case 'mend disk':
      return world.kubevirt.failDisk(name, what === 'io error');
    case 'delete':
      return world.people.deleteVm(name);
    case 'detach':
      return world.people.detach(name);
    case 'adopt': {
      for (const { metadata } of all) {
        const pool = names.find((pool) => metadata.name.startsWith(`${pool}-`));
        if (pool !== undefined && metadata.ownerReferences === undefined) await world.people.adopt(metadata.name, pool);
      }
      return;
    }
    case 'stop':
    case 'start':
    case 'restart':
    case 'migrate':
      return world.people.power(name, what);
    case 'abort migration':
      return world.people.abortMigration(name);
    case 'crash':
      return world.kubevirt.crash(name);
    case 'shut down':
      return world.kubevirt.crash(name, 'Succeeded');
    case 'pause VMI':
    case 'unpause VMI':
      return world.people.pauseVmi(name, what === 'pause VMI');
    case 'corrupt':
      await corrupt(world, name);
      return world.kubevirt.crash(name);
    case 'opt out':
      return world.people.optOut(name);
    case 'label':
      return world.people.label(name, happening.role);
    case 'edit':
      return world.people.edit(name, 50 + happening.vm);
    case 'restore in place':
      return world.people.restoreInPlace(name);
    case 'protect':
    case 'unprotect':
      return world.people.protect(name, what === 'protect');
    case 'remove':
      return world.people.removeByName(name);
    case 'let go':
      return world.people.letGo([name], false);
  }
}

async function corrupt(world: World, name: string): Promise<void> {
  const templates =
    (world.vm(name)?.['spec'] as { dataVolumeTemplates?: { metadata: { name: string } }[] } | undefined)
      ?.dataVolumeTemplates ?? [];
  for (const { metadata } of templates) await world.people.corruptDisk(metadata.name);
}
