import { controllerOf } from '../../api/objects.ts';
import { VirtualMachines } from '../../api/resources.ts';
import { restartReasons } from '../../decisions/operations/restart-required.ts';
import type { VmWithVmi } from '../../decisions/views/from-object/vm-with-vmi.ts';
import { vmView } from '../../decisions/views/from-object/vm.ts';
import { vmiView } from '../../decisions/views/from-object/vmi.ts';
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

/** Returns the running VMs that wait for a restart, as operations choose them, and why they do. */
export const pendingAmong = (vms: VmWithVmi[], plugs: Pick<KubeVirtPlugs, 'migrates'>): PendingVm[] =>
  vms.flatMap(({ vm, vmi }) => {
    if (vmi === undefined) return [];
    const [view, live] = [vmView(vm), vmiView(vmi)];
    const reasons = restartReasons(view, live, plugs);
    if (reasons.length === 0) return [];
    const { namespace, name, runStrategy, restartRequired, optedOut } = view;
    const owner = controllerOf(vm);
    const since = restartRequired?.since ?? null;
    return [
      {
        namespace,
        name,
        owner: owner === undefined ? null : `${owner.kind}/${owner.name}`,
        since: since === null ? null : new Date(since).toISOString().replace('.000Z', 'Z'),
        why: reasons.join('; '),
        runStrategy,
        node: live.node,
        optedOut,
        vmi: live.uid,
      },
    ];
  });

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
