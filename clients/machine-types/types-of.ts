import type { TransitionRecord } from '../../decisions/machine-types/transition.ts';
import type { Vm } from '../fleet.ts';
import type { Vmi } from '../vm/running.ts';

/** A VM as these commands look into it. */
export interface TypedVm extends Vm {
  spec?: Vm['spec'] & { template?: { spec?: { domain?: { machine?: { type?: string } } } } };
}
export interface TypedVmi extends Vmi {
  spec?: { domain?: { machine?: { type?: string } } };
  status?: Vmi['status'] & { machine?: { type?: string } };
}

/** Machine type of a VM's spec; null where it has none. */
export const typeOf = (vm: TypedVm | undefined): string | null => vm?.spec?.template?.spec?.domain?.machine?.type || null;

/** What the guest runs with, which an alias in its spec does not tell; null where nobody knows yet. */
export const guestTypeOf = (guest: TypedVmi | null): string | null => guest?.status?.machine?.type || guest?.spec?.domain?.machine?.type || null;

/** Whether the guest is the one of before a transition changed its VM, or one that came back with that type. */
export const hasOldGuest = (guest: TypedVmi | null, record: TransitionRecord): boolean =>
  record.guest !== null && record.guest !== record.to && guestTypeOf(guest) === record.guest;
