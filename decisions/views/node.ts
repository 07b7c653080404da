/** What drover keeps of a Node. */
export interface NodeView {
  name: string;
  /** Its label `topology.kubernetes.io/zone`; null without. */
  zone: string | null;
  /** Absent if it has none. */
  labels?: Readonly<Record<string, string>>;
  /** The node's Ready condition is True. */
  ready: boolean;
  /** Since when it has been ready, or not ready, in milliseconds since the epoch. Absent if its kubelet doesn't say. */
  readySince?: number;
  /** Ready, and not cordoned. */
  schedulable: boolean;
  /** Keys of its taints that keep new pods away, among them that of a cordon. Absent if it has none. */
  taints?: readonly string[];
  /**
   * The types that the node's hypervisor supports, from KubeVirt's labels; empty if KubeVirt is too old to set them.
   */
  machineTypes: string[];
}
