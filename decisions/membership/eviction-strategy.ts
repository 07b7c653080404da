import type { Stored } from '../../api/objects.ts';
import type { PoolSpec } from '../../api/pool/pool.ts';
import type { VmWithVmi } from '../from-object/vm-with-vmi.ts';
import { vmView, type VirtualMachine } from '../from-object/vm.ts';
import { formatNames } from '../lib/names.ts';
import { revisionOf } from '../template/revision.ts';
import { EXTERNAL, poolTemplate } from '../template/template.ts';
import { formerMemberOf } from '../views/annotations/former-member.ts';

type Owner = { spec: Pick<PoolSpec, 'template' | 'nameGeneration' | 'drain'> };
type Vm = Stored<VirtualMachine>;

const strategyOf = ({ spec }: Vm): string | undefined => spec?.template?.spec?.evictionStrategy;

/**
 * Returns the eviction strategy that a VM gets as it leaves the pool, if `drain` has given it another: the template's
 * own, or null for none. Undefined if the VM keeps its strategy. Under `External`, nothing but drover would move it off
 * a node that is drained.
 */
export function strategyWithoutDrain({ spec }: Owner, vm: Vm): string | null | undefined {
  const own = spec.template.spec.template.spec?.evictionStrategy;
  if (strategyOf(vm) !== EXTERNAL || own === EXTERNAL) return undefined;
  // Without `drain`, a VM that is up to date has its strategy from a user.
  const isGiven = spec.drain !== undefined || vmView(vm).revision !== revisionOf(poolTemplate(spec));
  return isGiven ? (own ?? null) : undefined;
}

/** Returns what `drain` gives a VM again that comes back to its pool; undefined if that is not for it. */
export function strategyOfReturned({ spec }: Owner, vm: Vm): typeof EXTERNAL | undefined {
  const wasGiven = formerMemberOf(vm.metadata.annotations)?.wasDrained === true;
  return wasGiven && spec.drain !== undefined && strategyOf(vm) === undefined ? EXTERNAL : undefined;
}

export const runsExternal = (vmi: VmWithVmi['vmi']): boolean => vmi?.spec?.evictionStrategy === EXTERNAL;

/** Says of VMs that have left their pool which of them run with `External` until they restart; null if none does. */
export function stillExternal(vms: readonly VmWithVmi[]): string | null {
  const left = vms.filter(({ vm, vmi }) => strategyOf(vm) !== EXTERNAL && runsExternal(vmi));
  return left.length === 0 ? null : keepExternal(formatNames(left.map(({ vm }) => vm.metadata.name)));
}

export const keepExternal = (vms: string): string =>
  `until they restart, ${vms} keep the eviction strategy External that \`drain\` gave them, and nothing moves them off a node that is drained: ` +
  'restart them (`drover vm restart`), or migrate them by hand (`virtctl migrate`)';
