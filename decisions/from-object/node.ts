import type { KubeObject } from '../../api/objects.ts';
import { timeOf } from '../lib/time.ts';
import { CORDON_TAINT } from '../views/drained-node.ts';
import type { NodeView } from '../views/node.ts';
import { intern, internOrNull } from './intern.ts';

/** Prefix of KubeVirt's label for a machine type that the node's hypervisor supports; the type follows. */
const MACHINE_TYPE_LABEL = 'machine-type.node.kubevirt.io/';

/** Kubernetes' own label for the zone of a node. */
const ZONE_LABEL = 'topology.kubernetes.io/zone';

/** The fields of Kubernetes' Node that drover reads. */
export interface Node extends KubeObject {
  spec?: { unschedulable?: boolean; taints?: { key?: string; effect?: string; timeAdded?: string | null }[] | null };
  status?: { conditions?: { type?: string; status?: string; lastTransitionTime?: string | null }[] };
}

export function nodeView({ metadata: { name, labels = {} }, spec, status }: Node): NodeView {
  const condition = status?.conditions?.find(({ type }) => type === 'Ready');
  const ready = condition?.status === 'True';
  const readySince = timeOf(condition?.lastTransitionTime);
  const machineTypes = Object.entries(labels).flatMap(([label, value]) =>
    label.startsWith(MACHINE_TYPE_LABEL) && value === 'true' ? intern(label.slice(MACHINE_TYPE_LABEL.length)) : [],
  );
  const taints = taintsOf(spec);
  return {
    name,
    zone: internOrNull(labels[ZONE_LABEL]),
    ...(Object.keys(labels).length === 0 ? {} : { labels }),
    ready,
    ...(readySince === null ? {} : { readySince }),
    schedulable: ready && spec?.unschedulable !== true,
    ...(taints.length === 0 ? {} : { taints }),
    machineTypes,
  };
}

/** A cordon counts before Kubernetes has made a taint of it. */
function taintsOf(spec: Node['spec']): string[] {
  const keys = (spec?.taints ?? []).flatMap(({ key, effect }) =>
    key === undefined || effect !== 'NoSchedule' ? [] : [intern(key)],
  );
  return [...new Set(spec?.unschedulable === true ? [CORDON_TAINT, ...keys] : keys)];
}
