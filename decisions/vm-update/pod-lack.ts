import { canonical } from '../lib/canonical-json.ts';
import { field, isObject } from '../lib/json.ts';
import type { PoolTemplate } from '../template/template.ts';
import { nodeFits } from '../views/node-fits.ts';
import type { VmiView } from '../views/vmi.ts';
import { POD_PARTS, podPartsBetween, type PodPart } from './pod-part.ts';

interface PodTemplates {
  /** The present template of VMIs. */
  template: PoolTemplate;
  templateOf: (revision: string) => PoolTemplate | undefined;
  /** The labels of a node; undefined or absent if they are unknown. */
  nodeLabelsOf?: ((node: string) => Readonly<Record<string, string>> | undefined) | undefined;
}

/** Returns what the pod of a VMI that is of this template lacks of it; null if it lacks nothing. */
export function podLacks(templates: PodTemplates): (vmi: VmiView) => string | null {
  // Thousands of VMs have pods of a few templates, on fewer nodes.
  const known = new Map<string, string | null>();
  return (vmi) => {
    if (vmi.podRevision === null) return null;
    const key = `${vmi.podRevision} ${vmi.node}`;
    const lack = known.has(key) ? known.get(key)! : lackOf(vmi.podRevision, vmi.node, templates);
    known.set(key, lack);
    return lack;
  };
}

function lackOf(
  podRevision: string,
  node: string | null,
  { template: to, templateOf, nodeLabelsOf }: PodTemplates,
): string | null {
  const from = templateOf(podRevision);
  if (from === undefined) return 'the pod is of a template that is no longer kept';
  const labels = node === null ? undefined : nodeLabelsOf?.(node);
  const fits = labels === undefined ? null : nodeFits(vmiSpec(to), labels);
  if (fits === false) return "the node does not fit the template's node selector or affinity";
  const missing = podPartsBetween(from, to).filter((part) => fits !== true || !isSatisfied(part, from, to));
  return missing.length === 0
    ? null
    : `the pod lacks the template's ${missing.map((part) => POD_PARTS[part]).join(', ')}`;
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
