import { RestartBudget, type VmsSnapshot } from '../disruption-budget/restart-budget.ts';
import type { VmView } from '../views/vm.ts';
import type { PowerAction } from './action.ts';

/** How many more VMs may be taken. */
export type Room = Pick<RestartBudget, 'counts' | 'whyNot' | 'take' | 'downByThemselves'>;

export interface RoomInput {
  action: PowerAction;
  /** VMs that the limit of a restart applies to, by `namespace/name`. */
  counted: Iterable<string>;
  snapshot: VmsSnapshot;
  /** By `namespace/name`. */
  inProgress: ReadonlySet<string>;
  atOnce: number;
  /** Milliseconds since the epoch. */
  now: number;
}

/** A person who asks for a start or a stop asks for no availability: only a restart keeps to disruption budgets. */
export const roomFor = ({ action, atOnce, inProgress, ...rest }: RoomInput): Room =>
  action === 'Restart'
    ? new RestartBudget({ ...rest, inProgress, maxUnavailable: atOnce })
    : new RoomAtOnce(inProgress.size, atOnce);

/** Counts VMs in progress, and nothing else. */
class RoomAtOnce implements Room {
  readonly downByThemselves: string[] = [];
  readonly #atOnce: number;
  #inProgress: number;

  constructor(inProgress: number, atOnce: number) {
    this.#inProgress = inProgress;
    this.#atOnce = atOnce;
  }

  counts(_vm: VmView): boolean {
    return false;
  }

  whyNot(_vm: VmView): string | null {
    return this.#inProgress < this.#atOnce ? null : `${this.#atOnce} at a time`;
  }

  take(_vm: VmView): void {
    this.#inProgress++;
  }
}
