import { liveVmi } from '../disruption-budget/availability.ts';
import { canonical } from '../lib/canonical-json.ts';
import { field, isObject } from '../lib/json.ts';
import { formatNames } from '../lib/names.ts';
import type { RolloutContext } from '../rollout/context.ts';
import type { PoolTemplate } from '../template/template.ts';
import type { RegularVm } from '../views/vm.ts';
import type { VmiView } from '../views/vmi.ts';
import { nodeFits } from './node-fits.ts';
import { POD_PARTS, podPartsBetween, type PodPart } from './pod-part.ts';

/** VMs that have a revision, spec and VMI, but for what KubeVirt gives only to the next pod of a VMI. */
export interface OutdatedPods {
  vms: RegularVm[];
  /** A sentence for each cause. */
  words: string[];
}

/** Returns the VMs of this revision whose pods were made from another template, and lack something of it. */
export function outdatedPods(context: RolloutContext, revision: string, template: PoolTemplate): OutdatedPods {
  const { vmiOf, templateOf } = context.input;
  const byCause = new Map<string, RegularVm[]>();
  for (const vm of context.active) {
    const vmi = liveVmi(vmiOf(vm));
    if (vmi === undefined || vmi.podRevision === null || !context.isOf(vm, revision)) continue;
    const from = templateOf(vmi.podRevision);
    const cause = from === undefined ? UNKNOWN : causeOf(context, vmi, from, template);
    if (cause !== null) byCause.set(cause, [...(byCause.get(cause) ?? []), vm]);
  }
  const words = [...byCause].map(([cause, vms]) => `${formatNames(vms.map(({ name }) => name))}: ${cause}`).sort();
  return { vms: [...byCause.values()].flat(), words };
}

const LATER = 'until the next start or migration';
const UNKNOWN = `the pod is of a template that is not kept any more, ${LATER}`;

function causeOf(context: RolloutContext, { node }: VmiView, from: PoolTemplate, to: PoolTemplate): string | null {
  const labels = node === null ? undefined : context.input.nodeLabelsOf?.(node);
  const fits = labels === undefined ? null : nodeFits(vmiSpec(to), labels);
  if (fits === false) return `the node does not fit the template's node selector or affinity, ${LATER}`;
  const missing = podPartsBetween(from, to).filter((part) => fits !== true || !isSatisfied(part, from, to));
  return missing.length === 0
    ? null
    : `the pod lacks the template's ${missing.map((part) => POD_PARTS[part]).join(', ')}, ${LATER}`;
}

/** On a node that fits, a pod lacks neither the node selector nor the rule of which nodes it may have. */
function isSatisfied(part: PodPart, from: PoolTemplate, to: PoolTemplate): boolean {
  if (part === 'nodeSelector') return true;
  return part === 'affinity' && canonical(beside(from)) === canonical(beside(to));
}

/** Affinity without what a node must have. */
function beside(template: PoolTemplate): unknown {
  const affinity = field(vmiSpec(template), 'affinity');
  const { nodeAffinity, ...others } = isObject(affinity) ? affinity : {};
  const { [REQUIRED]: _required, ...preferred } = isObject(nodeAffinity) ? nodeAffinity : {};
  return { others, preferred };
}

const REQUIRED = 'requiredDuringSchedulingIgnoredDuringExecution';
const vmiSpec = ({ spec }: PoolTemplate): unknown => field(spec, 'template', 'spec');
