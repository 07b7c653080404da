import type { NodeView } from '../node.ts';
import type { RestartPicture } from '../restart-budget.ts';
import type { VmView } from '../vm.ts';
import type { TransitionRules } from './need.ts';
import type { TypeGroup } from './transition.ts';

/** VMs of a group whose resulting type is not known yet. */
export interface WantedResult {
  group: TypeGroup;
  vms: number;
  /** One of them, by `namespace/name`: a dry run on it shows the type of all. */
  sample: string;
}

/** The groups of the VMs that are to be changed, or will be once they can, and that are in no results yet. */
export declare function wantedResults(
  rules: TransitionRules,
  vms: Iterable<VmView>,
  picture: Pick<RestartPicture, 'vmiOf' | 'poolOf'>,
): WantedResult[];

/** Why a resulting type won't do, a few words; null where it will. */
export declare function faultOf(
  rules: Pick<TransitionRules, 'scope' | 'transition'>,
  to: string,
  nodes: Iterable<Pick<NodeView, 'schedulable' | 'machineTypes'>>,
): string | null;
