import type { Stored } from '../../api/objects.ts';
import { ignoreStale } from '../../kubernetes/errors.ts';
import type { Migration, VirtualMachineInstance } from '../objects/kubevirt.ts';
import type { Cluster } from '../store/cluster.ts';
import { withEvacuation, type Eviction } from './eviction.ts';
import { inFlight, newMigration } from './new-migration.ts';

/** Does what KubeVirt does with a VMI whose pod is to be evicted. */
export async function evict(cluster: Cluster, vmi: Stored<VirtualMachineInstance>, eviction: Eviction): Promise<void> {
  if (eviction === 'end') await end(cluster, vmi);
  if (eviction === 'requestEvacuation' || eviction === 'migrate') await requestEvacuation(cluster, vmi);
  if (eviction === 'migrate') await migrate(cluster, vmi);
}

export async function end({ client, vmis }: Cluster, { metadata }: Stored<VirtualMachineInstance>): Promise<void> {
  await ignoreStale(
    client.delete(vmis.resource, metadata as { namespace: string; name: string }, { uid: metadata.uid }),
  );
}

async function requestEvacuation({ client, vmis }: Cluster, vmi: Stored<VirtualMachineInstance>): Promise<void> {
  vmis.remember(await client.update<VirtualMachineInstance>(vmis.resource, withEvacuation(vmi)));
}

/** As KubeVirt does by itself if the eviction strategy is to migrate. */
async function migrate(
  { client, migrations }: Cluster,
  { metadata: { namespace, name } }: Stored<VirtualMachineInstance>,
): Promise<void> {
  if ((await inFlight(client, migrations, namespace!, name)) !== undefined) return;
  const migration = newMigration({ generateName: 'kubevirt-evacuation-', namespace }, { vmiName: name });
  migrations.remember(await client.create<Migration>(migrations.resource, migration));
}
