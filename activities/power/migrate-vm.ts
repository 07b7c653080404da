import type { PowerNote } from '../../decisions/annotations/power-note.ts';
import type { OwningPool } from '../../decisions/disruption-budget/restart-budget.ts';
import type { ResourceVersions } from '../../decisions/lib/resource-versions.ts';
import type { VmView } from '../../decisions/views/vm.ts';
import type { VmiView } from '../../decisions/views/vmi.ts';
import type { KubeClient } from '../../kubernetes/client.ts';
import type { DisruptionClaims } from '../disruption-budget/disruption-claims.ts';
import { NoPlace } from '../disruption-budget/in-place.ts';
import { isHeld, Migrations } from '../disruption/migrations.ts';

interface MigrateVmOptions {
  client: KubeClient;
  places: DisruptionClaims;
  owner: OwningPool | undefined;
}

/**
 * Migrates the VMI, within the budget of its pool. The note on the VM says which migration of the VMI it is, and so its
 * name: another try finds it made. Returns what a cache must have reached to show it.
 */
export async function migrateVm(
  { client, places, owner }: MigrateVmOptions,
  vm: VmView,
  vmi: VmiView,
  { migration: attempt }: Pick<PowerNote, 'migration'>,
): Promise<ResourceVersions | NoPlace> {
  if (attempt === undefined || (vmi.evacuation?.attempt ?? 0) >= attempt)
    return new NoPlace('another migration of it has just ended');
  const { namespace = vm.namespace, name, uid } = owner?.pool.metadata ?? {};
  const key = name === undefined || uid === undefined ? null : { namespace, name, uid };
  const begun = await new Migrations({ client, places, key }).begin({ purpose: 'operation', vm, vmi, attempt });
  return isHeld(begun) ? new NoPlace(begun.why) : { ...begun, vms: vm.resourceVersion };
}
