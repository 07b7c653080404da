import type { OwningPool, RestartPicture } from '../restart-budget.ts';
import type { TransitionRules } from './need.ts';

/** How a transition stands with a pool of drover's. */
export type PoolStand =
  /** Its template has nothing to do with it: its VMs are like any others. */
  | { stand: 'apart' }
  /** The machine type of its template is to be set (null: cleared), and recorded. */
  | { stand: 'change'; to: string | null }
  /** Its template is as it should be: it brings its VMs to it. */
  | { stand: 'rolls' }
  | { stand: 'parked'; why: string }
  | { stand: 'left'; why: string };

/** Found once for each pool and set of rules. */
export declare function poolStand(rules: TransitionRules, owner: OwningPool, picture: Pick<RestartPicture, 'vmiOf'>): PoolStand;
