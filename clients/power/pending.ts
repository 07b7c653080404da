import { controllerOf } from '../../api/objects.ts';
import { VirtualMachines } from '../../api/resources.ts';
import type { VmWithVmi } from '../../decisions/from-object/vm-with-vmi.ts';
import { vmView } from '../../decisions/from-object/vm.ts';
import { vmiView } from '../../decisions/from-object/vmi.ts';
import { restartReasons, whyRestartIsVain } from '../../decisions/operations/restart-required.ts';
import { withoutEnded } from '../../decisions/views/annotations/protection.ts';
import type { KubeVirtPlugs } from '../../decisions/vm-update/disruption.ts';
import { ageOf, printNote, print, table, printData, type DataFormat, labelOf } from '../cli/print.ts';
import { readVms, scopeOf } from '../operations/read-vms.ts';
import { kubevirtRules } from '../rollout/disruption.ts';
import type { Work } from '../session/session.ts';

/** A VM that waits for a restart; `-o json` prints it as is. */
export interface PendingVm {
  namespace: string;
  name: string;
  /** `VirtualMachinePool/web`; null for a VM that no controller owns. */
  owner: string | null;
  /** RFC 3339; null if unknown. */
  since: string | null;
  message: string;
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
    const [view, live] = [withoutEnded(vmView(vm), Date.now()), vmiView(vmi)];
    const vain = whyRestartIsVain(view, live);
    const reasons = [...restartReasons(view, live, plugs), ...(vain === null ? [] : [vain])];
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
        message: reasons.join('; '),
        runStrategy,
        node: live.node,
        optedOut,
        vmi: live.uid,
      },
    ];
  });

type PendingFormat = DataFormat | 'name' | 'wide';

/** Prints the VMs that wait for a restart, in a namespace or in all, or says that there are none. */
export const pendingVms: Work<{ allNamespaces?: boolean; selector?: string; output?: PendingFormat }> = async (
  session,
  { output, ...choice },
) => {
  const scope = await scopeOf(session, choice);
  const kube = await session.kube();
  const [read, { plugs }] = await Promise.all([readVms(kube, scope), kubevirtRules(kube)]);
  const vms = pendingAmong(read, plugs);
  if (output === 'json' || output === 'yaml') return printData({ items: vms }, output);
  if (vms.length === 0) {
    const { namespace, selector } = scope;
    const among = `${selector === undefined ? '' : ` with labels ${selector}`}${namespace === undefined ? '' : ` in namespace ${namespace}`}`;
    return printNote(`no VM${among} waits for a restart`);
  }
  if (output === 'name') return print(vms.map(({ name }) => labelOf(VirtualMachines, name)));
  const wide = output === 'wide';
  const more = wide ? ['RUN STRATEGY', 'NODE', 'LEFT ALONE'] : [];
  const rows = vms.map(({ namespace, name, owner, since, runStrategy, node, optedOut, message }) => {
    const extra = wide ? [runStrategy, node ?? '<none>', optedOut ? 'yes' : 'no'] : [];
    return [namespace, name, owner ?? '<none>', ageOf(since ?? undefined), ...extra, message];
  });
  print(table(['NAMESPACE', 'NAME', 'OWNER', 'SINCE', ...more, 'WHY'], rows));
};
