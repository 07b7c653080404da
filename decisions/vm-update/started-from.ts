import type { VmView } from '../views/vm.ts';
import type { VmiView } from '../views/vmi.ts';

/**
 * Whether the VMI was started from the very spec that its VM has: the next one would be the same. False if KubeVirt
 * doesn't say.
 */
export const isStartedFrom = ({ generation }: Pick<VmView, 'generation'>, vmi: Pick<VmiView, 'startGeneration'>) =>
  vmi.startGeneration !== null && vmi.startGeneration === generation;

/** Why a restart does not bring a VMI to the revision of its VM. */
export const otherLabel = ({ revision }: Pick<VmiView, 'revision'>): string =>
  `its VMI was started from its spec and ${revision === null ? 'lacks the label drover.dev/revision' : `has the label drover.dev/revision: ${revision}`}, which something else must have set`;
