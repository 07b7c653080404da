import type { Stored } from '../../../api/objects.ts';
import { formatNames } from '../../../decisions/lib/names.ts';
import { membershipChangeOf } from '../../../decisions/membership/change.ts';
import { numberOf } from '../../../decisions/template/vm-names.ts';
import { vmView } from '../../../decisions/views/from-object/vm.ts';
import { roleOf } from '../../../decisions/views/vm.ts';
import { Failure } from '../../cli/failure.ts';
import type { Pool } from '../../cli/objects.ts';
import { whyExtra } from '../../pool/departure.ts';
import { unfinished } from '../change.ts';
import type { VmWithVmi } from '../members.ts';
import { pausedPoolOf, type KubeVirtPool } from './kubevirt-pool.ts';

/** Throws `Failure` for a pool whose VMs can't change hands now. */
export function checkPool(
  ours: Stored<Pool>,
  theirs: Stored<KubeVirtPool> | undefined,
  vms: readonly VmWithVmi[],
): void {
  const { name } = ours.metadata;
  const change = membershipChangeOf(ours);
  if (change !== null && (change === 'unreadable' || change.kind === 'adopt' || change.kind === 'detach'))
    throw unfinished(ours, change);
  if (theirs !== undefined && pausedPoolOf(theirs) === null)
    throw new Failure(`pool ${name} of KubeVirt is there, and drover has not paused it: delete it, or rename it`);
  const healed = (ours.status?.healing?.cycles ?? []).map(({ vm }) => vm);
  if (change === null && healed.length > 0)
    throw new Failure(`pool ${name}: ${formatNames(healed)} are being healed: wait until that has ended`);
  const others = vms.filter(({ vm }) => roleOf(vm.metadata.labels) === 'Standby');
  if (change === null && others.length > 0)
    throw new Failure(
      `pool ${name}: ${formatNames(others.map(({ vm }) => vm.metadata.name))} are standby, which KubeVirt does not know: take standby out of its spec, and wait until they have left`,
    );
  const going = vms.filter(({ vm }) => vm.metadata.deletionTimestamp !== undefined || vmView(vm).removing);
  if (going.length > 0) {
    const names = formatNames(going.map(({ vm }) => vm.metadata.name));
    throw new Failure(`pool ${name}: ${names} are leaving it: wait until that has ended`);
  }
  const unnamed = vms.map(({ vm }) => vm.metadata.name).filter((vm) => numberOf(name, vm) === null);
  if (change === null && unnamed.length > 0)
    throw new Failure(
      `pool ${name}: KubeVirt's pools name their VMs ${name}-0, ${name}-1, …, and can't have ${formatNames(unnamed)}: ` +
        `\`drover detach ${unnamed.slice(0, 9).join(' ')} --decrement\` takes them out, and they run on`,
    );
  const extra = vms.flatMap(({ vm }) => whyExtra(name, vm) ?? []);
  if (extra.length > 0) throw new Failure(`${extra.join('; ')}: wait until that has ended`);
}
