import type { KubeObject, Stored } from '../../api/objects.ts';
import { ignoreNotFound } from '../../kubernetes/errors.ts';
import { retryOnConflict } from '../../kubernetes/retry.ts';
import { timestamp, withCondition, withoutCondition } from '../objects/conditions.ts';
import type { Migration, VirtualMachine, VirtualMachineInstance } from '../objects/kubevirt.ts';
import { phaseOf } from '../objects/vmi.ts';
import type { Cluster } from '../store/cluster.ts';
import type { Store } from '../store/store.ts';
import { checkVmi, Refusal, restart, start, stop, type Answer } from '../vm/start-stop-restart.ts';
import { inFlight, newMigration, whyRefused } from '../vmi/new-migration.ts';

export interface SubresourceCall {
  resource: 'virtualmachines' | 'virtualmachineinstances';
  action: string;
  namespace: string;
  name: string;
  body: Record<string, unknown>;
}

const decisions = { start, stop, restart };

/** Does what virt-api does for a subresource. Throws `Refusal`, or the API server's error. */
export async function perform(cluster: Cluster, call: SubresourceCall): Promise<void> {
  if (call.resource === 'virtualmachineinstances') return retryOnConflict(() => actOnVmi(cluster, call));
  if (call.action === 'migrate') return migrate(cluster, call);
  return retryOnConflict(() => changePower(cluster, call, decisions[call.action as keyof typeof decisions]));
}

async function changePower({ vms, vmis, client }: Cluster, call: SubresourceCall, decide: typeof start): Promise<void> {
  const vm = await fetched(vms, call, client);
  if (vm === undefined) throw new Refusal(404, `virtualmachine.kubevirt.io "${call.name}" not found`);
  const vmi = await fetched(vmis, call, client);
  const answer: Answer = decide(vm, vmi, call.body);
  const dryRun = isDryRun(call);
  const { resourceVersion } = vm.metadata;
  if (answer.vmiSpec !== undefined) {
    vmis.remember(
      await client.patch<VirtualMachineInstance>(vmis.resource, call, 'merge', { spec: answer.vmiSpec }, { dryRun }),
    );
  }
  if (answer.spec !== undefined) {
    await client.patch<VirtualMachine>(
      vms.resource,
      call,
      'merge',
      { metadata: { resourceVersion }, spec: answer.spec },
      { dryRun },
    );
  }
  if (answer.status !== undefined) {
    const patch = { metadata: { resourceVersion }, status: answer.status };
    await client.patch<VirtualMachine>(vms.resource, call, 'merge', patch, { dryRun, subresource: 'status' });
  }
}

async function actOnVmi(cluster: Cluster, call: SubresourceCall): Promise<void> {
  const { vmis, client } = cluster;
  const vmi = await fetched(vmis, call, client);
  if (vmi === undefined) throw new Refusal(404, `virtualmachineinstance.kubevirt.io "${call.name}" not found`);
  if (call.action === 'evacuate/cancel') return cancelEvacuation({ vmis, client }, vmi, call);
  checkVmi(call.action, vmi);
  const time = timestamp(Date.now());
  const before = vmi.status?.conditions ?? [];
  const paused = {
    type: 'Paused',
    status: 'True' as const,
    reason: 'PausedByUser',
    message: 'VMI was paused by user',
    lastProbeTime: time,
    lastTransitionTime: time,
  };
  const conditions = call.action === 'pause' ? withCondition(before, paused) : withoutCondition(before, 'Paused');
  await client.update<VirtualMachineInstance>(
    vmis.resource,
    { ...vmi, status: { ...vmi.status, conditions } },
    { dryRun: isDryRun(call) },
  );
}

/** Only of the eviction from the node that the caller names. */
async function cancelEvacuation(
  { vmis, client }: Pick<Cluster, 'vmis' | 'client'>,
  vmi: Stored<VirtualMachineInstance>,
  call: SubresourceCall,
): Promise<void> {
  const { evacuationNodeName, ...status } = vmi.status ?? {};
  if (evacuationNodeName === undefined) return;
  if (call.body['evacuationNodeName'] !== evacuationNodeName)
    throw new Refusal(500, 'the server rejected our request due to an error in our request');
  await client.update<VirtualMachineInstance>(vmis.resource, { ...vmi, status }, { dryRun: isDryRun(call) });
}

async function migrate({ vms, vmis, migrations, client }: Cluster, call: SubresourceCall): Promise<void> {
  if ((await fetched(vms, call, client)) === undefined)
    throw new Refusal(404, `virtualmachine.kubevirt.io "${call.name}" not found`);
  const vmi = await fetched(vmis, call, client);
  if (vmi === undefined) throw new Refusal(404, `virtualmachineinstance.kubevirt.io "${call.name}" not found`);
  if (phaseOf(vmi) !== 'Running') throw new Refusal(409, 'VM is not running');
  const added = call.body['addedNodeSelector'] as Record<string, string> | undefined;
  const spec = { vmiName: call.name, ...(added === undefined ? {} : { addedNodeSelector: added }) };
  const migration = newMigration({ generateName: 'kubevirt-migrate-vm-', namespace: call.namespace }, spec);
  const message = whyRefused(migration, vmi, await inFlight(client, migrations, call.namespace, call.name));
  if (message !== undefined) throw new Refusal(500, message);
  await client.create<Migration>(migrations.resource, migration, { dryRun: isDryRun(call) });
}

/** Reads from the API server, because the cache may not have the caller's last write yet. Undefined if not found. */
const fetched = <T extends KubeObject>(
  store: Store<T>,
  { namespace, name }: SubresourceCall,
  client: Cluster['client'],
): Promise<Stored<T> | undefined> => ignoreNotFound(client.get<T>(store.resource, { namespace, name }));

const isDryRun = ({ body }: SubresourceCall): boolean =>
  Array.isArray(body['dryRun']) && body['dryRun'].includes('All');
