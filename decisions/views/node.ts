/** What drover keeps of a Node. */
export interface NodeView {
  name: string;
  /** Its kubelet answers, and says that all is well. */
  ready: boolean;
  /** Ready, and not cordoned. */
  schedulable: boolean;
  /** That its hypervisor knows, as KubeVirt labels it; none where KubeVirt is too old to say. */
  machineTypes: string[];
}
