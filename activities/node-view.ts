import type { KubeObject } from '../kubernetes/objects.ts';

/** The fields of Kubernetes' Node that drover reads. */
export interface Node extends KubeObject {
  status?: { conditions?: { type?: string; status?: string }[] };
}

/** What drover keeps of a Node. */
export interface NodeView {
  name: string;
  /** Its kubelet answers, and says that all is well. */
  ready: boolean;
}

export const nodeView = ({ metadata: { name }, status }: Node): NodeView => ({
  name,
  ready: status?.conditions?.some((condition) => condition.type === 'Ready' && condition.status === 'True') ?? false,
});
