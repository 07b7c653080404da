import {
  DO_NOT_DISRUPT_ANNOTATION,
  MACHINE_TYPE_RESTART_LABEL,
  REVISION_LABEL,
} from '../../api/labels-and-annotations.ts';
import { controllerOf, type Stored } from '../../api/objects.ts';
import { isOwnerReferenceTo } from '../../api/owner-references.ts';
import { VirtualMachines, VirtualMachinePools } from '../../api/resources.ts';
import { predatesChange, recordOf } from '../../decisions/annotations/transition-record.ts';
import type { VmWithVmi } from '../../decisions/views/from-object/vm-with-vmi.ts';
import type { VirtualMachine } from '../../decisions/views/from-object/vm.ts';
import { specRevision } from '../../decisions/views/from-object/vm.ts';
import { vmiView, type VirtualMachineInstance } from '../../decisions/views/from-object/vmi.ts';
import type { KubeVirtPlugs } from '../../decisions/vm-update/disruption.ts';
import { ageOf, note, print, table, type Cell, printData, type DataFormat, labelOf } from '../cli/print.ts';
import { kubevirtRules } from '../rollout/disruption.ts';
import type { Session } from '../session/session.ts';
import { readVms, scopeOf, type VmScope } from './read-vms.ts';

/** A VM that waits for a restart; `-o json` prints it as is. */
export interface PendingVm {
  namespace: string;
  name: string;
  /** `VirtualMachinePool/web`; null for a VM that no controller owns. */
  owner: string | null;
  /** RFC 3339; null if unknown. */
  since: string | null;
  why: string;
  runStrategy: string;
  node: string | null;
  /** Its owner opted out of disruption: `drover vm restart` leaves it alone. */
  optedOut: boolean;
  /** UID of the VMI that is to be restarted. */
  vmi: string;
}

type Plugs = Pick<KubeVirtPlugs, 'migrates'>;

/**
 * Returns the running VMs that wait for a restart: KubeVirt says so, a drover pool or transition gave them another spec
 * than their VMIs run with, or KubeVirt plugs something into them with the next migration, and makes none by itself.
 */
export const pendingAmong = (vms: VmWithVmi[], plugs: Plugs): PendingVm[] =>
  vms.flatMap(({ vm, vmi }) => (vmi === undefined ? [] : (pending(vm, vmi, plugs) ?? [])));

function pending(
  vm: Stored<VirtualMachine>,
  vmi: Stored<VirtualMachineInstance>,
  { migrates }: Plugs,
): PendingVm | null {
  const { namespace = '', name, annotations } = vm.metadata;
  const condition = vm.status?.conditions?.find(({ type, status }) => type === 'RestartRequired' && status === 'True');
  const reasons = [
    ...(condition === undefined ? [] : [condition.message || 'KubeVirt does not say']),
    ...olderRevision(vm, vmi),
    ...olderMachineType(vm, vmi),
    ...(migrates ? [] : plugging(vmi)),
  ];
  if (reasons.length === 0) return null;
  const owner = controllerOf(vm);
  return {
    namespace,
    name,
    owner: owner === undefined ? null : `${owner.kind}/${owner.name}`,
    since: condition?.lastTransitionTime ?? null,
    why: reasons.join('; '),
    runStrategy: vm.spec?.runStrategy ?? (vm.spec?.running === true ? 'Always' : 'Halted'),
    node: vmi.status?.nodeName ?? null,
    optedOut: annotations?.[DO_NOT_DISRUPT_ANNOTATION] === 'true',
    vmi: vmi.metadata.uid,
  };
}

function olderRevision(vm: Stored<VirtualMachine>, vmi: Stored<VirtualMachineInstance>): string[] {
  const owner = controllerOf(vm);
  if (owner === undefined || !isOwnerReferenceTo(owner, VirtualMachinePools)) return [];
  const [wanted, running] = [specRevision(vm), vmi.metadata.labels?.[REVISION_LABEL]];
  if (wanted === null || running === undefined || wanted === running) return [];
  return [`its VMI runs revision ${running}, its spec is of ${wanted}`];
}

/** KubeVirt sets no condition for a VM whose spec has an alias such as `q35`: only its VMI's type is old. */
function olderMachineType(
  { metadata: { labels, annotations } }: Stored<VirtualMachine>,
  { spec, status }: Stored<VirtualMachineInstance>,
): string[] {
  const record = recordOf(annotations);
  if (record === null || record.id !== labels?.[MACHINE_TYPE_RESTART_LABEL]) return [];
  const type = status?.machine?.type || spec?.domain?.machine?.type || null;
  return predatesChange(type, record)
    ? [`its VMI has machine type ${type}, which operation ${record.by ?? record.id} takes away`]
    : [];
}

function plugging(vmi: Stored<VirtualMachineInstance>): string[] {
  const { plugging: words } = vmiView(vmi);
  return words === null ? [] : [`KubeVirt plugs it in with a migration, and makes none by itself (${words})`];
}

type PendingFormat = DataFormat | 'name' | 'wide';

/** Prints the VMs that wait for a restart, in a namespace or in all. */
export async function pendingVms(
  session: Session,
  { output, ...choice }: { allNamespaces?: boolean; selector?: string; output?: PendingFormat },
): Promise<void> {
  const scope = await scopeOf(session, choice);
  const kube = await session.kube();
  const [vms, { plugs }] = await Promise.all([readVms(kube, scope), kubevirtRules(kube)]);
  await printPending(pendingAmong(vms, plugs), scope, output);
}

/** Prints the VMs, or says that there are none. */
async function printPending(vms: PendingVm[], { namespace, selector }: VmScope, output?: PendingFormat): Promise<void> {
  if (output === 'json' || output === 'yaml') return printData({ items: vms }, output);
  if (vms.length === 0) {
    const among = `${selector === undefined ? '' : ` with labels ${selector}`}${namespace === undefined ? '' : ` in namespace ${namespace}`}`;
    return note(`no VM${among} waits for a restart`);
  }
  if (output === 'name') return print(vms.map(({ name }) => labelOf(VirtualMachines, name)).join('\n'));
  const wide = output === 'wide';
  const headers = [
    'NAMESPACE',
    'NAME',
    'OWNER',
    'SINCE',
    ...(wide ? ['RUN STRATEGY', 'NODE', 'LEFT ALONE'] : []),
    'WHY',
  ];
  print(
    table(
      headers,
      vms.map((vm) => cellsOf(vm, wide)),
    ).join('\n'),
  );
}

function cellsOf(
  { namespace, name, owner, since, runStrategy, node, optedOut, why }: PendingVm,
  wide: boolean,
): Cell[] {
  const extra = wide ? [runStrategy, node ?? '<none>', optedOut ? 'yes' : 'no'] : [];
  return [namespace, name, owner ?? '<none>', ageOf(since ?? undefined), ...extra, why];
}
