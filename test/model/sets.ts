import type { SetKind } from '../../api/owner-kinds.ts';
import type { VmiSetSpec, ReplicaSetSpec } from '../../api/replica-set/replica-set.ts';
import { aTemplate, type Shape } from './pools.ts';

/** The set of each kind that the model plays, by its name. */
export const SETS: Record<SetKind, string> = {
  VirtualMachineReplicaSet: 'runners',
  VirtualMachineInstanceReplicaSet: 'front',
};

export type SetSpec = Omit<ReplicaSetSpec, 'template'> & Pick<ReplicaSetSpec | VmiSetSpec, 'template'>;

/** A template of VMs, or of VMIs, with the set's label. */
export function setTemplate(kind: SetKind, shape: Shape = {}): SetSpec['template'] {
  const labels = { app: SETS[kind] };
  const { spec } = aTemplate(shape);
  if (kind === 'VirtualMachineReplicaSet') return { metadata: { labels }, spec };
  const { metadata, spec: ofVmi } = spec.template as {
    metadata: { annotations: Record<string, string> };
    spec: object;
  };
  return { metadata: { ...metadata, labels }, spec: ofVmi as VmiSetSpec['template']['spec'] };
}

export const aSetSpec = (kind: SetKind, replicas: number, shape: Shape = {}): SetSpec => ({
  replicas,
  selector: { matchLabels: { app: SETS[kind] } },
  template: setTemplate(kind, shape),
});
