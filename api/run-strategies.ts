/** KubeVirt's run strategies under which it starts a VM unasked. */
export const RUNS_BY_ITSELF: readonly string[] = ['Always', 'RerunOnFailure', 'Once'];
