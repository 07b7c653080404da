/** KubeVirt's run strategies under which it starts a VM unasked. */
export const RUNS_BY_ITSELF: readonly string[] = ['Always', 'RerunOnFailure', 'Once'];

const VM = 'self.template.spec';

/** Whether the VMs of a pool's spec are started so; for rules of the API server. */
export const VMS_RUN_BY_THEMSELVES =
  `(has(${VM}.running) && ${VM}.running) || ` +
  `(has(${VM}.runStrategy) && ${VM}.runStrategy in [${RUNS_BY_ITSELF.map((strategy) => `'${strategy}'`).join(', ')}])`;
