import type { RestartPicture } from '../restart-budget.ts';
import type { StoredPool } from '../vm-from-template.ts';
import type { VmView } from '../vm.ts';
import type { VmiView } from '../vmi.ts';
import type { ScopeRules } from './scope.ts';
import type { Transition, TransitionResult, TypeGroup } from './transition.ts';

/** What one VM needs of a transition. */
export type TransitionNeed =
  /** It is not in scope, or neither its spec nor its guest is old. */
  | { need: 'nothing' }
  /** Changed by this transition, and nothing is left to be done, but to clear its mark where it has one. */
  | { need: 'done' }
  /** Its type is to be set (null: cleared), and recorded; with `marks` its guest waits for a restart from then on. */
  | { need: 'patch'; to: string | null; marks: boolean }
  /** Its guest alone is old: it is to be marked and recorded, its spec stays as it is. */
  | { need: 'mark' }
  | { need: 'restart'; guest: VmiView }
  /** Its owner is to restart it. */
  | { need: 'wait' }
  /** Its pool has it in hand, or will have. */
  | { need: 'pool'; pool: StoredPool }
  /** `group`: VMs that nothing but a dry run of `group` tells of are in no `results` yet. */
  | { need: 'check'; group: TypeGroup; marks: boolean }
  /** Taken up later. */
  | { need: 'parked'; why: string }
  /** Left alone for good. */
  | { need: 'left'; why: string };

export interface TransitionRulesInput {
  ref: { cluster: string; id: string };
  transition: Transition;
  /** What dry runs have shown until now, of each group of VMs. */
  results: readonly TransitionResult[];
  /** Ids of other transitions that still run. */
  othersRunning: ReadonlySet<string>;
}

/** A transition as it is asked of thousands of VMs: made anew for each look, for it keeps what it has found of pools. */
export interface TransitionRules extends Omit<TransitionRulesInput, 'results'> {
  scope: ScopeRules;
  /** Undefined where no dry run has shown it yet. */
  resultOf: (group: TypeGroup) => TransitionResult | undefined;
}

/** Throws a `RangeError` for a glob that is none. */
export declare function transitionRules(input: TransitionRulesInput): TransitionRules;

/**
 * What the VM needs now, by what it and its guest carry: asked again right before an act, and at any point after it, it says
 * no more than what is left. `picture` tells of its VMI and its pool.
 */
export declare function transitionNeed(rules: TransitionRules, vm: VmView, picture: Pick<RestartPicture, 'vmiOf' | 'poolOf'>): TransitionNeed;
