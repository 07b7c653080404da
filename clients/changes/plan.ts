import { controllerOf } from '../../api/objects.ts';
import type { VmTemplate } from '../../api/pool/pool.ts';
import { VirtualMachines } from '../../api/resources.ts';
import { withEdits } from '../../decisions/changes/edits.ts';
import { changeNeed } from '../../decisions/changes/need.ts';
import type { VmWithVmi } from '../../decisions/from-object/vm-with-vmi.ts';
import { vmiView } from '../../decisions/from-object/vmi.ts';
import type { Json } from '../../decisions/lib/json.ts';
import { mergePatch } from '../../decisions/merge/vm.ts';
import { whyTemplated } from '../../decisions/template/why-templated.ts';
import type { ChangeNeed } from '../../decisions/views/annotations/recorded-change.ts';
import { kindOf } from '../../decisions/views/owner-kind.ts';
import { strategyOf } from '../../decisions/vm-update/vm-rollout-strategy.ts';
import type { KubeClient } from '../../kubernetes/client.ts';
import { KubeError } from '../../kubernetes/errors.ts';
import { mapAtOnce } from '../cli/at-once.ts';
import { kubevirtRules } from '../rollout/disruption.ts';
import { planChange, type ChangeGroup, type ChangePlan } from './planned-groups.ts';

/** Most groups of VMs that KubeVirt is asked about. */
const MAX_DRY_RUNS = 100;
/** How many of them at once. */
const AT_ONCE = 8;

export type Vm = VmWithVmi['vm'];

/** What KubeVirt says about the change of a group, by one of its VMs. */
type Verdict =
  /** It would take it. */
  | { is: 'taken' }
  | { is: 'refused'; message: string }
  /** There are too many groups to ask about each. */
  | { is: 'unknown' };

/** A plan that KubeVirt was asked about; `-o json` prints it as is. */
export interface DryRunPlan extends Omit<ChangePlan, 'groups'> {
  patch: Json;
  groups: (ChangeGroup & { kubevirt: Verdict })[];
}

/** Says what a change would do to these VMs, and asks KubeVirt about one VM of each group by a dry run. */
export async function planWithDryRuns(kube: KubeClient, vms: readonly VmWithVmi[], patch: Json): Promise<DryRunPlan> {
  const { strategy, plugs } = await kubevirtRules(kube);
  const byName = new Map(vms.map((one) => [nameOf(one.vm), one]));
  const planned = [...byName].map(([name, { vm }]) => ({ name, vm, whyLeft: whyLeft(vm) }));
  const needOf = (before: Vm, after: Vm): ChangeNeed => {
    const { vmi } = byName.get(nameOf(before))!;
    const live = vmi && vmiView(vmi);
    return changeNeed({
      before: before as unknown as VmTemplate,
      after: after as unknown as VmTemplate,
      vmi: live,
      waitsForRestart: isWaiting(before),
      strategy: strategy ?? strategyOf(undefined),
      plugs,
    });
  };
  const { groups, ...rest } = planChange(planned, patch, needOf);
  const checked = await mapAtOnce(groups, AT_ONCE, async (group, index) => {
    const { vm } = byName.get(group.vms[0]!)!;
    const kubevirt: Verdict = index < MAX_DRY_RUNS ? await dryRunOf(kube, vm, group) : { is: 'unknown' };
    return { ...group, kubevirt };
  });
  return { patch, groups: checked, ...rest };
}

const nameOf = ({ metadata }: Vm): string => `${metadata.namespace}/${metadata.name}`;

function whyLeft(vm: Vm): string | null {
  if (vm.metadata.deletionTimestamp !== undefined) return 'it is being deleted';
  const owner = controllerOf(vm);
  return owner === undefined ? null : whyTemplated({ ...owner, kind: kindOf(owner) });
}

const isWaiting = ({ status }: Vm): boolean =>
  status?.conditions?.some((one) => one.type === 'RestartRequired' && one.status === 'True') === true;

async function dryRunOf(kube: KubeClient, vm: Vm, { edits }: ChangeGroup): Promise<Verdict> {
  const { namespace = '', name, uid } = vm.metadata;
  const change = mergePatch(vm, withEdits(vm, edits));
  const patch = { ...change, metadata: { ...change?.metadata, uid } };
  try {
    await kube.patch(VirtualMachines, { namespace, name }, 'merge', patch, { dryRun: true });
    return { is: 'taken' };
  } catch (error) {
    if (error instanceof KubeError) return { is: 'refused', message: error.message };
    throw error;
  }
}
