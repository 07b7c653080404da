import { GROUP } from '../../api/labels-and-annotations.ts';
import type { KubeObject } from '../../api/objects.ts';
import {
  ClusterVirtualMachineOperations,
  ControllerRevisions,
  PersistentVolumeClaims,
  VirtualMachineInstanceMigrations,
  VirtualMachineInstanceReplicaSets,
  VirtualMachineInstances,
  VirtualMachineOperations,
  VirtualMachineDisruptionBudgets,
  VirtualMachineOperationSchedules,
  VirtualMachinePools,
  VirtualMachineReplicaSets,
  VirtualMachines,
} from '../../api/resources.ts';
import { parsedObject } from '../../decisions/lib/json.ts';

/** Kinds of which a release keeps objects: drover's, and those on which it records something. */
export const KEPT_KINDS = [
  VirtualMachinePools,
  VirtualMachineReplicaSets,
  VirtualMachineInstanceReplicaSets,
  VirtualMachineOperations,
  ClusterVirtualMachineOperations,
  VirtualMachineOperationSchedules,
  VirtualMachineDisruptionBudgets,
  ControllerRevisions,
  VirtualMachines,
  VirtualMachineInstances,
  VirtualMachineInstanceMigrations,
  PersistentVolumeClaims,
];

/** Fields of users' or KubeVirt's, of which drover's schema says nothing. */
const OF_OTHERS = ['template', 'patch'];
/** A reason, a phase or another word of a few. */
const WORD = /^[A-Z][A-Za-z]+$/;

/** Returns what an object shows of what drover stores: objects that show the same need not all be kept. */
export function shownBy({ apiVersion, kind, metadata, spec, status }: KubeObject): Set<string> {
  const { labels = {}, annotations = {}, finalizers = [] } = metadata;
  const shown = new Set<string>();
  const isOurs = apiVersion!.startsWith(`${GROUP}/`);
  if (isOurs) for (const path of pathsIn({ spec, status })) shown.add(`${kind}${path}`);
  for (const name of [...Object.keys(labels), ...finalizers]) if (isOwn(name)) shown.add(`${kind} ${name}`);
  for (const [name, value] of Object.entries(annotations).filter(([one]) => isOwn(one)))
    // A list is JSON, too.
    for (const path of ['', ...pathsIn(parsedObject(`{"is":${value}}`))]) shown.add(`${kind} ${name}${path}`);
  return shown;
}

const isOwn = (name: string): boolean => name.startsWith(`${GROUP}/`);

/** Yields the paths of all fields, without the numbers of items, and with the word that stands there if it is one. */
function* pathsIn(value: unknown, path = ''): Generator<string> {
  if (typeof value === 'string' && WORD.test(value)) yield `${path}=${value}`;
  if (typeof value !== 'object' || value === null) return;
  for (const [name, one] of Object.entries(value)) {
    if (one === undefined || OF_OTHERS.includes(name)) continue;
    const at = Array.isArray(value) ? path : `${path}.${name}`;
    yield at;
    yield* pathsIn(one, at);
  }
}
